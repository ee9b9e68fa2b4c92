#include "shim/host_clear.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "shim/kernel.h"

/* A descriptor of pagemap shows the address space of the process that opened it, so one kept
   across a fork would show the parent's pages, and programs close and count descriptors:
   it is opened for each call. mincore(2) would not do: it knows nothing of swapped pages. */

enum {
    PAGE_SHIFT = 12,
    SCAN_LEAST_BYTES = 1 << 20, /* below, writing a dense block costs less than asking */
    REGIONS = 64,
    ENTRIES = 512,
};

/* linux/fs.h since 6.7, by our own names: older headers lack it. */
struct scan_region {
    uint64_t start, end, categories;
};

struct scan_request {
    uint64_t size, flags, start, end, walk_end;
    uint64_t regions, region_count, most_pages;
    uint64_t inverted, all_of, any_of, returned;
};

#define PAGEMAP_SCAN_REQUEST _IOWR('f', 16, struct scan_request)
enum { SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, SCAN_ZERO_PAGE = 1 << 5 };

_Static_assert(sizeof(struct scan_request) == 96, "struct pm_scan_arg");

#define ENTRY_PRESENT (UINT64_C(1) << 63)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)

/* Whether a filter may be in force. Relaxed: set before the program goes on under it. */
static _Atomic bool no_scan;

/* Written once known; whoever comes second writes the same. */
static _Atomic int best_way = -1;

static long open_file(const char *path)
{
    return shim_kernel(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static void close_file(long file)
{
    (void)shim_kernel_3(SYS_close, file, 0, 0);
}

/* Clears [start, end) as far as it gets; returns where it stopped. */
static char *clear_by_scan(long file, char *start, char *end)
{
    struct scan_region regions[REGIONS];
    while (start < end) {
        struct scan_request request = {
            .size = sizeof(request),
            .start = (uintptr_t)start,
            .end = (uintptr_t)end,
            .regions = (uintptr_t)regions,
            .region_count = REGIONS,
            .inverted = SCAN_ZERO_PAGE,
            .all_of = SCAN_ZERO_PAGE,
            .any_of = SCAN_PRESENT | SCAN_SWAPPED,
            .returned = SCAN_PRESENT | SCAN_SWAPPED,
        };
        long count = shim_kernel_3(SYS_ioctl, file, PAGEMAP_SCAN_REQUEST, (long)&request);
        if (count < 0 || request.walk_end <= (uintptr_t)start)
            break;
        for (long index = 0; index < count; index++)
            memset((void *)(uintptr_t)regions[index].start, 0,
                   regions[index].end - regions[index].start);
        start = (char *)(uintptr_t)request.walk_end;
    }
    return start;
}

static char *clear_by_pagemap(long file, char *start, char *end)
{
    uint64_t entries[ENTRIES];
    while (start < end) {
        size_t pages = (size_t)(end - start) >> PAGE_SHIFT;
        size_t asked = pages < ENTRIES ? pages : ENTRIES;
        long offset = (long)(((uintptr_t)start >> PAGE_SHIFT) * sizeof(uint64_t));
        long got = shim_kernel(SYS_pread64, file, (long)entries,
                               (long)(asked * sizeof(uint64_t)), offset, 0, 0);
        if (got < (long)sizeof(uint64_t))
            break;
        size_t count = (size_t)got / sizeof(uint64_t);
        for (size_t index = 0; index < count; index++)
            if (entries[index] & (ENTRY_PRESENT | ENTRY_SWAPPED))
                memset(start + (index << PAGE_SHIFT), 0, (size_t)1 << PAGE_SHIFT);
        start += count << PAGE_SHIFT;
    }
    return start;
}

void shim_clear_by(enum shim_clear_way way, char *start, size_t bytes)
{
    char *end = start + ((bytes + ((size_t)1 << PAGE_SHIFT) - 1) &
                         ~(((size_t)1 << PAGE_SHIFT) - 1));
    long file = way == SHIM_CLEAR_BY_WRITING ? -1 : open_file("/proc/self/pagemap");
    if (file >= 0) {
        start = way == SHIM_CLEAR_BY_SCAN ? clear_by_scan(file, start, end)
                                          : clear_by_pagemap(file, start, end);
        close_file(file);
    }
    if (start < end)
        memset(start, 0, (size_t)(end - start));
}

/* A filter that the process was started under. It let the dynamic loader open and read files;
   more than that is not taken for granted. */
static bool is_filtered(void)
{
    char status[4096];
    long file = open_file("/proc/self/status");
    if (file < 0)
        return true;
    long length = shim_kernel_3(SYS_read, file, (long)status, sizeof(status) - 1);
    close_file(file);
    status[length > 0 ? length : 0] = '\0';
    return strstr(status, "\nSeccomp:\t0\n") == NULL;
}

/* Asks once, of one page of its own. */
static enum shim_clear_way find_best_way(void)
{
    if (is_filtered())
        return SHIM_CLEAR_BY_WRITING;
    long file = open_file("/proc/self/pagemap");
    if (file < 0)
        return SHIM_CLEAR_BY_WRITING;
    struct scan_request request = {.size = sizeof(request)};
    bool has_scan =
        shim_kernel_3(SYS_ioctl, file, PAGEMAP_SCAN_REQUEST, (long)&request) >= 0;
    close_file(file);
    return has_scan ? SHIM_CLEAR_BY_SCAN : SHIM_CLEAR_BY_PAGEMAP;
}

static enum shim_clear_way best(void)
{
    int way = atomic_load_explicit(&best_way, memory_order_relaxed);
    if (way < 0) {
        way = (int)find_best_way();
        atomic_store_explicit(&best_way, way, memory_order_relaxed);
    }
    return (enum shim_clear_way)way;
}

bool shim_clear_is_told(void)
{
    return atomic_load_explicit(&no_scan, memory_order_relaxed);
}

bool shim_clear_may_read_files(void)
{
    return !shim_clear_is_told() && best() != SHIM_CLEAR_BY_WRITING;
}

void shim_clear(char *start, size_t bytes)
{
    if (bytes < SCAN_LEAST_BYTES || !shim_clear_may_read_files())
        memset(start, 0, bytes);
    else
        shim_clear_by(best(), start, bytes);
}

void shim_clear_no_scan(void)
{
    atomic_store_explicit(&no_scan, true, memory_order_relaxed);
}

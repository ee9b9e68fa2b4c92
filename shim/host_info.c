/* What a program can ask about its own memory, answered with our numbers: ordinary memory as
   jemalloc counts it, and the staging blocks held as glibc would count mapped ones. */
#include "shim/host_hooks.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "shim/jemalloc.h"
#include "shim/libc.h"
#include "shim/retain.h"
#include "shim/say.h"

struct numbers {
    uint64_t allocated; /* ordinary memory in use */
    uint64_t active;    /* pages that hold it */
    uint64_t mapped;    /* address space for it */
    struct pool_heap_figures staging;
};

static uint64_t statistic(const char *name)
{
    size_t value = 0, bytes = sizeof(value);
    return jemalloc_mallctl(name, &value, &bytes, NULL, 0) == 0 ? value : 0;
}

static struct numbers take_stock(void)
{
    uint64_t epoch = 1;
    size_t bytes = sizeof(epoch);
    /* jemalloc's statistics are those of the last epoch. */
    (void)jemalloc_mallctl("epoch", &epoch, &bytes, &epoch, bytes);
    return (struct numbers){
        .allocated = statistic("stats.allocated"),
        .active = statistic("stats.active"),
        .mapped = statistic("stats.mapped"),
        .staging = pool_heap_read(&shim_host.heap),
    };
}

struct mallinfo2 mallinfo2(void)
{
    if (shim_host_passing()) {
        static const struct mallinfo2 nothing;
        return shim_libc.mallinfo2 ? shim_libc.mallinfo2() : nothing;
    }
    struct numbers now = take_stock();
    return (struct mallinfo2){
        .arena = now.mapped,
        .hblks = now.staging.blocks,
        .hblkhd = now.staging.live_bytes + now.staging.idle_bytes,
        .uordblks = now.allocated,
        .fordblks = now.active > now.allocated ? now.active - now.allocated : 0,
    };
}

/* The old form counts in int; a larger number wraps there as it does in glibc. */
struct mallinfo mallinfo(void)
{
    if (shim_host_passing())
        return shim_libc.mallinfo();
    struct mallinfo2 wide = mallinfo2();
    return (struct mallinfo){
        .arena = (int)wide.arena,
        .hblks = (int)wide.hblks,
        .hblkhd = (int)wide.hblkhd,
        .uordblks = (int)wide.uordblks,
        .fordblks = (int)wide.fordblks,
    };
}

/* Nothing of glibc's tuning applies; it is accepted, as glibc accepts what it ignores. */
int mallopt(int parameter, int value)
{
    return shim_host_passing() ? shim_libc.mallopt(parameter, value) : 1;
}

int malloc_trim(size_t pad)
{
    int kept = errno;
    shim_retain_trim();
    errno = kept;
    if (shim_host_passing())
        return shim_libc.malloc_trim(pad);
    size_t released = pool_heap_trim(&shim_host.heap);
    uint64_t before = statistic("stats.resident");
    (void)shim_jemalloc_purge();
    errno = kept;
    return released > 0 || statistic("stats.resident") < before;
}

static void put_line(struct pool_text *text, const char *label, uint64_t bytes)
{
    pool_text_put(text, label);
    pool_text_put_number(text, bytes);
    pool_text_put(text, "\n");
}

void malloc_stats(void)
{
    if (shim_host_passing()) {
        shim_libc.malloc_stats();
        return;
    }
    struct numbers now = take_stock();
    char bytes[512];
    struct pool_text text = {.bytes = bytes, .capacity = sizeof(bytes)};
    put_line(&text, "system bytes     = ", now.mapped);
    put_line(&text, "in use bytes     = ", now.allocated);
    put_line(&text, "staging in use   = ", now.staging.live_bytes);
    put_line(&text, "staging retained = ", now.staging.idle_bytes);
    shim_say_raw(bytes, text.length);
}

int malloc_info(int options, FILE *file)
{
    if (shim_host_passing())
        return shim_libc.malloc_info(options, file);
    if (options != 0)
        return EINVAL;
    struct numbers now = take_stock();
    fprintf(file,
            "<malloc version=\"1\">\n"
            "<total type=\"rest\" count=\"1\" size=\"%ju\"/>\n"
            "<total type=\"mmap\" count=\"%ju\" size=\"%ju\"/>\n"
            "<system type=\"current\" size=\"%ju\"/>\n"
            "<staging type=\"live\" size=\"%ju\"/>\n"
            "<staging type=\"idle\" size=\"%ju\"/>\n"
            "</malloc>\n",
            (uintmax_t)now.allocated, (uintmax_t)now.staging.blocks,
            (uintmax_t)(now.staging.live_bytes + now.staging.idle_bytes),
            (uintmax_t)now.mapped, (uintmax_t)now.staging.live_bytes,
            (uintmax_t)now.staging.idle_bytes);
    return 0;
}

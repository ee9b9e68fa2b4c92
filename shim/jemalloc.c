/* What the private jemalloc gets from us in place of symbols of the same meaning. */
#include "shim/jemalloc.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "shim/host.h"
#include "shim/host_charge.h"
#include "shim/init.h"
#include "shim/jemalloc_limit.h"
#include "shim/kernel.h"

/* What must hold: nothing printed, nobody aborted, no thread of ours. jemalloc reads this
   after every other source of settings. */
extern const char *jemalloc_malloc_conf_2_conf_harder;
const char *jemalloc_malloc_conf_2_conf_harder =
    "abort:false,abort_conf:false,confirm_conf:false,stats_print:false,junk:false,"
    "zero:false,background_thread:false,prof:false";

/* A figure: relaxed. */
_Atomic uint64_t shim_jemalloc_calls;

/* _Unwind_Backtrace, _Unwind_GetIP, and exp, log and round of the profiler, which stays off:
   libgcc's unwinder is not linked, and libm not loaded into every program. */
int shim_jemalloc_backtrace(void);
unsigned long shim_jemalloc_get_ip(void);
double shim_jemalloc_exp(double x);
double shim_jemalloc_log(double x);
double shim_jemalloc_round(double x);

/* MALLOC_CONF and /etc/malloc.conf are meant for the program's own copy, not for this one. */
char *shim_jemalloc_getenv(const char *name);
ssize_t shim_jemalloc_readlink(const char *path, char *target, size_t bytes);

/* Its memory system calls, counted. Signatures of mmap(2) and its kin. */
void *shim_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int file,
                         off_t offset);
int shim_jemalloc_munmap(void *address, size_t bytes);
int shim_jemalloc_madvise(void *address, size_t bytes, int advice);
int shim_jemalloc_mprotect(void *address, size_t bytes, int protection);
void *shim_jemalloc_sbrk(intptr_t bytes);

/* Files are read by syscall(2): how memory is committed, and its own log. */
long shim_jemalloc_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The cache of a thread, which it allocates as it serves programs (jemalloc.cmake). Without one
   it would go on, and fail on the first call that looks into it. */
extern void *je_arena_palloc(void *thread, void *arena, size_t bytes, size_t alignment,
                             bool zero, void *cache)
    __attribute__((visibility("hidden")));
void *shim_jemalloc_allocate_cache(void *thread, void *arena, size_t bytes,
                                   size_t alignment, bool zero, void *cache);

/* Memory for its own records, which it maps as it maps extents (jemalloc.cmake). */
extern void *je_extent_alloc_mmap(void *address, size_t bytes, size_t alignment,
                                  bool *zero, bool *commit)
    __attribute__((visibility("hidden")));
void *shim_jemalloc_map_records(void *address, size_t bytes, size_t alignment, bool *zero,
                                bool *commit);

int shim_jemalloc_backtrace(void)
{
    return 0;
}

unsigned long shim_jemalloc_get_ip(void)
{
    return 0;
}

double shim_jemalloc_exp(double x)
{
    return x;
}

double shim_jemalloc_log(double x)
{
    return x;
}

double shim_jemalloc_round(double x)
{
    return x;
}

char *shim_jemalloc_getenv(const char *name)
{
    (void)name;
    return NULL;
}

ssize_t shim_jemalloc_readlink(const char *path, char *target, size_t bytes)
{
    (void)path;
    (void)target;
    (void)bytes;
    errno = ENOENT;
    return -1;
}

/* jemalloc's look-up from (bytes + 7) / 8 to a size class; filled when it boots, read for every
   small size by allocation, sized deallocation and nallocx alike. */
extern uint8_t je_sz_size2index_tab[] __attribute__((visibility("hidden")));

void shim_jemalloc_open(void)
{
    jemalloc_free(jemalloc_malloc(16));
    uint8_t class_of_16 = je_sz_size2index_tab[2];
    je_sz_size2index_tab[0] = class_of_16;
    je_sz_size2index_tab[1] = class_of_16;
}

/* opt.retain, which has no name in mallctl to set it by. Without it jemalloc only merges less
   than it could, so that it may change at any time. */
extern _Atomic bool je_opt_retain __attribute__((visibility("hidden")));

void shim_jemalloc_retain_nothing(void)
{
    /* Under a ceiling it keeps address space, and pages only as long as they are used. */
    if (!shim_host_charging)
        atomic_store_explicit(&je_opt_retain, false, memory_order_relaxed);
}

bool shim_jemalloc_purge(void)
{
    /* What this thread has put aside keeps the pages around it. */
    (void)jemalloc_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
    /* MALLCTL_ARENAS_ALL is 4096. */
    return jemalloc_mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0;
}

void shim_jemalloc_count(void)
{
    atomic_fetch_add_explicit(&shim_jemalloc_calls, 1, memory_order_relaxed);
}

/* As the C library would return it. */
static long returned(long result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* Whether it was told that memory is committed strictly; written once, while it boots. The page
   that it tries something on before is none of the program's. */
static bool is_limited;

void *shim_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int file,
                         off_t offset)
{
    if (is_limited)
        return (void *)returned(
            shim_jemalloc_limit_map(address, bytes, protection, flags));
    shim_jemalloc_count();
    long result = shim_kernel(SYS_mmap, (long)address, (long)bytes, protection, flags,
                              file, offset);
    if (result == -ENOMEM && shim_host_make_room()) {
        shim_jemalloc_count();
        result = shim_kernel(SYS_mmap, (long)address, (long)bytes, protection, flags,
                             file, offset);
    }
    return (void *)returned(result);
}

int shim_jemalloc_munmap(void *address, size_t bytes)
{
    if (is_limited)
        return (int)returned(shim_jemalloc_limit_unmap(address, bytes));
    shim_jemalloc_count();
    return (int)returned(shim_kernel_3(SYS_munmap, (long)address, (long)bytes, 0));
}

int shim_jemalloc_madvise(void *address, size_t bytes, int advice)
{
    shim_jemalloc_count();
    return (int)returned(shim_kernel_3(SYS_madvise, (long)address, (long)bytes, advice));
}

int shim_jemalloc_mprotect(void *address, size_t bytes, int protection)
{
    shim_jemalloc_count();
    return (int)returned(
        shim_kernel_3(SYS_mprotect, (long)address, (long)bytes, protection));
}

/* Its last resort, whose pages it never gives back. */
void *shim_jemalloc_sbrk(intptr_t bytes)
{
    if (!shim_host_charging)
        return sbrk(bytes);
    errno = ENOMEM;
    return (void *)-1;
}

long shim_jemalloc_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    static const char overcommit[] = "/proc/sys/vm/overcommit_memory";
    if (number == SYS_open && strcmp((const char *)a, overcommit) == 0) {
        (void)shim_settings();
        /* Where it cannot know, it takes memory to be committed strictly. */
        is_limited = shim_host_charging;
        if (is_limited)
            return returned(-EACCES);
    }
    return returned(shim_kernel(number, a, b, c, d, e, f));
}

void *shim_jemalloc_map_records(void *address, size_t bytes, size_t alignment, bool *zero,
                                bool *commit)
{
    if (!is_limited)
        return je_extent_alloc_mmap(address, bytes, alignment, zero, commit);
    *zero = *commit = true;
    return shim_jemalloc_limit_map_records(bytes, alignment);
}

void *shim_jemalloc_allocate_cache(void *thread, void *arena, size_t bytes,
                                   size_t alignment, bool zero, void *cache)
{
    shim_jemalloc_limit_lift();
    void *block = je_arena_palloc(thread, arena, bytes, alignment, zero, cache);
    shim_jemalloc_limit_restore();
    return block;
}

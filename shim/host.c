#include "shim/host.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shim/elf.h"
#include "shim/host_source.h"
#include "shim/host_state.h"
#include "shim/jemalloc.h"
#include "shim/libc.h"

struct shim_host_state shim_host = {.staging_min = SIZE_MAX};
size_t shim_host_ordinary_below;
uintptr_t shim_host_retained_end = UINTPTR_MAX;

/* Written once, by shim_host_open(). */
static const char *retention = "off: nothing has been decided yet";

static const char *open_heap(void)
{
    struct rlimit space;
    if (sysconf(_SC_PAGESIZE) != (long)1 << POOL_PAGE_SHIFT)
        return "off: pages are not 4 KiB";
    /* What we reserve would be missing where address space is counted. */
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        return "off: the address space is limited (RLIMIT_AS)";
    if (!pool_heap_open(&shim_host.heap, &shim_host_source))
        return "off: the kernel gives no address space";
    return "on";
}

/* Why, by the objects in the process, the malloc family is not ours to serve; NULL: it is. */
static const char *reason_to_stand_aside(void)
{
    /* An executable or an earlier preload that has a malloc of its own: what it does not
       define comes from us, and gets its pointers. */
    if (!shim_elf_first_is_ours("malloc"))
        return "off: the program has its own malloc";
    /* A sanitizer finds errors by its own malloc, which is behind us in the list. */
    if (shim_elf_next_definition("__asan_init") ||
        shim_elf_next_definition("__tsan_init") ||
        shim_elf_next_definition("__msan_init") ||
        shim_elf_next_definition("__hwasan_init"))
        return "off: the program runs under a sanitizer";
    return NULL;
}

static void pass(const char *reason)
{
    shim_libc_open_family();
    retention = reason;
    shim_host.route = SHIM_HOST_PASSING;
}

bool shim_host_stand_aside(void)
{
    const char *reason = reason_to_stand_aside();
    if (reason)
        pass(reason);
    return reason != NULL;
}

void shim_host_open(const struct shim_settings *settings)
{
    if (!settings->options.enabled) {
        pass("off: TIDEMARK=off");
        return;
    }
    if (shim_host_stand_aside())
        return;
    retention = open_heap();
    shim_host.route = SHIM_HOST_SERVING;
    shim_host_retained_end = (uintptr_t)shim_host.heap.base + shim_host.heap.bytes;
    if (shim_host.heap.bytes)
        shim_host.staging_min = settings->options.staging_min;
}

void shim_host_start(void)
{
    if (shim_host.route != SHIM_HOST_SERVING)
        return;
    shim_jemalloc_open();
    shim_host_ordinary_below = shim_host.staging_min;
}

const char *shim_host_retention(void)
{
    return retention;
}

void shim_host_shed(void)
{
    if (shim_host.route == SHIM_HOST_SERVING && shim_host.heap.bytes)
        pool_heap_shed(&shim_host.heap);
}

void shim_host_report(struct pool_stats *stats)
{
    struct pool_heap_figures figures = pool_heap_read(&shim_host.heap);
    stats->heap_claims = figures.claims;
    stats->heap_reused = figures.reused;
    stats->heap_born = figures.born;
    stats->heap_spilled = figures.spilled;
    stats->heap_live_bytes = figures.live_bytes;
    stats->heap_idle_bytes = figures.idle_bytes;
    stats->heap_high_water_bytes = figures.high_water_bytes;
    stats->memory_calls_retained =
        atomic_load_explicit(&shim_retained_calls, memory_order_relaxed);
    stats->memory_calls_ordinary =
        atomic_load_explicit(&shim_jemalloc_calls, memory_order_relaxed);
}

void shim_host_fork_prepare(void)
{
    pool_heap_fork_prepare(&shim_host.heap);
}

void shim_host_fork_done(void)
{
    pool_heap_fork_done(&shim_host.heap);
}

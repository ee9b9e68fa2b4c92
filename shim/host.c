#include "shim/host.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "shim/elf.h"
#include "shim/host_account.h"
#include "shim/host_charge.h"
#include "shim/host_clear.h"
#include "shim/host_source.h"
#include "shim/host_state.h"
#include "shim/jemalloc.h"
#include "shim/libc.h"
#include "shim/memory.h"

struct shim_host_state shim_host = {.staging_min = SIZE_MAX, .direct_min = SIZE_MAX};
size_t shim_host_ordinary_below;
uintptr_t shim_host_retained_end = UINTPTR_MAX;

static const char on[] = "on";

/* Written by shim_host_open(), and once more where retention ends. */
static const char *_Atomic retention = "off: nothing has been decided yet";

static void set_retention(const char *text)
{
    atomic_store_explicit(&retention, text, memory_order_release);
}

static const char *open_heap(const struct policy_options *options)
{
    if (options->retain.kind == POLICY_CEILING_BYTES && options->retain.bytes == 0)
        return "off: TIDEMARK_RETAIN=0";
    if (sysconf(_SC_PAGESIZE) != (long)1 << POOL_PAGE_SHIFT)
        return "off: pages are not 4 KiB";
    const char *counted = shim_memory_counted();
    if (counted) {
        shim_jemalloc_retain_nothing();
        return counted;
    }
    if (!pool_heap_open(&shim_host.heap, shim_host_charging ? &shim_host_source_charged
                                                            : &shim_host_source))
        return "off: the kernel gives no address space";
    return on;
}

/* Written once, while the settings are read, but for what it comes to: one object, so that the
   first bind finds its page written. */
static struct {
    struct policy_ceiling_request request;
    _Atomic uint64_t
        resolved_bytes; /* 0: not yet; a figure, whoever comes second writes the same */
} retain;

/* What TIDEMARK_RETAIN comes to. Memory is asked for when it is first needed, and no oftener. */
static uint64_t retain_bytes(void)
{
    uint64_t bytes = atomic_load_explicit(&retain.resolved_bytes, memory_order_relaxed);
    if (bytes)
        return bytes;
    bytes = retain.request.bytes;
    if (retain.request.kind == POLICY_CEILING_PERCENT)
        bytes = policy_quantity_share_down(retain.request.share, shim_memory_usable());
    bytes = bytes ? bytes : 1;
    atomic_store_explicit(&retain.resolved_bytes, bytes, memory_order_relaxed);
    return bytes;
}

static void tune(const struct policy_options *options)
{
    static const enum pool_huge huge[] = {
        [POLICY_HUGE_AUTO] = POOL_HUGE_AUTO,
        [POLICY_HUGE_NEVER] = POOL_HUGE_NEVER,
        [POLICY_HUGE_ALWAYS] = POOL_HUGE_ALWAYS,
    };
    retain.request = options->retain;
    struct pool_heap_tuning tuning = {
        .decay_ms = options->decay,
        .huge = huge[options->hugepage],
        .retain_bytes = retain.request.kind == POLICY_CEILING_NONE ? NULL : retain_bytes,
    };
    pool_heap_tune(&shim_host.heap, &tuning);
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
    set_retention(reason);
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
    if (shim_host_stand_aside()) {
        shim_host_account_void(SHIM_HOST_HEAP, shim_host_retention() + strlen("off: "));
        return;
    }
    shim_host_charge_open();
    set_retention(open_heap(&settings->options));
    shim_host.route = SHIM_HOST_SERVING;
    shim_host_retained_end = (uintptr_t)shim_host.heap.base + shim_host.heap.bytes;
    if (shim_host.heap.bytes) {
        tune(&settings->options);
        shim_host.staging_min = settings->options.staging_min;
        shim_host.is_recorded = settings->is_recorded;
        if (!settings->is_recorded)
            shim_host.direct_min = shim_host.staging_min;
    }
}

void shim_host_start(void)
{
    if (shim_host.route != SHIM_HOST_SERVING)
        return;
    shim_jemalloc_open();
    /* Where memory can be refused, whoever asks for it gets an answer from us: the fast road
       is for 0 bytes only, which the comparisons there can tell from all others. */
    shim_host_ordinary_below = shim_host_charging ? 1 : shim_host.staging_min;
}

const char *shim_host_retention(void)
{
    return atomic_load_explicit(&retention, memory_order_acquire);
}

static bool is_retaining(void)
{
    return shim_host.route == SHIM_HOST_SERVING && shim_host.heap.bytes;
}

void shim_host_shed(void)
{
    if (is_retaining())
        pool_heap_shed(&shim_host.heap);
}

static void close_heap(const char *reason)
{
    if (shim_host_retention() == on)
        set_retention(reason);
    shim_jemalloc_retain_nothing();
    pool_heap_close(&shim_host.heap);
}

void shim_host_close(const char *reason)
{
    if (shim_host.route != SHIM_HOST_SERVING)
        return;
    close_heap(reason);
    (void)shim_jemalloc_purge();
}

bool shim_host_trim(void)
{
    return is_retaining() && pool_heap_trim(&shim_host.heap) > 0;
}

bool shim_host_make_room(void)
{
    if (!is_retaining())
        return false;
    /* A limit may have been set by another process, or by a way that we do not see. */
    const char *counted =
        shim_clear_is_told() ? "off: memory is limited, it seems" : shim_memory_counted();
    if (!counted)
        return pool_heap_trim(&shim_host.heap) > 0;
    close_heap(counted);
    return true;
}

void shim_host_expect_filter(void)
{
    if (is_retaining() && shim_host.heap.tuning.retain_bytes)
        (void)retain_bytes();
    shim_clear_no_scan();
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
    stats->heap_returned_bytes = figures.returned_bytes;
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

void shim_host_fork_done(bool in_child)
{
    pool_heap_fork_done(&shim_host.heap, in_child);
}

/* The malloc family. Each call has two roads: an ordinary request is one comparison and a
   jump into jemalloc; everything else, the first call of the process and TIDEMARK=off
   included, goes the slow road. Contracts are those of malloc(3) in glibc 2.36. */
#include "shim/host_hooks.h"

#include <errno.h>
#include <string.h>

#include "shim/host.h"
#include "shim/host_charge.h"
#include "shim/host_clear.h"
#include "shim/init.h"
#include "shim/jemalloc.h"
#include "shim/libc.h"
#include "shim/outcome.h"
#include "shim/recorder.h"
#include "shim/say.h"

#define SLOW_ROAD __attribute__((noinline, cold))

enum {
    ALIGNMENT = 16, /* of every block, whatever its size: alignof(max_align_t) */
    PAGE = 1 << POOL_PAGE_SHIFT,
    GRANULE = 1 << POOL_GRANULE_SHIFT,
};

bool shim_host_passing(void)
{
    if (shim_host.route == SHIM_HOST_UNDECIDED && !shim_host_stand_aside())
        (void)shim_settings();
    return shim_host.route == SHIM_HOST_PASSING;
}

/* jemalloc aligns its smallest class, 8 bytes, to 8, until shim_jemalloc_open() was called. */
static size_t at_least_aligned(size_t bytes)
{
    return bytes < ALIGNMENT / 2 + 1 ? ALIGNMENT / 2 + 1 : bytes;
}

static void *or_no_memory(void *block, size_t bytes)
{
    if (block)
        return block;
    shim_outcome_no_heap(bytes);
    return shim_outcome_no_memory();
}

/* jemalloc serves; it sets errno itself only from malloc and calloc. Here and below, what it
   keeps for later may be what is missing; our own idle blocks went back when the kernel refused
   (shim_host_make_room). */
static void *ordinary(size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return shim_outcome_no_memory();
    void *block = jemalloc_malloc(at_least_aligned(bytes));
    if (!block && shim_jemalloc_purge())
        block = jemalloc_malloc(at_least_aligned(bytes));
    return or_no_memory(block, bytes);
}

/* Beyond the heap's ceiling whatever is idle goes back; whether to ask again. */
static bool made_room(void)
{
    if (!shim_host_charge_was_refused())
        return false;
    bool trimmed = shim_host_trim();
    return shim_jemalloc_purge() || trimmed;
}

static void *claim_unrecorded(size_t bytes, bool *fresh)
{
    void *block = pool_heap_claim(&shim_host.heap, bytes, fresh);
    if (__builtin_expect(!block, 0) && made_room())
        block = pool_heap_claim(&shim_host.heap, bytes, fresh);
    return block;
}

static void *claim_retained(size_t bytes, bool *fresh)
{
    if (!shim_host.is_recorded)
        return claim_unrecorded(bytes, fresh);
    shim_recorder_claiming();
    void *block = claim_unrecorded(bytes, fresh);
    shim_recorder_claimed(bytes, block != NULL);
    return block;
}

/* A request for retained memory, falling back on jemalloc. */
static void *claim(size_t bytes)
{
    bool fresh;
    if (bytes < shim_host.staging_min)
        return ordinary(bytes);
    void *block = claim_retained(bytes, &fresh);
    return block ? block : ordinary(bytes);
}

static void *ordinary_zeroed(size_t bytes)
{
    void *block = jemalloc_calloc(1, at_least_aligned(bytes));
    if (!block && shim_jemalloc_purge())
        block = jemalloc_calloc(1, at_least_aligned(bytes));
    return or_no_memory(block, bytes);
}

static void *claim_zeroed(size_t bytes)
{
    bool fresh = false;
    if (bytes > PTRDIFF_MAX)
        return shim_outcome_no_memory();
    if (bytes < shim_host.staging_min)
        return ordinary_zeroed(bytes);
    void *block = claim_retained(bytes, &fresh);
    if (!block)
        return ordinary_zeroed(bytes);
    if (!fresh)
        shim_clear(block, bytes);
    return block;
}

SLOW_ROAD static void *malloc_elsewhere(size_t bytes)
{
    return shim_host_passing() ? shim_libc.malloc(bytes) : claim(bytes);
}

/* The heap has refused once. */
SLOW_ROAD static void *claim_again(size_t bytes)
{
    bool fresh;
    void *block = made_room() ? pool_heap_claim(&shim_host.heap, bytes, &fresh) : NULL;
    return block ? block : ordinary(bytes);
}

/* Not cold, and pool_heap_claim() inside: what a claim costs is this. */
__attribute__((noinline, flatten)) static void *malloc_staging(size_t bytes)
{
    bool fresh;
    if (__builtin_expect(bytes < shim_host.direct_min, 0))
        return malloc_elsewhere(bytes);
    void *block = pool_heap_claim(&shim_host.heap, bytes, &fresh);
    return __builtin_expect(block != NULL, 1) ? block : claim_again(bytes);
}

void *malloc(size_t bytes)
{
    if (__builtin_expect(bytes < shim_host_ordinary_below, 1))
        return jemalloc_malloc(bytes);
    return malloc_staging(bytes);
}

/* What a pointer in our range that cannot be freed is. A program that comes here would
   have been stopped by glibc too; going on would hand one block to two owners. */
void shim_host_refuse_pointer(const void *block)
{
    switch (pool_heap_place(&shim_host.heap, block)) {
    case POOL_PLACE_RETURNED:
        shim_say_and_trap("a block was freed twice", block);
    case POOL_PLACE_INSIDE:
        shim_say_and_trap("a pointer was freed that is not the start of a block", block);
    case POOL_PLACE_LIVE:
        break;
    }
    shim_say_and_trap("a block was freed by two threads at once", block);
}

SLOW_ROAD static void free_elsewhere(void *block)
{
    if (!block)
        return;
    int kept = errno;
    if (shim_host_passing())
        shim_libc.free(block);
    else if (!shim_host_is_retained(block))
        jemalloc_free(block);
    else
        shim_host_refuse_pointer(block);
    errno = kept;
}

/* As above. A return sets no errno that would have to be kept. */
__attribute__((noinline, flatten)) static void free_staging(void *block)
{
    if (__builtin_expect(!pool_heap_return(&shim_host.heap, block), 0))
        free_elsewhere(block);
    else if (__builtin_expect(shim_host.is_recorded, 0))
        shim_recorder_returned();
}

void free(void *block)
{
    if (__builtin_expect((uintptr_t)block < shim_host_retained_end, 0))
        free_staging(block);
    else
        jemalloc_free(block);
}

SLOW_ROAD static void *calloc_slow(size_t count, size_t bytes)
{
    size_t total;
    if (shim_host_passing())
        return shim_libc.calloc(count, bytes);
    if (__builtin_mul_overflow(count, bytes, &total))
        return shim_outcome_no_memory();
    return claim_zeroed(total);
}

void *calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_expect(!__builtin_mul_overflow(count, bytes, &total) &&
                             total < shim_host_ordinary_below,
                         1))
        return jemalloc_calloc(1, total);
    return calloc_slow(count, bytes);
}

static void *claim_growing_unrecorded(size_t bytes)
{
    void *block = pool_heap_claim_growing(&shim_host.heap, bytes);
    return block || !made_room() ? block
                                 : pool_heap_claim_growing(&shim_host.heap, bytes);
}

static void *claim_growing(size_t bytes)
{
    if (!shim_host.is_recorded)
        return claim_growing_unrecorded(bytes);
    shim_recorder_claiming();
    void *block = claim_growing_unrecorded(bytes);
    shim_recorder_claimed(bytes, block != NULL);
    return block;
}

/* An ordinary block has grown to staging size, or one that had to be spilled grows on. */
static void *move_growing(void *block, size_t held, size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return shim_outcome_no_memory();
    void *moved = claim_growing(bytes);
    if (!moved)
        moved = ordinary(bytes);
    if (!moved)
        return NULL;
    memcpy(moved, block, held < bytes ? held : bytes);
    free(block);
    return moved;
}

static void *resize_retained(void *block, size_t bytes)
{
    if (pool_heap_place(&shim_host.heap, block) != POOL_PLACE_LIVE)
        shim_host_refuse_pointer(block);
    if (bytes < shim_host.staging_min) {
        void *small = jemalloc_malloc(at_least_aligned(bytes));
        if (small) {
            memcpy(small, block, bytes);
            free(block);
            return small;
        }
    }
    if (pool_heap_resize(&shim_host.heap, block, bytes) ||
        (made_room() && pool_heap_resize(&shim_host.heap, block, bytes)))
        return block;
    void *grown =
        bytes > PTRDIFF_MAX ? NULL : pool_heap_grow(&shim_host.heap, block, bytes);
    return grown ? grown
                 : move_growing(block, pool_heap_usable(&shim_host.heap, block), bytes);
}

SLOW_ROAD static void *realloc_slow(void *block, size_t bytes)
{
    if (shim_host_passing())
        return shim_libc.realloc(block, bytes);
    if (!block)
        return claim(bytes);
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    if (shim_host_is_retained(block))
        return resize_retained(block, bytes);
    size_t held = jemalloc_malloc_usable_size(block);
    if (bytes >= shim_host.staging_min && held < shim_host.staging_min)
        return move_growing(block, held, bytes);
    if (bytes > PTRDIFF_MAX)
        return shim_outcome_no_memory();
    void *moved = jemalloc_realloc(block, at_least_aligned(bytes));
    if (!moved && shim_jemalloc_purge())
        moved = jemalloc_realloc(block, at_least_aligned(bytes));
    return or_no_memory(moved, bytes);
}

void *realloc(void *block, size_t bytes)
{
    if (__builtin_expect((uintptr_t)block >= shim_host_retained_end &&
                             bytes - 1 < shim_host_ordinary_below - 1,
                         1))
        return or_no_memory(jemalloc_realloc(block, bytes), bytes);
    return realloc_slow(block, bytes);
}

void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (shim_host_passing())
        return shim_libc.reallocarray(block, count, bytes);
    if (__builtin_mul_overflow(count, bytes, &total))
        return shim_outcome_no_memory();
    return realloc(block, total);
}

/* A block at a power of two; NULL without touching errno. */
static void *claim_aligned(size_t alignment, size_t bytes)
{
    bool fresh;
    if (bytes > PTRDIFF_MAX - alignment)
        return NULL;
    if (bytes >= shim_host.staging_min && alignment <= GRANULE) {
        void *block = claim_retained(bytes, &fresh);
        if (block)
            return block;
    }
    if (alignment < ALIGNMENT)
        alignment = ALIGNMENT;
    void *block = jemalloc_memalign(alignment, bytes ? bytes : 1);
    if (!block && shim_jemalloc_purge())
        block = jemalloc_memalign(alignment, bytes ? bytes : 1);
    return block;
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (shim_host_passing())
        return shim_libc.posix_memalign(out, alignment, bytes);
    if (alignment % sizeof(void *) != 0 || alignment == 0 ||
        (alignment & (alignment - 1)) != 0)
        return EINVAL;
    int kept = errno;
    void *block = claim_aligned(alignment, bytes);
    if (!block)
        shim_outcome_no_heap(bytes);
    errno = kept;
    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

/* glibc takes any alignment up to the largest power of two and rounds it up to one. */
static void *align_as_glibc(size_t alignment, size_t bytes)
{
    if (alignment <= ALIGNMENT)
        return malloc(bytes);
    if (alignment > SIZE_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t power = ALIGNMENT;
    while (power < alignment)
        power *= 2;
    return or_no_memory(claim_aligned(power, bytes), bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return shim_host_passing() ? shim_libc.memalign(alignment, bytes)
                               : align_as_glibc(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return shim_host_passing() ? shim_libc.aligned_alloc(alignment, bytes)
                               : align_as_glibc(alignment, bytes);
}

void *valloc(size_t bytes)
{
    return shim_host_passing() ? shim_libc.valloc(bytes) : align_as_glibc(PAGE, bytes);
}

void *pvalloc(size_t bytes)
{
    if (shim_host_passing())
        return shim_libc.pvalloc(bytes);
    if (bytes > PTRDIFF_MAX - PAGE)
        return shim_outcome_no_memory();
    return align_as_glibc(PAGE, (bytes + PAGE - 1) & ~((size_t)PAGE - 1));
}

size_t malloc_usable_size(void *block)
{
    if (shim_host_passing())
        return shim_libc.malloc_usable_size(block);
    if (!block)
        return 0;
    if (shim_host_is_retained(block))
        return pool_heap_usable(&shim_host.heap, block);
    return jemalloc_malloc_usable_size(block);
}

/* A pool_source over the kernel for tests: it counts what it is asked for and can
   be told to refuse. One for the whole program, since a source has no context. */
#ifndef TESTS_FAKE_SOURCE_H
#define TESTS_FAKE_SOURCE_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "pool/source.h"

struct fake_source {
    _Atomic unsigned reserve_count; /* calls, refused ones included */
    _Atomic unsigned enable_count;
    _Atomic unsigned release_count;
    _Atomic unsigned discard_count;
    _Atomic size_t reserved_bytes;  /* reserved and not released */
    _Atomic size_t enabled_bytes;   /* ever enabled */
    _Atomic size_t discarded_bytes; /* ever discarded */
    _Atomic unsigned wipe_count;
    _Atomic unsigned move_count;
    _Atomic size_t huge_bytes; /* huge pages were asked for, in all */
    _Atomic uint64_t now_ms;   /* what the clock says */
    unsigned refused_wipe;
    unsigned refused_move;
    unsigned refused_reserve; /* the call refused, counted from 1; 0: none */
    unsigned refused_enable;
    unsigned refused_discard;
    size_t reserve_bytes_max; /* a larger reservation is refused; 0: no limit */
};

static struct fake_source fake;

static inline void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
}

static inline unsigned fake_reserves(void)
{
    return atomic_load_explicit(&fake.reserve_count, memory_order_relaxed);
}

static inline unsigned fake_enables(void)
{
    return atomic_load_explicit(&fake.enable_count, memory_order_relaxed);
}

static inline unsigned fake_releases(void)
{
    return atomic_load_explicit(&fake.release_count, memory_order_relaxed);
}

static inline unsigned fake_discards(void)
{
    return atomic_load_explicit(&fake.discard_count, memory_order_relaxed);
}

static inline size_t fake_reserved(void)
{
    return atomic_load_explicit(&fake.reserved_bytes, memory_order_relaxed);
}

static inline size_t fake_enabled(void)
{
    return atomic_load_explicit(&fake.enabled_bytes, memory_order_relaxed);
}

static inline size_t fake_discarded(void)
{
    return atomic_load_explicit(&fake.discarded_bytes, memory_order_relaxed);
}

/* The next call of enable, of reserve or of discard is refused, and only that. */
static inline void fake_refuse_next_enable(void)
{
    fake.refused_enable = fake_enables() + 1;
}

static inline void fake_refuse_next_reserve(void)
{
    fake.refused_reserve = fake_reserves() + 1;
}

static inline void fake_refuse_next_discard(void)
{
    fake.refused_discard = fake_discards() + 1;
}

static inline unsigned fake_wipes(void)
{
    return atomic_load_explicit(&fake.wipe_count, memory_order_relaxed);
}

static inline unsigned fake_moves(void)
{
    return atomic_load_explicit(&fake.move_count, memory_order_relaxed);
}

static inline size_t fake_huge(void)
{
    return atomic_load_explicit(&fake.huge_bytes, memory_order_relaxed);
}

static inline void fake_wait_ms(uint64_t ms)
{
    atomic_fetch_add_explicit(&fake.now_ms, ms, memory_order_relaxed);
}

static inline void *fake_reserve(size_t bytes)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.reserve_count, 1, memory_order_relaxed);
    if (call == fake.refused_reserve ||
        (fake.reserve_bytes_max && bytes > fake.reserve_bytes_max))
        return NULL;
    /* One page in, so that nothing happens to be aligned to more than a page. */
    const size_t page = 4096;
    char *address = mmap(NULL, page + bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    atomic_fetch_add_explicit(&fake.reserved_bytes, bytes, memory_order_relaxed);
    return address + page;
}

static inline bool fake_enable(void *address, size_t bytes)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.enable_count, 1, memory_order_relaxed);
    if (call == fake.refused_enable ||
        mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    atomic_fetch_add_explicit(&fake.enabled_bytes, bytes, memory_order_relaxed);
    return true;
}

static inline void fake_release(void *address, size_t bytes)
{
    atomic_fetch_add_explicit(&fake.release_count, 1, memory_order_relaxed);
    if (munmap(address, bytes) == 0)
        atomic_fetch_sub_explicit(&fake.reserved_bytes, bytes, memory_order_relaxed);
}

static inline bool fake_discard(void *address, size_t bytes)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.discard_count, 1, memory_order_relaxed);
    if (call == fake.refused_discard || madvise(address, bytes, MADV_DONTNEED) != 0)
        return false;
    atomic_fetch_add_explicit(&fake.discarded_bytes, bytes, memory_order_relaxed);
    return true;
}

/* A clock that stands still until a test moves it. */
static inline uint64_t fake_now_ms(void)
{
    return atomic_load_explicit(&fake.now_ms, memory_order_relaxed);
}

static inline bool fake_wipe_on_fork(void *address, size_t bytes, bool wipe)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.wipe_count, 1, memory_order_relaxed);
    return call != fake.refused_wipe &&
           madvise(address, bytes, wipe ? MADV_WIPEONFORK : MADV_KEEPONFORK) == 0;
}

static inline bool fake_move(void *from, void *to, size_t bytes)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.move_count, 1, memory_order_relaxed);
    return call != fake.refused_move &&
           mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                  to) == to;
}

static inline void fake_prefer_huge(void *address, size_t bytes)
{
    (void)address;
    atomic_fetch_add_explicit(&fake.huge_bytes, bytes, memory_order_relaxed);
}

static const struct pool_source fake_source = {
    .reserve = fake_reserve,
    .enable = fake_enable,
    .release = fake_release,
    .discard = fake_discard,
    .prefer_huge = fake_prefer_huge,
    .wipe_on_fork = fake_wipe_on_fork,
    .move = fake_move,
    .now_ms = fake_now_ms,
};

#endif

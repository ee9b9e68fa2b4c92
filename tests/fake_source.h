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
    unsigned refused_reserve;       /* the call refused, counted from 1; 0: none */
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

static inline void *fake_reserve(size_t bytes)
{
    unsigned call =
        1 + atomic_fetch_add_explicit(&fake.reserve_count, 1, memory_order_relaxed);
    if (call == fake.refused_reserve ||
        (fake.reserve_bytes_max && bytes > fake.reserve_bytes_max))
        return NULL;
    void *address =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED)
        return NULL;
    atomic_fetch_add_explicit(&fake.reserved_bytes, bytes, memory_order_relaxed);
    return address;
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

static const struct pool_source fake_source = {fake_reserve, fake_enable, fake_release,
                                               fake_discard};

#endif

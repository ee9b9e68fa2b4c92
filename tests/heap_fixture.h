/* A heap at the scale of 1 GiB over the fake source, for the tests of pool/heap.c. */
#ifndef TESTS_HEAP_FIXTURE_H
#define TESTS_HEAP_FIXTURE_H

#include <string.h>

#include "pool/heap.h"
#include "tests/fake_source.h"
#include "tests/suite.h"

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define GIB  ((size_t)1 << 30)
#define AREA GIB /* of the packed area, and of each row, at the scale of most tests */

static struct pool_heap heap;

static inline void open_scaled(size_t area)
{
    fake_reset();
    memset(&heap, 0, sizeof(heap));
    fake.reserve_bytes_max = area * (1 + POOL_ROW_COUNT) + 2 * MIB;
    ck_assert(pool_heap_open(&heap, &fake_source));
    ck_assert_uint_eq(heap.bytes, area * (1 + POOL_ROW_COUNT));
}

static inline void setup(void)
{
    open_scaled(AREA);
}

static inline void teardown(void)
{
    if (heap.bytes > 0)
        ck_assert(pool_packed_valid(&heap.packed));
}

static inline char *claim(size_t bytes)
{
    bool fresh;
    char *block = pool_heap_claim(&heap, bytes, &fresh);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % (64 * KIB), 0);
    return block;
}

static inline void is_refused(size_t bytes)
{
    bool fresh = true;
    ck_assert_ptr_null(pool_heap_claim(&heap, bytes, &fresh));
    ck_assert(!fresh);
}

static inline void give_back(void *block)
{
    ck_assert(pool_heap_return(&heap, block));
}

static inline bool all_are(const char *bytes, char expected, size_t count)
{
    size_t at = 0;
    while (at < count && bytes[at] == expected)
        at++;
    return at == count;
}

static inline void place_is(const void *address, enum pool_heap_place place)
{
    ck_assert_int_eq(pool_heap_place(&heap, address), place);
}

static inline void counts_are(uint64_t reused, uint64_t born, uint64_t spilled)
{
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(figures.reused, reused);
    ck_assert_uint_eq(figures.born, born);
    ck_assert_uint_eq(figures.claims, reused + born);
    ck_assert_uint_eq(figures.spilled, spilled);
}

static inline void bytes_are(uint64_t live, uint64_t idle)
{
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(figures.live_bytes, live);
    ck_assert_uint_eq(figures.idle_bytes, idle);
}

#endif

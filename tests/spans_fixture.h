/* One packed area of AREA_GRANULES over the fake source, for the tests of its files. A claim
   is known by the granule at which it begins. */
#ifndef TESTS_SPANS_FIXTURE_H
#define TESTS_SPANS_FIXTURE_H

#include <string.h>

#include "pool/spans.h"
#include "tests/fake_source.h"
#include "tests/suite.h"

enum { AREA_GRANULES = 4500 };

static struct pool_spans spans;
static struct pool_record records[AREA_GRANULES];

static inline size_t bytes_of(size_t granules)
{
    return granules << POOL_GRANULE_SHIFT;
}

static inline void open_area(uint32_t granules)
{
    char *base = fake_source.reserve(bytes_of(granules));
    ck_assert_ptr_nonnull(base);
    memset(&spans, 0, sizeof(spans));
    memset(records, 0, sizeof(records));
    pool_spans_open(&spans, base, granules, records, &fake_source);
}

static inline void setup(void)
{
    fake_reset();
    open_area(AREA_GRANULES);
}

static inline void teardown(void)
{
    ck_assert(pool_spans_valid(&spans));
}

static inline char *address_of(uint32_t index)
{
    return spans.base + bytes_of(index);
}

static inline uint32_t claim(uint32_t granules)
{
    bool fresh, due;
    return pool_spans_claim(&spans, granules, &fresh, &due);
}

/* A claim that must be served at this granule. */
static inline void claim_gives(uint32_t granules, uint32_t index)
{
    ck_assert_uint_eq(claim(granules), index);
}

/* The same, and every byte of it is written. */
static inline void claim_written(uint32_t granules, uint32_t index)
{
    claim_gives(granules, index);
    memset(address_of(index), 1, bytes_of(granules));
}

/* The same, with memory that reads as zero or is not said to. */
static inline void claim_gives_fresh(uint32_t granules, uint32_t index, bool expected)
{
    static const char zero[16 << POOL_GRANULE_SHIFT];
    bool fresh, due;
    ck_assert_uint_le(bytes_of(granules), sizeof(zero));
    ck_assert_uint_eq(pool_spans_claim(&spans, granules, &fresh, &due), index);
    ck_assert_int_eq(fresh, expected);
    if (fresh)
        ck_assert_mem_eq(address_of(index), zero, bytes_of(granules));
}

static inline void give_back(uint32_t index)
{
    bool due;
    ck_assert(pool_spans_return(&spans, index, &due));
}

static inline uint32_t granules_of(uint32_t index)
{
    return POOL_GET(&records[index], granules);
}

static inline uint32_t state_of(uint32_t index)
{
    return POOL_GET(&records[index], state);
}

static inline void figures_are(uint64_t popped, uint64_t fitted, uint64_t born)
{
    struct pool_span_figures figures = pool_spans_figures(&spans);
    ck_assert_uint_eq(figures.popped, popped);
    ck_assert_uint_eq(figures.fitted, fitted);
    ck_assert_uint_eq(figures.born, born);
}

#endif

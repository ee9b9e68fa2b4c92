/* Free spans over END granules that nothing else uses, for the tests of pool/free_spans.c. */
#ifndef TESTS_FREE_SPANS_FIXTURE_H
#define TESTS_FREE_SPANS_FIXTURE_H

#include <string.h>

#include "pool/free_spans.h"
#include "tests/suite.h"

enum {
    END = 700, /* granules, of which number 0 is never used */
};

static struct pool_record records[END];
static struct pool_free_spans spans;

static inline void setup(void)
{
    memset(records, 0, sizeof(records));
    memset(&spans, 0, sizeof(spans));
    spans.records = records;
}

static inline void teardown(void)
{
    uint32_t count = 0;
    ck_assert(pool_free_spans_valid(&spans, &count));
}

static inline void put(uint32_t index, uint32_t granules, enum pool_state state)
{
    pool_free_spans_put(&spans, index, granules, state);
}

static inline void merge(uint32_t index, uint32_t granules, enum pool_state state)
{
    (void)pool_free_spans_merge(&spans, index, granules, state, END);
}

static inline bool is_span(uint32_t index, uint32_t granules, enum pool_state state)
{
    const struct pool_record *first = &records[index], *last = first + granules - 1;
    bool right = POOL_GET(first, granules) == granules &&
                 POOL_GET(first, state) == (uint32_t)state &&
                 POOL_GET(last, granules) == granules &&
                 POOL_GET(last, state) == (uint32_t)state;
    for (const struct pool_record *inside = first + 1; inside < last; inside++)
        right = right && POOL_GET(inside, state) == POOL_UNBORN;
    return right;
}

static inline void span_is(uint32_t index, uint32_t granules, enum pool_state state)
{
    ck_assert_msg(is_span(index, granules, state), "no span of %u at %u", granules,
                  index);
}

/* How many spans there are, and how many of their granules are dirty. */
static inline void holds(uint32_t expected_count, uint32_t dirty_granules)
{
    uint32_t count = 0;
    ck_assert(pool_free_spans_valid(&spans, &count));
    ck_assert_uint_eq(count, expected_count);
    ck_assert_uint_eq(POOL_GET(&spans, dirty_granules), dirty_granules);
}

/* As a claim does it. */
static inline uint32_t fit_and_take(uint32_t granules, uint32_t end, bool *fresh)
{
    uint32_t index = pool_free_spans_fit(&spans, granules, end);
    if (!index)
        return 0;
    uint32_t clean = pool_free_spans_clean(&spans, index, granules);
    *fresh = pool_free_spans_take_front(&spans, index, granules);
    ck_assert_int_eq(*fresh, clean == granules);
    return index;
}

static inline void fit_gives(uint32_t granules, uint32_t index, bool expected)
{
    bool fresh = !expected;
    ck_assert_uint_eq(fit_and_take(granules, END, &fresh), index);
    ck_assert_int_eq(fresh, expected);
}

#endif

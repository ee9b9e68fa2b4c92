/* Rows at the scale of 1 GiB over the fake source, for the tests of their files. */
#ifndef TESTS_ROWS_FIXTURE_H
#define TESTS_ROWS_FIXTURE_H

#include <string.h>

#include "pool/rows.h"
#include "tests/fake_source.h"
#include "tests/suite.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* 16 64-MiB strides, then 8 4 2 1, and five rows of which the first stride is too large. */
enum { ROW_SHIFT = 30, RECORDS = 32 };

static struct pool_rows rows;
static struct pool_record records[RECORDS];

static inline void setup(void)
{
    fake_reset();
    memset(&rows, 0, sizeof(rows));
    memset(records, 0, sizeof(records));
    char *base = fake_source.reserve((size_t)POOL_ROW_COUNT << ROW_SHIFT);
    ck_assert_ptr_nonnull(base);
    pool_rows_open(&rows, base, ROW_SHIFT, records, &fake_source);
}

static inline uint32_t claim(size_t bytes)
{
    bool fresh;
    return pool_rows_claim(&rows, bytes, &fresh);
}

static inline char *claim_address(size_t bytes)
{
    uint32_t index = claim(bytes);
    ck_assert_uint_ne(index, 0);
    return pool_rows_address(&rows, index);
}

/* A claim that must be served at this stride of this row. */
static inline uint32_t claim_gives(size_t bytes, unsigned row, size_t stride)
{
    uint32_t index = claim(bytes);
    ck_assert_uint_ne(index, 0);
    ck_assert_ptr_eq(pool_rows_address(&rows, index),
                     rows.base + row * GIB + stride * (64 * MIB << row));
    return index;
}

static inline void give_back(uint32_t index)
{
    ck_assert(pool_rows_return(&rows, index));
}

static inline size_t capacity(uint32_t index)
{
    return (size_t)POOL_GET(&records[index], granules) << POOL_GRANULE_SHIFT;
}

static inline bool all_are(const char *bytes, char expected, size_t count)
{
    size_t at = 0;
    while (at < count && bytes[at] == expected)
        at++;
    return at == count;
}

static inline void figures_are(uint64_t reused, uint64_t born)
{
    struct pool_row_figures figures = pool_rows_figures(&rows);
    ck_assert_uint_eq(figures.reused, reused);
    ck_assert_uint_eq(figures.born, born);
}

static inline uint32_t index_of(const char *block)
{
    return pool_rows_index(&rows, block);
}

static inline uint32_t state_of(uint32_t index)
{
    return POOL_GET(&records[index], state);
}

#endif

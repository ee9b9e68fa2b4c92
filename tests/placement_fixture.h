/* Plans for the tests of policy/placement.c: the memory that a plan is made in, and buffers
   drawn from a seed. */
#ifndef TESTS_PLACEMENT_FIXTURE_H
#define TESTS_PLACEMENT_FIXTURE_H

#include <stdbool.h>
#include <string.h>

#include "policy/placement.h"
#include "tests/suite.h"

enum { MOST_BUFFERS = 10000 };

static struct policy_rank ranks[2 * MOST_BUFFERS];
static struct policy_place places[MOST_BUFFERS];
static uint64_t work_offsets[MOST_BUFFERS];
static const struct policy_placement_work work = {ranks, places, work_offsets};

/* What a plan gives. */
static uint64_t offsets[MOST_BUFFERS];
static struct policy_high_water high_water;

static const struct policy_space unlimited = {
    .largest_address = UINT64_MAX, .capacity_bytes = UINT64_MAX, .unit_bytes = 1};

static inline struct policy_placement_verdict
plan(const struct policy_space *space, const struct policy_buffer *buffers, size_t count)
{
    return policy_placement_plan(space, buffers, count, &work, offsets, &high_water);
}

/* A number below `limit`, the same for the same seed everywhere. */
static inline uint64_t draw(uint64_t *seed, uint64_t limit)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % limit;
}

/* Sizes of every order of magnitude; most buffers live briefly, some long. */
static inline void draw_buffers(uint64_t *seed, struct policy_buffer *buffers,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t magnitude = UINT64_C(1) << draw(seed, 20);
        uint64_t start = draw(seed, 2 * count);
        uint64_t life = 1 + draw(seed, draw(seed, 4) == 0 ? 2 * count : 8);
        buffers[i] = (struct policy_buffer){magnitude + draw(seed, magnitude),
                                            1 + draw(seed, 256), start, start + life};
    }
}

#endif

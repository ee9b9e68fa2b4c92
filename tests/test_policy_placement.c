/* Defends: no two buffers whose lives meet share an address, each lies aligned and within
   every limit, the four numbers say what they are called, and a refusal changes nothing. */
#include "policy/placement.h"

#include "tests/placement_fixture.h"

static void is_placed(struct policy_placement_verdict verdict)
{
    ck_assert_int_eq(verdict.verdict.kind, POLICY_ADMITTED);
}

static void high_water_is(uint64_t logical, uint64_t peak_live, uint64_t reservation)
{
    ck_assert_uint_eq(high_water.logical_high_water_bytes, logical);
    ck_assert_uint_eq(high_water.peak_live_bytes, peak_live);
    ck_assert_uint_eq(high_water.artefact_overhead_bytes, logical - peak_live);
    ck_assert_uint_eq(high_water.runtime_reservation_bytes, reservation);
}

static bool live_together(const struct policy_buffer *a, const struct policy_buffer *b)
{
    return a->start < b->end && b->start < a->end;
}

static uint64_t end_address(const struct policy_space *space,
                            const struct policy_buffer *buffers, size_t i)
{
    return space->base + offsets[i] + policy_buffer_reserved(&buffers[i]);
}

static bool share_addresses(const struct policy_space *space,
                            const struct policy_buffer *buffers, size_t i, size_t j)
{
    return space->base + offsets[i] < end_address(space, buffers, j) &&
           space->base + offsets[j] < end_address(space, buffers, i) &&
           buffers[i].bytes > 0 && buffers[j].bytes > 0;
}

/* What is reserved at the moment when this buffer is born. */
static uint64_t live_bytes(const struct policy_buffer *buffers, size_t count,
                           uint64_t moment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (buffers[i].start <= moment && moment < buffers[i].end)
            bytes += policy_buffer_reserved(&buffers[i]);
    return bytes;
}

/* Everything that has to hold of a plan that was placed. */
static void is_sound(const struct policy_space *space,
                     const struct policy_buffer *buffers, size_t count)
{
    uint64_t top = space->base, peak = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t live = live_bytes(buffers, count, buffers[i].start);
        uint64_t end = end_address(space, buffers, i);
        peak = live > peak ? live : peak;
        top = end > top ? end : top;
        ck_assert_uint_eq((space->base + offsets[i]) % buffers[i].alignment, 0);
        for (size_t j = 0; j < i; j++)
            if (live_together(&buffers[i], &buffers[j]) &&
                share_addresses(space, buffers, i, j))
                ck_abort_msg("buffers %zu and %zu share addresses", j, i);
    }
    uint64_t unit = space->unit_bytes, logical = top - space->base;
    high_water_is(logical, peak, (logical + unit - 1) / unit * unit);
    ck_assert_uint_le(space->base + high_water.runtime_reservation_bytes,
                      space->largest_address);
    ck_assert_uint_le(high_water.runtime_reservation_bytes + space->external_peak_bytes,
                      space->capacity_bytes);
}

START_TEST(buffers_that_live_together_share_no_address)
{
    enum { PLANS = 500, MOST = 60 };
    static struct policy_buffer buffers[MOST];
    uint64_t seed = 11;
    for (int i = 0; i < PLANS; i++) {
        struct policy_space space = unlimited;
        size_t count = 1 + draw(&seed, MOST);
        space.base = draw(&seed, 3) * draw(&seed, 1000);
        space.unit_bytes = 1 + draw(&seed, 512);
        draw_buffers(&seed, buffers, count);
        is_placed(plan(&space, buffers, count));
        is_sound(&space, buffers, count);
    }
}
END_TEST

START_TEST(limits_are_kept_or_the_plan_is_refused)
{
    enum { PLANS = 500, MOST = 30 };
    static struct policy_buffer buffers[MOST];
    uint64_t seed = 12;
    unsigned placed = 0;
    for (int i = 0; i < PLANS; i++) {
        size_t count = 1 + draw(&seed, MOST);
        draw_buffers(&seed, buffers, count);
        is_placed(plan(&unlimited, buffers, count));
        uint64_t lowest = high_water.logical_high_water_bytes;
        struct policy_space space = unlimited;
        space.external_peak_bytes = draw(&seed, 100);
        space.capacity_bytes = lowest - lowest / 20 + draw(&seed, 1 + lowest / 10);
        bool fits = lowest + space.external_peak_bytes <= space.capacity_bytes;
        bool is_admitted = plan(&space, buffers, count).verdict.kind == POLICY_ADMITTED;
        ck_assert_int_eq(is_admitted, fits);
        placed += is_admitted;
        if (is_admitted)
            is_sound(&space, buffers, count);
        space = unlimited;
        space.largest_address = lowest;
        is_placed(plan(&space, buffers, count));
        space.largest_address = lowest - 1;
        ck_assert_int_eq(plan(&space, buffers, count).verdict.kind,
                         POLICY_ADDRESS_BEYOND);
    }
    ck_assert_uint_gt(placed, PLANS / 4);
    ck_assert_uint_lt(placed, PLANS * 3 / 4);
}
END_TEST

START_TEST(a_buffer_may_begin_where_another_ends)
{
    static const struct policy_buffer buffers[] = {
        {10, 1, 0, 1}, {10, 1, 1, 2}, {10, 1, 2, 3}};
    is_placed(plan(&unlimited, buffers, 3));
    high_water_is(10, 10, 10);
    static const struct policy_buffer longer[] = {
        {10, 1, 0, 2}, {10, 1, 1, 2}, {10, 1, 2, 3}};
    is_placed(plan(&unlimited, longer, 3));
    high_water_is(20, 20, 20);
}
END_TEST

START_TEST(the_four_numbers_are_four)
{
    /* Base 100 leaves 28 bytes below the first multiple of 64. The second lies there. */
    static const struct policy_buffer buffers[] = {{10, 64, 0, 2}, {5, 1, 1, 3}};
    struct policy_space space = unlimited;
    space.base = 100;
    space.unit_bytes = 1000;
    is_placed(plan(&space, buffers, 2));
    high_water_is(92, 69, 1000);
    ck_assert_uint_eq(high_water.artefact_overhead_bytes, 23);
}
END_TEST

START_TEST(a_plan_of_nothing_takes_nothing)
{
    static const struct policy_buffer empty[] = {{0, 7, 0, 1}, {0, 1, 0, 9}};
    is_placed(plan(&unlimited, NULL, 0));
    high_water_is(0, 0, 0);
    is_placed(plan(&unlimited, empty, 2));
    high_water_is(0, 0, 0);
}
END_TEST

START_TEST(one_buffer_may_take_all_that_64_bits_address)
{
    static const struct policy_buffer all = {UINT64_MAX, 1, 0, UINT64_MAX};
    is_placed(plan(&unlimited, &all, 1));
    high_water_is(UINT64_MAX, UINT64_MAX, UINT64_MAX);
}
END_TEST

/* Every order of placing at the lowest address, the least of which no plan is below. */
static uint64_t least_high_water(const struct policy_buffer *buffers, size_t count,
                                 size_t *order, size_t placed, uint64_t top,
                                 uint64_t lows[])
{
    uint64_t least = placed == count ? top : UINT64_MAX;
    for (size_t i = placed; i < count; i++) {
        size_t chosen = order[i];
        order[i] = order[placed];
        order[placed] = chosen;
        uint64_t low = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t j = 0; j < placed; j++) {
                const struct policy_buffer *other = &buffers[order[j]];
                uint64_t other_low = lows[order[j]];
                if (live_together(&buffers[chosen], other) &&
                    low < other_low + other->bytes &&
                    other_low < low + buffers[chosen].bytes) {
                    low = other_low + other->bytes;
                    moved = true;
                }
            }
        }
        lows[chosen] = low;
        uint64_t end = low + buffers[chosen].bytes;
        uint64_t found = least_high_water(buffers, count, order, placed + 1,
                                          end > top ? end : top, lows);
        least = found < least ? found : least;
        order[placed] = order[i];
        order[i] = chosen;
    }
    return least;
}

START_TEST(small_plans_are_as_low_as_can_be)
{
    enum { PLANS = 500, COUNT = 6 };
    uint64_t seed = 13, lows[COUNT];
    for (int i = 0; i < PLANS; i++) {
        struct policy_buffer buffers[COUNT];
        size_t order[COUNT];
        for (size_t j = 0; j < COUNT; j++) {
            uint64_t start = draw(&seed, 8);
            order[j] = j;
            buffers[j] = (struct policy_buffer){1 + draw(&seed, 9), 1, start,
                                                start + 1 + draw(&seed, 6)};
        }
        is_placed(plan(&unlimited, buffers, COUNT));
        ck_assert_uint_eq(high_water.logical_high_water_bytes,
                          least_high_water(buffers, COUNT, order, 0, 0, lows));
    }
}
END_TEST

START_TEST(a_plan_does_not_depend_on_what_its_memory_held)
{
    enum { COUNT = 200 };
    static struct policy_buffer buffers[COUNT];
    static uint64_t first[COUNT];
    uint64_t seed = 14;
    draw_buffers(&seed, buffers, COUNT);
    for (int fill = 0; fill <= 255; fill += 85) {
        memset(ranks, fill, sizeof ranks);
        memset(places, fill, sizeof places);
        memset(work_offsets, fill, sizeof work_offsets);
        is_placed(plan(&unlimited, buffers, COUNT));
        if (fill == 0)
            memcpy(first, offsets, sizeof first);
        ck_assert_mem_eq(first, offsets, sizeof first);
    }
}
END_TEST

/* Refuses, leaves the results as they were, and places the next plan. */
static struct policy_placement_verdict refuses(const struct policy_space *space,
                                               const struct policy_buffer *buffers,
                                               size_t count, size_t buffer,
                                               enum policy_verdict_kind kind)
{
    static const struct policy_buffer next = {10, 1, 0, 1};
    static uint64_t offsets_before[MOST_BUFFERS];
    struct policy_high_water high_water_before;
    memset(offsets, 0xa5, sizeof offsets);
    memset(&high_water, 0x5a, sizeof high_water);
    memcpy(offsets_before, offsets, sizeof offsets);
    memcpy(&high_water_before, &high_water, sizeof high_water);
    struct policy_placement_verdict verdict = plan(space, buffers, count);
    ck_assert_int_eq(verdict.verdict.kind, kind);
    ck_assert_uint_eq(verdict.buffer, buffer);
    ck_assert_mem_eq(offsets, offsets_before, sizeof offsets);
    ck_assert_mem_eq(&high_water, &high_water_before, sizeof high_water);
    is_placed(plan(&unlimited, &next, 1));
    ck_assert_uint_eq(offsets[0], 0);
    high_water_is(10, 10, 10);
    return verdict;
}

START_TEST(a_refusal_leaves_everything_as_it_was_and_the_next_plan_is_placed)
{
    static const struct policy_buffer buffers[] = {
        {60, 1, 0, 2}, {30, 1, 0, 2}, {20, 1, 1, 3}};
    struct policy_space space = unlimited;
    space.capacity_bytes = 109;
    struct policy_placement_verdict verdict =
        refuses(&space, buffers, 3, 2, POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(verdict.offset, 90);
    ck_assert_uint_eq(verdict.verdict.short_bytes, 1);
    ck_assert_uint_eq(verdict.peak_live_bytes, 110);
    space = unlimited;
    space.largest_address = 109;
    refuses(&space, buffers, 3, 2, POLICY_ADDRESS_BEYOND);
    space = unlimited;
    space.external_peak_bytes = UINT64_MAX - 109;
    refuses(&space, buffers, 3, 2, POLICY_SIZE_OVERFLOW);
}
END_TEST

START_TEST(a_request_of_21_in_tens_beside_75_of_100_is_refused)
{
    static const struct policy_buffer buffers[] = {{75, 1, 0, 2}, {21, 10, 1, 2}};
    struct policy_space space = unlimited;
    space.capacity_bytes = 100;
    struct policy_placement_verdict verdict =
        refuses(&space, buffers, 2, 0, POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(verdict.peak_live_bytes, 105);
    space.capacity_bytes = 105;
    is_placed(plan(&space, buffers, 2));
}
END_TEST

START_TEST(the_lowest_buffer_that_does_not_fit_is_named)
{
    static const struct policy_buffer buffers[] = {
        {10, 1, 0, 2}, {30, 1, 0, 2}, {20, 1, 0, 2}, {10, 1, 0, 2}};
    struct policy_space space = unlimited;
    space.capacity_bytes = 35;
    struct policy_placement_verdict verdict =
        refuses(&space, buffers, 4, 2, POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(verdict.offset, 30);
    ck_assert_uint_eq(verdict.verdict.short_bytes, 15);
}
END_TEST

START_TEST(what_no_order_could_mend_is_refused_first)
{
    static const struct policy_buffer no_alignment[] = {{1, 1, 0, 1}, {1, 0, 0, 1}};
    static const struct policy_buffer no_life[] = {{1, 1, 0, 1}, {1, 1, 3, 3}};
    static const struct policy_buffer ends_before[] = {{1, 1, 0, 1}, {1, 1, 3, 2}};
    static const struct policy_buffer too_large[] = {{1, 1, 0, 1}, {UINT64_MAX, 2, 0, 1}};
    refuses(&unlimited, no_alignment, 2, 1, POLICY_MALFORMED);
    refuses(&unlimited, no_life, 2, 1, POLICY_MALFORMED);
    refuses(&unlimited, ends_before, 2, 1, POLICY_MALFORMED);
    refuses(&unlimited, too_large, 2, 1, POLICY_SIZE_OVERFLOW);
}
END_TEST

START_TEST(a_space_that_cannot_be_used_is_refused_itself)
{
    static const struct policy_buffer buffer = {1, 1, 0, 1};
    struct policy_space space = unlimited;
    space.unit_bytes = 0;
    refuses(&space, &buffer, 1, 1, POLICY_MALFORMED);
    space = unlimited;
    space.base = 16;
    space.largest_address = 15;
    refuses(&space, &buffer, 1, 1, POLICY_ADDRESS_BEYOND);
    space = unlimited;
    space.capacity_bytes = 10;
    space.external_peak_bytes = 11;
    refuses(&space, &buffer, 1, 1, POLICY_OVER_CAPACITY);
}
END_TEST

START_TEST(more_live_than_64_bits_can_count_is_refused)
{
    static const struct policy_buffer halves[] = {{UINT64_C(1) << 63, 1, 0, 2},
                                                  {UINT64_C(1) << 63, 1, 1, 3}};
    struct policy_placement_verdict verdict =
        refuses(&unlimited, halves, 2, 1, POLICY_ADDRESS_BEYOND);
    ck_assert_uint_eq(verdict.peak_live_bytes, UINT64_MAX);
    ck_assert_uint_eq(verdict.offset, UINT64_C(1) << 63);
    struct policy_space space = unlimited;
    space.largest_address = UINT64_MAX - 5;
    verdict = refuses(&space, halves, 2, 1, POLICY_ADDRESS_BEYOND);
    ck_assert_uint_eq(verdict.verdict.limit_bytes, UINT64_MAX - 5);
}
END_TEST

START_TEST(an_address_that_cannot_be_aligned_is_refused)
{
    static const struct policy_buffer nothing = {0, 16, 0, 1};
    struct policy_space space = unlimited;
    space.base = UINT64_MAX - 4;
    refuses(&space, &nothing, 1, 0, POLICY_SIZE_OVERFLOW);
}
END_TEST

SUITE_MAIN("policy/placement", buffers_that_live_together_share_no_address,
           limits_are_kept_or_the_plan_is_refused, a_buffer_may_begin_where_another_ends,
           the_four_numbers_are_four, a_plan_of_nothing_takes_nothing,
           one_buffer_may_take_all_that_64_bits_address, small_plans_are_as_low_as_can_be,
           a_plan_does_not_depend_on_what_its_memory_held,
           a_refusal_leaves_everything_as_it_was_and_the_next_plan_is_placed,
           a_request_of_21_in_tens_beside_75_of_100_is_refused,
           the_lowest_buffer_that_does_not_fit_is_named,
           what_no_order_could_mend_is_refused_first,
           a_space_that_cannot_be_used_is_refused_itself,
           more_live_than_64_bits_can_count_is_refused,
           an_address_that_cannot_be_aligned_is_refused)

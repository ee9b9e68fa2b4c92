/* Defends: no size ever wraps. Small ranges are tried exhaustively against counts that
   were worked out with unbounded integers, and the far end of 64 bits by hand. */
#include "policy/checked.h"

#include "tests/suite.h"

/* How many (value, unit) with value in 0..maximum and unit in 1..maximum can be aligned. */
static unsigned count_aligned(uint64_t maximum)
{
    unsigned accepted_count = 0;
    for (uint64_t value = 0; value <= maximum; value++) {
        for (uint64_t unit = 1; unit <= maximum; unit++) {
            uint64_t aligned;
            if (!policy_checked_align_up(value, unit, maximum, &aligned))
                continue;
            ck_assert_uint_eq(aligned % unit, 0);
            ck_assert_uint_ge(aligned, value);
            ck_assert_uint_lt(aligned - value, unit);
            ck_assert_uint_le(aligned, maximum);
            accepted_count++;
        }
    }
    return accepted_count;
}

static unsigned count_ranges(uint64_t maximum)
{
    unsigned accepted_count = 0;
    for (uint64_t start = 0; start <= maximum; start++)
        for (uint64_t bytes = 0; bytes <= maximum; bytes++)
            accepted_count += policy_checked_range(start, bytes, maximum);
    return accepted_count;
}

/* Placing a size at a start: the size is aligned first, and what it becomes must lie
   within the range. */
static bool placed(uint64_t start, uint64_t bytes, uint64_t unit, uint64_t maximum)
{
    uint64_t aligned;
    return policy_checked_align_up(bytes, unit, maximum, &aligned) &&
           policy_checked_range(start, aligned, maximum);
}

static unsigned count_placed(uint64_t maximum)
{
    unsigned accepted_count = 0;
    for (uint64_t start = 0; start <= maximum; start++)
        for (uint64_t bytes = 0; bytes <= maximum; bytes++)
            for (uint64_t unit = 0; unit <= maximum; unit++)
                accepted_count += placed(start, bytes, unit, maximum);
    return accepted_count;
}

START_TEST(alignment_takes_any_unit_and_stops_at_the_maximum)
{
    uint64_t aligned;
    ck_assert(policy_checked_align_up(27, 10, 30, &aligned));
    ck_assert_uint_eq(aligned, 30);
    ck_assert(!policy_checked_align_up(27, 10, 29, &aligned));
    ck_assert(policy_checked_align_up(27, 1, 29, &aligned));
    ck_assert_uint_eq(aligned, 27);
    ck_assert(policy_checked_align_up(0, 4096, 29, &aligned));
    ck_assert_uint_eq(aligned, 0);
}
END_TEST

START_TEST(alignment_to_zero_is_refused)
{
    uint64_t aligned = 5;
    ck_assert(!policy_checked_align_up(0, 0, UINT64_MAX, &aligned));
    ck_assert(!policy_checked_align_up(27, 0, UINT64_MAX, &aligned));
    ck_assert_uint_eq(aligned, 5);
}
END_TEST

START_TEST(alignment_at_the_end_of_64_bits_is_refused_not_wrapped)
{
    uint64_t aligned = 5;
    ck_assert(!policy_checked_align_up(UINT64_MAX, 2, UINT64_MAX, &aligned));
    ck_assert(!policy_checked_align_up(UINT64_MAX - 4094, 4096, UINT64_MAX, &aligned));
    ck_assert_uint_eq(aligned, 5);
    ck_assert(policy_checked_align_up(UINT64_MAX, 1, UINT64_MAX, &aligned));
    ck_assert_uint_eq(aligned, UINT64_MAX);
    ck_assert(policy_checked_align_up(1, UINT64_MAX, UINT64_MAX, &aligned));
    ck_assert_uint_eq(aligned, UINT64_MAX);
}
END_TEST

START_TEST(every_small_alignment_agrees_with_unbounded_arithmetic)
{
    ck_assert_uint_eq(count_aligned(29), 30 * 29 - 151);
    ck_assert_uint_eq(count_aligned(29), 719);
    ck_assert_uint_eq(count_aligned(255), 256 * 255 - 11459);
    ck_assert_uint_eq(count_aligned(255), 53821);
}
END_TEST

START_TEST(a_range_may_end_at_the_maximum_and_no_further)
{
    ck_assert(policy_checked_range(15, 0, 15));
    ck_assert(!policy_checked_range(15, 1, 15));
    ck_assert(!policy_checked_range(16, 0, 15));
    ck_assert(policy_checked_range(5, 10, 15));
    ck_assert(policy_checked_range(UINT64_MAX, 0, UINT64_MAX));
    ck_assert(!policy_checked_range(UINT64_MAX, 1, UINT64_MAX));
    ck_assert(!policy_checked_range(2, UINT64_MAX, UINT64_MAX));
}
END_TEST

START_TEST(every_small_range_agrees_with_unbounded_arithmetic)
{
    ck_assert_uint_eq(count_ranges(15), 136);
    ck_assert_uint_eq(count_ranges(255), 32896);
}
END_TEST

START_TEST(every_small_placement_agrees_with_unbounded_arithmetic)
{
    ck_assert_uint_eq(count_placed(15), 1296);
    ck_assert_uint_eq(count_placed(31), 9715);
}
END_TEST

START_TEST(a_sum_beyond_64_bits_is_refused_and_leaves_the_result)
{
    uint64_t sum = 5;
    ck_assert(!policy_checked_add(UINT64_MAX, 1, &sum));
    ck_assert_uint_eq(sum, 5);
    ck_assert(policy_checked_add(UINT64_MAX - 1, 1, &sum));
    ck_assert_uint_eq(sum, UINT64_MAX);
}
END_TEST

START_TEST(a_product_beyond_64_bits_is_refused_and_leaves_the_result)
{
    uint64_t product = 5;
    ck_assert(!policy_checked_multiply(UINT64_C(1) << 32, UINT64_C(1) << 32, &product));
    ck_assert_uint_eq(product, 5);
    ck_assert(policy_checked_multiply(UINT64_MAX / 3, 3, &product));
    ck_assert_uint_eq(product, UINT64_MAX);
    ck_assert(policy_checked_multiply(UINT64_MAX, 0, &product));
    ck_assert_uint_eq(product, 0);
}
END_TEST

SUITE_MAIN("policy/checked", alignment_takes_any_unit_and_stops_at_the_maximum,
           alignment_to_zero_is_refused,
           alignment_at_the_end_of_64_bits_is_refused_not_wrapped,
           every_small_alignment_agrees_with_unbounded_arithmetic,
           a_range_may_end_at_the_maximum_and_no_further,
           every_small_range_agrees_with_unbounded_arithmetic,
           every_small_placement_agrees_with_unbounded_arithmetic,
           a_sum_beyond_64_bits_is_refused_and_leaves_the_result,
           a_product_beyond_64_bits_is_refused_and_leaves_the_result)

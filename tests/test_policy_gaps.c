/* Defends: a buffer gets the smallest gap that holds it, its alignment included, between
   places whose lives meet its own; places stay sorted. */
#include "policy/gaps.h"

#include "tests/suite.h"

enum { MOST = 8 };

static struct policy_place places[MOST];
static size_t count;

/* Takes [address, end_address) from moment `start` to `end`. */
static void take(uint64_t address, uint64_t end_address, uint64_t start, uint64_t end)
{
    policy_gaps_insert(places, count,
                       (struct policy_place){address, end_address, start, end, count});
    count++;
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_le(places[i - 1].address, places[i].address);
}

static void setup(void)
{
    count = 0;
}

/* Where a buffer that lives through all of it goes. */
static uint64_t gap_for(uint64_t bytes, uint64_t alignment, uint64_t base)
{
    struct policy_buffer buffer = {bytes, alignment, 0, 100};
    return policy_gaps_find(places, count, base, &buffer);
}

/* Gaps of 30 at 10, 10 at 50, 20 at 70, and the open one at 100. */
static void take_with_gaps(void)
{
    take(40, 50, 0, 100);
    take(0, 10, 0, 100);
    take(90, 100, 0, 100);
    take(60, 70, 0, 100);
}

START_TEST(the_first_buffer_lies_at_the_base)
{
    ck_assert_uint_eq(gap_for(10, 1, 0), 0);
    ck_assert_uint_eq(gap_for(10, 1, 4096), 4096);
}
END_TEST

START_TEST(the_smallest_gap_that_holds_the_buffer_is_taken)
{
    take_with_gaps();
    ck_assert_uint_eq(gap_for(1, 1, 0), 50);
    ck_assert_uint_eq(gap_for(10, 1, 0), 50);
    ck_assert_uint_eq(gap_for(11, 1, 0), 70);
    ck_assert_uint_eq(gap_for(20, 1, 0), 70);
    ck_assert_uint_eq(gap_for(21, 1, 0), 10);
    ck_assert_uint_eq(gap_for(30, 1, 0), 10);
    ck_assert_uint_eq(gap_for(31, 1, 0), 100);
}
END_TEST

START_TEST(the_lowest_of_equal_gaps_is_taken)
{
    take(10, 20, 0, 100);
    take(30, 40, 0, 100);
    ck_assert_uint_eq(gap_for(10, 1, 0), 0);
}
END_TEST

START_TEST(a_gap_too_small_for_the_alignment_is_passed_over)
{
    take_with_gaps();
    ck_assert_uint_eq(gap_for(6, 6, 0), 50);  /* [54, 60) */
    ck_assert_uint_eq(gap_for(9, 9, 0), 70);  /* [54, 63) would not fit, [72, 81) does */
    ck_assert_uint_eq(gap_for(9, 13, 0), 10); /* nor [78, 91), but [13, 26) */
    ck_assert_uint_eq(gap_for(1, 64, 0), 100);
}
END_TEST

START_TEST(places_of_other_times_are_not_in_the_way)
{
    take(0, 10, 0, 5);
    take(0, 30, 20, 30);
    struct policy_buffer between = {10, 1, 5, 20};
    ck_assert_uint_eq(policy_gaps_find(places, count, 0, &between), 0);
    struct policy_buffer before = {10, 1, 4, 20};
    ck_assert_uint_eq(policy_gaps_find(places, count, 0, &before), 10);
    struct policy_buffer after = {10, 1, 5, 21};
    ck_assert_uint_eq(policy_gaps_find(places, count, 0, &after), 30);
}
END_TEST

START_TEST(no_gap_is_seen_below_a_place_that_reaches_over_the_next)
{
    take(0, 50, 0, 60);
    take(10, 20, 60, 100);
    ck_assert_uint_eq(gap_for(10, 1, 0), 50);
}
END_TEST

START_TEST(a_buffer_reserves_its_size_in_whole_alignments)
{
    struct policy_buffer buffer = {27, 10, 0, 1};
    ck_assert_uint_eq(policy_buffer_reserved(&buffer), 30);
}
END_TEST

SUITE_MAIN_WITH("policy/gaps", setup, NULL, the_first_buffer_lies_at_the_base,
                the_smallest_gap_that_holds_the_buffer_is_taken,
                the_lowest_of_equal_gaps_is_taken,
                a_gap_too_small_for_the_alignment_is_passed_over,
                places_of_other_times_are_not_in_the_way,
                no_gap_is_seen_below_a_place_that_reaches_over_the_next,
                a_buffer_reserves_its_size_in_whole_alignments)

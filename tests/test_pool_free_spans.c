/* Defends: free spans tile what is not live, each with its length at both ends and in one
   list; a span that is put beside free ones becomes one with those of its own state; what fits
   best is taken from the front, out of several spans where no single one is enough; the dirty
   granules, and the fewest there were in a window, are counted exactly. */
#include "tests/free_spans_fixture.h"

START_TEST(a_span_is_taken_out_whole_in_the_state_in_which_it_was_put)
{
    put(10, 7, POOL_FREE);
    put(20, 1, POOL_CLEAN);
    put(30, 600, POOL_CLEAN);
    span_is(10, 7, POOL_FREE);
    span_is(20, 1, POOL_CLEAN);
    span_is(30, 600, POOL_CLEAN);
    holds(3, 7);
    ck_assert_int_eq(pool_free_spans_take(&spans, 10), POOL_FREE);
    ck_assert_int_eq(pool_free_spans_take(&spans, 30), POOL_CLEAN);
    holds(1, 0);
    for (uint32_t index = 0; index < END; index++)
        ck_assert_int_eq(pool_free_span_at(&spans, index), index == 20);
}
END_TEST

START_TEST(spans_of_one_list_are_taken_out_in_any_order)
{
    const uint32_t orders[][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                  {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    for (unsigned order = 0; order < 6; order++) {
        for (uint32_t i = 1; i <= 3; i++)
            put(20 * i, 8 + i / 3, POOL_FREE); /* 8, 8 and 9 are listed together */
        for (unsigned i = 0; i < 3; i++) {
            ck_assert_int_eq(pool_free_spans_take(&spans, 20 * orders[order][i]),
                             POOL_FREE);
            uint32_t count = 0;
            ck_assert(pool_free_spans_valid(&spans, &count));
            ck_assert_uint_eq(count, 2 - i);
        }
        holds(0, 0);
    }
}
END_TEST

START_TEST(a_span_becomes_one_with_its_neighbours_of_the_same_state_and_with_no_others)
{
    const enum pool_state states[] = {POOL_FREE, POOL_CLEAN};
    for (unsigned i = 0; i < 8; i++) {
        enum pool_state before = states[i & 1], own = states[i >> 1 & 1],
                        behind = states[i >> 2];
        uint32_t start = before == own ? 10 : 15, end = behind == own ? 25 : 19;
        setup();
        put(10, 5, before);
        put(19, 6, behind);
        ck_assert_uint_eq(pool_free_spans_merge(&spans, 15, 4, own, END), start);
        span_is(start, end - start, own);
        if (before != own)
            span_is(10, 5, before);
        if (behind != own)
            span_is(19, 6, behind);
        holds(1u + (before != own) + (behind != own), (before == POOL_FREE ? 5u : 0) +
                                                          (own == POOL_FREE ? 4u : 0) +
                                                          (behind == POOL_FREE ? 6u : 0));
    }
}
END_TEST

START_TEST(what_is_not_free_and_what_lies_behind_the_end_is_merged_with_nothing)
{
    POOL_SET(&records[9], state, POOL_LIVE);
    POOL_SET(&records[14], state, POOL_IDLE);
    merge(10, 4, POOL_FREE);
    span_is(10, 4, POOL_FREE);
    put(1, 2, POOL_FREE);
    put(40, 3, POOL_FREE);
    pool_free_spans_merge(&spans, 36, 4, POOL_FREE, 40);
    span_is(36, 4, POOL_FREE);
    holds(4, 13);
    merge(3, 2, POOL_FREE); /* down to granule 1, and no further */
    span_is(1, 4, POOL_FREE);
    holds(4, 15);
}
END_TEST

START_TEST(the_best_fit_is_the_smallest_and_of_equals_the_one_at_the_lowest_address)
{
    put(100, 9, POOL_CLEAN);
    put(200, 8, POOL_FREE);
    put(300, 10, POOL_FREE);
    put(50, 9, POOL_FREE);
    put(400, 64, POOL_FREE);
    fit_gives(9, 50, false);
    fit_gives(9, 100, true);
    fit_gives(9, 300, false);
    span_is(309, 1, POOL_FREE);
    fit_gives(9, 400, false);
    span_is(409, 55, POOL_FREE);
    fit_gives(8, 200, false);
    holds(2, 56);
    bool fresh = true;
    ck_assert_uint_eq(fit_and_take(56, END, &fresh), 0);
    ck_assert(fresh); /* written only where a span fits */
    holds(2, 56);
}
END_TEST

START_TEST(the_rest_of_a_span_keeps_its_state)
{
    put(10, 100, POOL_CLEAN);
    fit_gives(30, 10, true);
    span_is(40, 70, POOL_CLEAN);
    fit_gives(70, 40, true);
    holds(0, 0);
}
END_TEST

START_TEST(spans_side_by_side_serve_together_what_none_of_them_can)
{
    put(10, 5, POOL_FREE);
    put(15, 6, POOL_CLEAN);
    put(21, 4, POOL_FREE);
    put(40, 7, POOL_CLEAN);
    put(47, 5, POOL_FREE);
    put(60, 7, POOL_FREE);
    fit_gives(11, 40, false); /* 12 are fewer than 15 */
    span_is(51, 1, POOL_FREE);
    fit_gives(14, 10, false);
    span_is(24, 1, POOL_FREE);
    bool fresh;
    ck_assert_uint_eq(fit_and_take(8, END, &fresh), 0); /* 7 and 1 and 1 */
    holds(3, 9);
}
END_TEST

START_TEST(a_span_that_fits_exactly_is_taken_alone_and_another_from_the_front_of_its_run)
{
    put(10, 5, POOL_FREE);
    put(15, 6, POOL_CLEAN);
    fit_gives(6, 15, true);
    holds(1, 5);
    merge(15, 6, POOL_CLEAN);
    fit_gives(3, 10, false);
    span_is(13, 2, POOL_FREE);
    fit_gives(4, 13, false);
    span_is(17, 4, POOL_CLEAN);
    fit_gives(3, 17, true);
    holds(1, 0);
}
END_TEST

START_TEST(what_reads_as_zero_is_counted_within_a_stretch)
{
    put(10, 5, POOL_FREE);
    put(15, 6, POOL_CLEAN);
    put(21, 4, POOL_FREE);
    put(25, 2, POOL_CLEAN);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 10, 17), 8);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 10, 5), 0);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 10, 8), 3);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 15, 1), 1);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 21, 5), 1);
    ck_assert_uint_eq(pool_free_spans_clean(&spans, 25, 0), 0);
    holds(4, 9);
}
END_TEST

START_TEST(a_run_ends_at_what_is_not_free_and_at_the_end)
{
    put(10, 5, POOL_FREE);
    put(15, 6, POOL_CLEAN);
    put(21, 4, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_start(&spans, 25), 10);
    ck_assert_uint_eq(pool_free_spans_start(&spans, 15), 10);
    ck_assert_uint_eq(pool_free_spans_start(&spans, 10), 10);
    ck_assert_uint_eq(pool_free_spans_start(&spans, 30), 30);
    bool fresh = true;
    ck_assert_uint_eq(fit_and_take(12, 21, &fresh), 0);
    ck_assert_uint_eq(fit_and_take(12, 25, &fresh), 10);
    ck_assert(!fresh);
    span_is(22, 3, POOL_FREE);
}
END_TEST

START_TEST(what_is_taken_from_the_front_is_clean_if_all_of_it_was)
{
    put(10, 5, POOL_CLEAN);
    put(15, 6, POOL_FREE);
    ck_assert(pool_free_spans_take_front(&spans, 10, 0));
    ck_assert(pool_free_spans_take_front(&spans, 10, 5));
    holds(1, 6);
    merge(10, 5, POOL_CLEAN);
    ck_assert(!pool_free_spans_take_front(&spans, 10, 6));
    span_is(16, 5, POOL_FREE);
    holds(1, 5);
}
END_TEST

START_TEST(a_tail_that_was_cleaned_joins_the_clean_spans_beside_it_and_no_other)
{
    put(10, 20, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, 10, 5, END), 25);
    span_is(10, 15, POOL_FREE);
    span_is(25, 5, POOL_CLEAN);
    holds(2, 15);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, 10, 3, END), 22);
    span_is(10, 12, POOL_FREE);
    span_is(22, 8, POOL_CLEAN);
    holds(2, 12);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, 10, 12, END), 10);
    span_is(10, 20, POOL_CLEAN);
    holds(1, 0);
    put(30, 4, POOL_FREE);
    put(34, 2, POOL_CLEAN);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, 30, 4, END), 10);
    span_is(10, 26, POOL_CLEAN);
    holds(1, 0);
    put(50, 4, POOL_FREE);
    put(54, 4, POOL_CLEAN);
    put(58, 4, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, 50, 4, 54), 50);
    span_is(50, 4, POOL_CLEAN); /* what lies behind the end is not looked at */
    setup();
}
END_TEST

START_TEST(the_last_dirty_span_is_the_one_at_the_highest_address)
{
    ck_assert_uint_eq(pool_free_spans_last_dirty(&spans), 0);
    put(500, 9, POOL_CLEAN);
    ck_assert_uint_eq(pool_free_spans_last_dirty(&spans), 0);
    put(100, 64, POOL_FREE);
    put(300, 1, POOL_FREE);
    put(200, 2, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_last_dirty(&spans), 300);
    (void)pool_free_spans_clean_tail(&spans, 300, 1, END);
    ck_assert_uint_eq(pool_free_spans_last_dirty(&spans), 200);
}
END_TEST

START_TEST(what_nobody_needed_is_the_fewest_dirty_granules_of_the_window)
{
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 0);
    merge(10, 20, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 0); /* there were none at first */
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 20);
    fit_gives(12, 10, false);
    merge(10, 12, POOL_FREE);
    merge(100, 5, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 8);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 25);
}
END_TEST

START_TEST(what_became_dirty_after_all_was_given_back_was_needed_in_the_window)
{
    merge(10, 20, POOL_FREE);
    (void)pool_free_spans_unneeded(&spans);
    (void)pool_free_spans_clean_tail(&spans, 10, 20, END);
    merge(100, 5, POOL_FREE);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 0);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans), 5);
}
END_TEST

SUITE_MAIN_WITH(
    "pool/free_spans", setup, teardown,
    a_span_is_taken_out_whole_in_the_state_in_which_it_was_put,
    spans_of_one_list_are_taken_out_in_any_order,
    a_span_becomes_one_with_its_neighbours_of_the_same_state_and_with_no_others,
    what_is_not_free_and_what_lies_behind_the_end_is_merged_with_nothing,
    the_best_fit_is_the_smallest_and_of_equals_the_one_at_the_lowest_address,
    the_rest_of_a_span_keeps_its_state,
    spans_side_by_side_serve_together_what_none_of_them_can,
    a_span_that_fits_exactly_is_taken_alone_and_another_from_the_front_of_its_run,
    what_reads_as_zero_is_counted_within_a_stretch,
    a_run_ends_at_what_is_not_free_and_at_the_end,
    what_is_taken_from_the_front_is_clean_if_all_of_it_was,
    a_tail_that_was_cleaned_joins_the_clean_spans_beside_it_and_no_other,
    the_last_dirty_span_is_the_one_at_the_highest_address,
    what_nobody_needed_is_the_fewest_dirty_granules_of_the_window,
    what_became_dirty_after_all_was_given_back_was_needed_in_the_window)

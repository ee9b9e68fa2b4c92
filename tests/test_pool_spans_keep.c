/* Defends: memory goes back to the source when that is asked for, or when nobody needed it
   for a window, coldest first, and never from under a live block; what was given back reads
   as zero and is said to be fresh, and nothing else is; around a fork idle memory is neither
   copied nor lost to the parent. */
#include "tests/spans_fixture.h"

START_TEST(trimming_gives_back_what_is_not_live_and_only_that)
{
    claim_written(2, 1);
    claim_written(4, 3);
    claim_written(8, 7);
    claim_written(1, 15);
    give_back(3);
    give_back(7);
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(12));
    ck_assert_uint_eq(fake_discards(), 1);
    ck_assert_uint_eq(fake_discarded(), bytes_of(12));
    ck_assert_int_eq(address_of(3)[-1], 1);
    ck_assert_int_eq(address_of(15)[0], 1);
    ck_assert_uint_eq(pool_spans_trim(&spans), 0);
    ck_assert_uint_eq(fake_discards(), 1);
    claim_gives_fresh(12, 3, true);
    figures_are(0, 1, 4);
}
END_TEST

START_TEST(the_rest_of_a_trimmed_span_stays_fresh)
{
    claim_written(12, 1);
    claim_written(1, 13);
    give_back(1);
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(12));
    claim_gives_fresh(4, 1, true);
    claim_gives_fresh(8, 5, true);
}
END_TEST

START_TEST(a_trimmed_span_that_merges_with_a_returned_block_is_not_fresh)
{
    const uint32_t returned_last[] = {1, 5, 9};
    for (unsigned i = 0; i < 3; i++) {
        setup();
        for (uint32_t index = 1; index <= 9; index += 4)
            claim_written(4, index);
        claim_written(1, 13);
        for (uint32_t index = 1; index <= 9; index += 4)
            if (index != returned_last[i])
                give_back(index);
        ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(8));
        give_back(returned_last[i]);
        claim_gives_fresh(12, 1, false);
    }
}
END_TEST

START_TEST(a_trimmed_span_at_the_end_makes_a_fresh_block)
{
    claim_written(1, 1);
    claim_written(4, 2);
    give_back(2);
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(4));
    claim_gives_fresh(16, 2, true);
    ck_assert_uint_eq(POOL_GET(&spans, top), 18);
}
END_TEST

START_TEST(a_span_that_the_source_does_not_take_back_is_not_fresh)
{
    claim_written(4, 1);
    claim_written(1, 5);
    give_back(1);
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_spans_trim(&spans), 0);
    claim_gives_fresh(4, 1, false);
    give_back(1);
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(4));
}
END_TEST

START_TEST(a_span_that_the_source_keeps_does_not_keep_the_others)
{
    claim_written(4, 1);
    claim_written(1, 5);
    claim_written(4, 6);
    claim_written(1, 10);
    give_back(1);
    give_back(6);
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(4));
    ck_assert_uint_eq(fake_discards(), 2);
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(4));
}
END_TEST

/* Ages once so that a window begins, and asserts that nothing was due yet. */
static void begin_window(void)
{
    ck_assert_uint_eq(pool_spans_age(&spans), 0);
}

START_TEST(an_idle_block_that_nobody_needed_for_a_window_goes_back)
{
    claim_written(4, 1);
    claim_written(1, 5);
    give_back(1);
    begin_window();
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(4));
    ck_assert_uint_eq(fake_discarded(), bytes_of(4));
    ck_assert_uint_eq(pool_spans_age(&spans), 0);
    claim_gives_fresh(4, 1, true);
}
END_TEST

START_TEST(a_block_that_is_used_in_every_window_stays)
{
    claim_written(4, 1);
    give_back(1);
    begin_window();
    for (unsigned window = 0; window < 5; window++) {
        claim_gives_fresh(4, 1, false);
        give_back(1);
        ck_assert_uint_eq(pool_spans_age(&spans), 0);
    }
    ck_assert_uint_eq(fake_discards(), 0);
}
END_TEST

START_TEST(of_idle_blocks_the_coldest_go_back)
{
    for (uint32_t index = 1; index <= 9; index += 2) {
        claim_written(1, index);
        claim_written(1, index + 1);
    }
    for (uint32_t index = 1; index <= 9; index += 2)
        give_back(index);
    begin_window();
    /* Two of five are needed at once in this window: those on top. */
    claim_gives(1, 9);
    claim_gives(1, 7);
    give_back(7);
    give_back(9);
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(3));
    for (uint32_t index = 1; index <= 9; index += 2)
        ck_assert_int_eq(state_of(index), index >= 7 ? POOL_IDLE : POOL_CLEAN);
    claim_gives_fresh(1, 9, false);
    claim_gives_fresh(1, 7, false);
    claim_gives_fresh(1, 1, true);
}
END_TEST

START_TEST(a_block_that_the_source_keeps_is_free_and_not_fresh)
{
    claim_written(4, 1);
    claim_written(1, 5);
    give_back(1);
    begin_window();
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_spans_age(&spans), 0);
    claim_gives_fresh(4, 1, false);
}
END_TEST

/* Leaves a free span of 19 granules at 2, of which 9 were needed at once in a window that
   is not over. */
static void need_9_of_19(void)
{
    claim_written(20, 1);
    claim_written(1, 21);
    claim_written(4, 22);
    claim_written(1, 26);
    give_back(1);
    claim_gives(1, 1);
    begin_window();
    claim_gives(9, 2);
    give_back(2);
    claim_gives(64, 27); /* drains the bins: the 9 join the others */
}

START_TEST(of_a_free_span_the_end_that_nobody_needed_goes_back)
{
    need_9_of_19();
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(10));
    ck_assert(pool_spans_valid(&spans));
    claim_gives_fresh(9, 2, false);
    claim_gives_fresh(10, 11, true);
}
END_TEST

START_TEST(a_free_span_whose_end_went_back_is_one_again_when_all_of_it_did)
{
    need_9_of_19();
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(10));
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(9));
    ck_assert(pool_spans_valid(&spans));
    claim_gives(19, 2);
}
END_TEST

START_TEST(ends_that_went_back_in_two_windows_are_one_clean_span)
{
    need_9_of_19();
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(10));
    give_back(22);
    claim_gives(64, 91); /* drains: 4 more are free, and 9 of the 13 were not needed */
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(9));
    ck_assert(pool_spans_valid(&spans));
    claim_gives_fresh(15, 6, true);
    claim_gives_fresh(4, 2, false);
    claim_gives_fresh(4, 22, true);
}
END_TEST

START_TEST(a_block_returned_beside_a_span_in_two_parts_makes_it_one)
{
    need_9_of_19();
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(10));
    give_back(1);
    claim_gives(64, 91); /* drains */
    ck_assert(pool_spans_valid(&spans));
    claim_gives(20, 1);
}
END_TEST

START_TEST(idle_bytes_are_those_of_blocks_and_spans_that_hold_memory)
{
    claim_written(4, 1);
    claim_written(8, 5);
    claim_written(1, 13);
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
    give_back(1);
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), bytes_of(4));
    give_back(5);
    claim_gives(2, 1); /* drains: a free span of 10 is left */
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), bytes_of(10));
    (void)pool_spans_trim(&spans);
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
}
END_TEST

START_TEST(an_area_that_was_shed_grows_no_further)
{
    claim_written(10, 1);
    size_t before = fake_reserved();
    pool_spans_shed(&spans);
    ck_assert_uint_eq(before - fake_reserved(), bytes_of(AREA_GRANULES - 64));
    pool_spans_shed(&spans);
    ck_assert_uint_eq(fake_releases(), 1);
    ck_assert_uint_eq(claim(56), 0);
    claim_written(48, 11);
    claim_written(5, 59);
    ck_assert_uint_eq(claim(1), 0);
    ck_assert_uint_eq(fake_enables(), 1);
    give_back(11);
    claim_written(48, 11);
}
END_TEST

static size_t huge_bytes(enum pool_huge huge, bool dense)
{
    setup();
    spans.huge = huge;
    POOL_SET(&spans, dense, dense);
    claim_gives(1, 1);
    claim_gives(64, 2);
    return fake_huge();
}

START_TEST(huge_pages_are_asked_for_behind_the_first_blocks_of_a_light_process)
{
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_AUTO, false), bytes_of(128 - 32));
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_AUTO, true), bytes_of(128));
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_ALWAYS, false), bytes_of(128));
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_NEVER, true), 0);
}
END_TEST

/* Forks; the child's exit status says whether `check` held there. */
static void fork_and_check(bool (*check)(void))
{
    pool_spans_fork_prepare(&spans);
    pid_t child = fork();
    pool_spans_fork_done(&spans, child == 0);
    if (child == 0)
        _exit(check() && pool_spans_valid(&spans) ? 0 : 1);
    int status;
    ck_assert_int_ge(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(pool_spans_valid(&spans));
}

static bool child_claims_and_returns(void)
{
    bool right = claim(5) == 6;
    give_back(1);
    return right && claim(5) == 1;
}

START_TEST(both_sides_of_a_fork_claim_and_return)
{
    claim_gives(5, 1);
    fork_and_check(child_claims_and_returns);
    claim_gives(5, 6);
    give_back(1);
    claim_gives(5, 1);
}
END_TEST

static bool child_has_live_and_no_idle_memory(void)
{
    bool due, fresh;
    return address_of(33)[0] == 1 && pool_spans_idle_bytes(&spans) == 0 &&
           pool_spans_claim(&spans, 32, &fresh, &due) == 1 && fresh &&
           address_of(1)[0] == 0 && address_of(33)[-1] == 0;
}

START_TEST(idle_memory_stays_with_the_parent_and_reads_as_zero_in_the_child)
{
    claim_written(32, 1);
    claim_written(1, 33);
    claim_written(15, 34); /* too short to be worth a mark */
    claim_written(1, 49);
    give_back(1);
    give_back(34);
    fork_and_check(child_has_live_and_no_idle_memory);
    ck_assert_uint_eq(fake_wipes(), 2); /* the mark, and its end */
    claim_gives(32, 1);
    ck_assert_int_eq(address_of(1)[0], 1);
    ck_assert_int_eq(address_of(33)[-1], 1);
}
END_TEST

START_TEST(idle_memory_that_could_not_be_marked_is_given_back_in_the_child)
{
    claim_written(32, 1);
    claim_written(1, 33);
    give_back(1);
    fake.refused_wipe = 1;
    fork_and_check(child_has_live_and_no_idle_memory);
    ck_assert_uint_eq(fake_wipes(), 1);
    claim_gives(32, 1);
    ck_assert_int_eq(address_of(1)[0], 1);
}
END_TEST

static bool child_claims_elsewhere(void)
{
    return claim(32) == 34;
}

START_TEST(a_span_whose_mark_cannot_be_taken_back_is_never_used_again)
{
    claim_written(32, 1);
    claim_written(1, 33);
    give_back(1);
    fake.refused_wipe = 2;
    fork_and_check(child_claims_elsewhere);
    claim_gives(32, 34);
    (void)pool_spans_trim(&spans);
    ck_assert_uint_eq(fake_discards(), 0);
}
END_TEST

START_TEST(a_little_idle_memory_is_not_worth_a_mark)
{
    claim_written(15, 1);
    claim_written(1, 16);
    give_back(1);
    pool_spans_fork_prepare(&spans);
    pool_spans_fork_done(&spans, false);
    ck_assert_uint_eq(fake_wipes(), 0);
    claim_gives_fresh(15, 1, false);
}
END_TEST

SUITE_MAIN_WITH("pool/spans_keep", setup, teardown,
                trimming_gives_back_what_is_not_live_and_only_that,
                the_rest_of_a_trimmed_span_stays_fresh,
                a_trimmed_span_that_merges_with_a_returned_block_is_not_fresh,
                a_trimmed_span_at_the_end_makes_a_fresh_block,
                a_span_that_the_source_does_not_take_back_is_not_fresh,
                a_span_that_the_source_keeps_does_not_keep_the_others,
                an_idle_block_that_nobody_needed_for_a_window_goes_back,
                a_block_that_is_used_in_every_window_stays,
                of_idle_blocks_the_coldest_go_back,
                a_block_that_the_source_keeps_is_free_and_not_fresh,
                of_a_free_span_the_end_that_nobody_needed_goes_back,
                a_free_span_whose_end_went_back_is_one_again_when_all_of_it_did,
                ends_that_went_back_in_two_windows_are_one_clean_span,
                a_block_returned_beside_a_span_in_two_parts_makes_it_one,
                idle_bytes_are_those_of_blocks_and_spans_that_hold_memory,
                an_area_that_was_shed_grows_no_further,
                huge_pages_are_asked_for_behind_the_first_blocks_of_a_light_process,
                both_sides_of_a_fork_claim_and_return,
                idle_memory_stays_with_the_parent_and_reads_as_zero_in_the_child,
                idle_memory_that_could_not_be_marked_is_given_back_in_the_child,
                a_span_whose_mark_cannot_be_taken_back_is_never_used_again,
                a_little_idle_memory_is_not_worth_a_mark)

/* Defends: where the area, its source, its bins or its lock come to their end, a request is
   refused and nothing else changes; and what would break the area traps. */
#include "tests/spans_fixture.h"

static uint32_t top(void)
{
    return POOL_GET(&spans, top);
}

START_TEST(the_area_becomes_writable_in_pieces_of_4_mib)
{
    claim_gives(63, 1);
    ck_assert_uint_eq(fake_enables(), 1);
    ck_assert_uint_eq(fake_enabled(), bytes_of(64));
    claim_gives(1, 64);
    ck_assert_uint_eq(fake_enables(), 2);
    claim_gives(63, 65);
    ck_assert_uint_eq(fake_enables(), 2);
    ck_assert_uint_eq(fake_enabled(), bytes_of(128));
    claim_written(129, 128); /* to granule 257, of which 128 are writable */
    ck_assert_uint_eq(fake_enables(), 3);
    ck_assert_uint_eq(fake_enabled(), bytes_of(320));
}
END_TEST

START_TEST(a_source_that_refuses_leaves_everything_as_it_was)
{
    bool due, fresh = true;
    claim_gives(32, 1);
    claim_gives(31, 33);
    give_back(33);
    fake_refuse_next_enable();
    ck_assert_uint_eq(pool_spans_claim(&spans, 128, &fresh, &due), 0);
    ck_assert(!fresh);
    ck_assert(pool_spans_valid(&spans));
    ck_assert_uint_eq(top(), 64);
    ck_assert_uint_eq(spans.enabled, 64);
    figures_are(0, 0, 2);
    claim_gives(31, 33);
    give_back(33);
    claim_gives(128, 33);
    figures_are(0, 1, 3);
}
END_TEST

START_TEST(an_exhausted_area_serves_again_after_a_return)
{
    for (unsigned i = 0; i < 8; i++)
        claim_gives(512, 1 + 512 * i);
    claim_gives(384, 4097);
    claim_gives(16, 4481);
    ck_assert_uint_eq(claim(4), 0);
    claim_written(3, 4497);
    ck_assert_uint_eq(claim(1), 0);
    ck_assert_uint_eq(top(), AREA_GRANULES);
    ck_assert_uint_eq(fake_enabled(), bytes_of(AREA_GRANULES));
    ck_assert(pool_spans_valid(&spans));
    give_back(4481);
    claim_gives(1, 4481);
    give_back(1025);
    claim_gives(512, 1025);
    figures_are(1, 1, 11);
}
END_TEST

START_TEST(the_end_of_the_area_is_usable_by_merging_into_it)
{
    open_area(100);
    claim_gives(64, 1);
    claim_gives(32, 65);
    ck_assert_uint_eq(claim(4), 0);
    give_back(65);
    ck_assert_uint_eq(claim(36), 0);
    claim_gives(35, 65);
    ck_assert_uint_eq(top(), 100);
    figures_are(0, 0, 3);
}
END_TEST

START_TEST(an_index_beyond_what_a_bin_can_name_is_never_used)
{
    memset(&spans, 0, sizeof(spans));
    pool_spans_open(&spans, NULL, UINT32_C(1) << POOL_INDEX_BITS, records, &fake_source);
    ck_assert_uint_eq(spans.limit, (1 << POOL_INDEX_BITS) - 1);
}
END_TEST

START_TEST(without_its_lock_the_area_serves_what_is_idle_and_nothing_else)
{
    claim_gives(1, 1);
    claim_gives(2, 2);
    claim_gives(4, 4);
    give_back(2);
    pthread_mutex_lock(&spans.lock.mutex); /* of somebody who never gives it back */
    claim_gives(2, 2);
    ck_assert_uint_eq(claim(2), 0);
    ck_assert_uint_eq(pool_spans_trim(&spans), 0);
    ck_assert_uint_eq(pool_spans_age(&spans), 0);
    pool_spans_shed(&spans);
    figures_are(0, 0, 0);
    give_back(1);
    claim_gives(1, 1);
    pthread_mutex_unlock(&spans.lock.mutex);
    claim_gives(2, 8);
    figures_are(2, 0, 4);
}
END_TEST

START_TEST(without_its_lock_a_block_that_finds_its_bin_full_is_forgotten)
{
    for (uint32_t index = 1; index <= POOL_BIN_MOST + 1; index++)
        claim_gives(1, index);
    for (uint32_t index = 1; index <= POOL_BIN_MOST; index++)
        give_back(index);
    pthread_mutex_lock(&spans.lock.mutex);
    give_back(POOL_BIN_MOST + 1);
    pthread_mutex_unlock(&spans.lock.mutex);
    ck_assert_uint_eq(pool_bin_idle(&spans.bins[0]), POOL_BIN_MOST);
    for (uint32_t index = POOL_BIN_MOST; index > 0; index--)
        claim_gives(1, index);
    claim_gives(1, POOL_BIN_MOST + 2);
}
END_TEST

static bool is_returned(uint32_t index)
{
    bool due;
    return pool_spans_return(&spans, index, &due);
}

START_TEST(a_return_of_what_is_not_live_is_refused_and_changes_nothing)
{
    claim_gives(4, 1);
    ck_assert(!is_returned(2));
    ck_assert(!is_returned(5));
    give_back(1);
    ck_assert(!is_returned(1));
    claim_gives(4, 1);
    claim_gives(4, 5);
    figures_are(1, 0, 2);
}
END_TEST

/* What a thread does that found the block live before another one returned it. */
static bool is_returned_late(uint32_t index)
{
    POOL_SET(&records[index], state, POOL_LIVE);
    return is_returned(index);
}

START_TEST(of_two_threads_that_return_a_block_at_once_the_second_is_refused)
{
    claim_gives(4, 1);
    claim_gives(4, 5);
    give_back(5);
    give_back(1);
    ck_assert(!is_returned_late(1));
    ck_assert_uint_eq(state_of(1), POOL_IDLE);
    ck_assert_uint_eq(pool_bin_idle(&spans.bins[3]), 2);
    claim_gives(4, 1);
    claim_gives(4, 5);
    claim_gives(4, 9);
}
END_TEST

static void claim_what_was_returned_by_two(void)
{
    claim_gives(4, 1);
    claim_gives(4, 5);
    give_back(1);
    give_back(5);
    if (!is_returned_late(1))
        return;
    claim_gives(4, 1);
    claim_gives(4, 5);
    (void)claim(4);
}

START_TEST(a_block_that_two_threads_returned_is_not_claimed_by_two)
{
    ck_assert(suite_traps(claim_what_was_returned_by_two));
}
END_TEST

SUITE_MAIN_WITH("pool/spans at its edges", setup, teardown,
                the_area_becomes_writable_in_pieces_of_4_mib,
                a_source_that_refuses_leaves_everything_as_it_was,
                an_exhausted_area_serves_again_after_a_return,
                the_end_of_the_area_is_usable_by_merging_into_it,
                an_index_beyond_what_a_bin_can_name_is_never_used,
                without_its_lock_the_area_serves_what_is_idle_and_nothing_else,
                without_its_lock_a_block_that_finds_its_bin_full_is_forgotten,
                a_return_of_what_is_not_live_is_refused_and_changes_nothing,
                of_two_threads_that_return_a_block_at_once_the_second_is_refused,
                a_block_that_two_threads_returned_is_not_claimed_by_two)

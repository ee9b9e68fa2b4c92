/* Defends: a large block has a stride of its own octave, is extended in place with its
   contents, and comes back whole; an address names a block only where one begins; a
   refusal of the source leaves every block as it was and is counted as nothing. */
#include "tests/rows_fixture.h"

START_TEST(records_are_one_for_each_stride_and_one_for_none)
{
    ck_assert_uint_eq(pool_rows_records(25), 1);
    ck_assert_uint_eq(pool_rows_records(26), 2);
    ck_assert_uint_eq(pool_rows_records(30), RECORDS);
    ck_assert_uint_eq(pool_rows_records(36), 2047);
}
END_TEST

START_TEST(a_request_takes_a_stride_of_its_octave)
{
    claim_gives(1, 0, 0);
    claim_gives(64 * MIB, 0, 1);
    claim_gives(64 * MIB + 1, 1, 0);
    claim_gives(128 * MIB, 1, 1);
    claim_gives(512 * MIB, 3, 0);
    claim_gives(512 * MIB + 1, 4, 0);
    figures_are(0, 6);
}
END_TEST

START_TEST(blocks_are_born_in_address_order)
{
    for (size_t stride = 0; stride < 16; stride++)
        claim_gives(40 * MIB, 0, stride);
    ck_assert_uint_eq(claim(40 * MIB), 0);
    figures_are(0, 16);
}
END_TEST

START_TEST(a_request_beyond_the_last_stride_is_refused)
{
    bool fresh = true;
    ck_assert_uint_eq(pool_rows_claim(&rows, GIB + 1, &fresh), 0);
    ck_assert(!fresh);
    ck_assert_uint_eq(claim(32 * GIB), 0);
    ck_assert_uint_eq(claim(32 * GIB + 1), 0);
    ck_assert_uint_eq(claim(SIZE_MAX), 0);
    ck_assert_uint_eq(fake_enables(), 0);
    figures_are(0, 0);
}
END_TEST

START_TEST(the_largest_scale_serves_32_gib_and_no_more)
{
    static struct pool_record many[2047];
    memset(&rows, 0, sizeof(rows));
    char *base = fake_source.reserve((size_t)POOL_ROW_COUNT << 36);
    if (!base)
        return; /* no such address space here */
    pool_rows_open(&rows, base, 36, many, &fake_source);
    uint32_t index = claim(1);
    ck_assert_ptr_eq(pool_rows_address(&rows, index), base);
    ck_assert_uint_eq(pool_rows_index(&rows, base + (64 * MIB)), 0);
    index = claim(16 * GIB + 1);
    ck_assert_uint_eq(index, 2045);
    ck_assert_ptr_eq(pool_rows_address(&rows, index), base + ((size_t)9 << 36));
    index = claim(32 * GIB);
    ck_assert_uint_eq(index, 2046);
    ck_assert_ptr_eq(pool_rows_address(&rows, index),
                     base + ((size_t)9 << 36) + 32 * GIB);
    ck_assert_uint_eq(pool_rows_index(&rows, base + ((size_t)9 << 36) + 32 * GIB), 2046);
    ck_assert_uint_eq(POOL_GET(&many[2046], granules), 32 * GIB >> POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(claim(32 * GIB), 0);
    ck_assert_uint_eq(claim(32 * GIB + 1), 0);
    figures_are(0, 3);
}
END_TEST

START_TEST(an_address_names_a_block_only_where_one_begins)
{
    uint32_t first = claim(40 * MIB), second = claim(40 * MIB), other = claim(100 * MIB);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base), first);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 64 * MIB), second);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + GIB), other);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 1), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 32 * MIB), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 64 * MIB - 1), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + GIB + 64 * MIB), 0);
    /* Strides where nothing was born yet, and rows without one. */
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 128 * MIB), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + GIB + 128 * MIB), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 2 * GIB), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 9 * GIB), 0);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base + 10 * GIB - 1), 0);
}
END_TEST

START_TEST(a_block_is_extended_in_place_and_keeps_its_contents)
{
    char *block = claim_address(100);
    uint32_t index = index_of(block);
    ck_assert_uint_eq(capacity(index), MIB);
    memset(block, 5, MIB);
    ck_assert(pool_rows_extend(&rows, index, 3 * MIB + 1));
    ck_assert_uint_eq(capacity(index), 4 * MIB);
    ck_assert(all_are(block, 5, MIB));
    ck_assert(all_are(block + MIB, 0, 3 * MIB));
    memset(block, 6, 4 * MIB);
    ck_assert(pool_rows_extend(&rows, index, 64 * MIB));
    ck_assert_uint_eq(capacity(index), 64 * MIB);
    ck_assert_int_eq(block[4 * MIB - 1], 6);
    ck_assert_int_eq(block[64 * MIB - 1], 0);
}
END_TEST

START_TEST(an_extension_within_what_is_writable_asks_the_source_for_nothing)
{
    uint32_t index = claim(MIB + 1);
    ck_assert_uint_eq(fake_enables(), 1);
    ck_assert(pool_rows_extend(&rows, index, 2 * MIB));
    ck_assert(pool_rows_extend(&rows, index, 1));
    ck_assert_uint_eq(fake_enables(), 1);
    ck_assert_uint_eq(fake_enabled(), 2 * MIB);
    ck_assert(pool_rows_extend(&rows, index, 2 * MIB + 1));
    ck_assert_uint_eq(fake_enables(), 2);
    ck_assert_uint_eq(fake_enabled(), 3 * MIB);
}
END_TEST

START_TEST(a_block_is_not_extended_past_its_stride)
{
    uint32_t index = claim(MIB);
    ck_assert(!pool_rows_extend(&rows, index, 64 * MIB + 1));
    ck_assert(!pool_rows_extend(&rows, index, SIZE_MAX));
    ck_assert_uint_eq(capacity(index), MIB);
    ck_assert(pool_rows_extend(&rows, index, 64 * MIB));
}
END_TEST

START_TEST(an_extension_that_the_source_refuses_leaves_the_block)
{
    uint32_t index = claim(MIB);
    fake_refuse_next_enable();
    ck_assert(!pool_rows_extend(&rows, index, 2 * MIB));
    ck_assert_uint_eq(capacity(index), MIB);
    ck_assert(pool_rows_extend(&rows, index, 2 * MIB));
    ck_assert_uint_eq(capacity(index), 2 * MIB);
}
END_TEST

START_TEST(a_birth_that_the_source_refuses_is_no_birth)
{
    bool fresh = true;
    fake_refuse_next_enable();
    ck_assert_uint_eq(pool_rows_claim(&rows, 40 * MIB, &fresh), 0);
    ck_assert(!fresh);
    ck_assert_uint_eq(pool_rows_index(&rows, rows.base), 0);
    figures_are(0, 0);
    claim_gives(50 * MIB, 0, 0);
    figures_are(0, 1);
}
END_TEST

START_TEST(a_returned_block_is_reused_with_what_is_writable_of_it)
{
    uint32_t index = claim(50 * MIB);
    give_back(index);
    ck_assert_uint_eq(claim_gives(40 * MIB, 0, 0), index);
    ck_assert_uint_eq(capacity(index), 50 * MIB);
    give_back(index);
    ck_assert_uint_eq(claim_gives(60 * MIB, 0, 0), index);
    ck_assert_uint_eq(capacity(index), 60 * MIB);
    pool_rows_address(&rows, index)[60 * MIB - 1] = 1;
    figures_are(2, 1);
}
END_TEST

START_TEST(an_idle_block_up_to_two_octaves_larger_is_used)
{
    uint32_t larger = claim(200 * MIB);
    give_back(larger);
    ck_assert_uint_eq(claim_gives(1, 2, 0), larger);
    give_back(larger);
    uint32_t largest = claim(300 * MIB);
    give_back(largest);
    ck_assert_uint_eq(claim_gives(1, 2, 0), larger);
    claim_gives(1, 0, 0);
    figures_are(2, 3);
}
END_TEST

START_TEST(an_idle_block_that_cannot_be_extended_stays_idle_and_is_not_counted)
{
    bool fresh = true;
    uint32_t index = claim(MIB);
    give_back(index);
    fake_refuse_next_enable();
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), 0);
    ck_assert(!fresh);
    ck_assert_uint_eq(state_of(index), POOL_IDLE);
    figures_are(0, 1);
    ck_assert_uint_eq(claim(2 * MIB), index);
    figures_are(1, 1);
}
END_TEST

START_TEST(only_a_block_that_was_never_handed_out_is_fresh)
{
    bool fresh = false;
    uint32_t index = pool_rows_claim(&rows, MIB, &fresh);
    ck_assert(fresh);
    give_back(index);
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), index);
    ck_assert(!fresh);
    ck_assert_uint_ne(pool_rows_claim(&rows, MIB, &fresh), index);
    ck_assert(fresh);
}
END_TEST

START_TEST(an_address_is_ours_in_every_part_of_a_stride_that_was_born)
{
    claim_gives(MIB, 0, 0);
    claim_gives(100 * MIB, 1, 0);
    ck_assert(pool_rows_was_born(&rows, rows.base));
    ck_assert(pool_rows_was_born(&rows, rows.base + 64 * MIB - 1));
    ck_assert(!pool_rows_was_born(&rows, rows.base + 64 * MIB));
    ck_assert(!pool_rows_was_born(&rows, rows.base + GIB - 1));
    ck_assert(pool_rows_was_born(&rows, rows.base + GIB));
    ck_assert(pool_rows_was_born(&rows, rows.base + GIB + 128 * MIB - 1));
    ck_assert(!pool_rows_was_born(&rows, rows.base + GIB + 128 * MIB));
    ck_assert(!pool_rows_was_born(&rows, rows.base + 9 * GIB));
    ck_assert(!pool_rows_was_born(&rows, rows.base + 10 * GIB - 1));
}
END_TEST

START_TEST(rows_that_were_shed_keep_their_blocks_and_bear_no_more)
{
    uint32_t index = claim_gives(MIB, 0, 0);
    claim_gives(GIB, 4, 0);
    pool_rows_address(&rows, index)[0] = 1;
    pool_rows_shed(&rows);
    /* Nine rows of 1 GiB and what is behind one 64-MiB stride, unused rows included. */
    ck_assert_uint_eq(fake_reserved(), GIB + 64 * MIB);
    pool_rows_shed(&rows);
    ck_assert_uint_eq(fake_releases(), 9);
    unsigned enables = fake_enables();
    ck_assert_uint_eq(claim(MIB), 0);
    ck_assert_uint_eq(claim(100 * MIB), 0);
    ck_assert_uint_eq(fake_enables(), enables);
    ck_assert(pool_rows_extend(&rows, index, 64 * MIB));
    ck_assert_int_eq(pool_rows_address(&rows, index)[0], 1);
    give_back(index);
    ck_assert_uint_eq(claim_gives(50 * MIB, 0, 0), index);
    figures_are(1, 2);
}
END_TEST

START_TEST(without_their_lock_rows_serve_what_is_idle_and_nothing_else)
{
    uint32_t index = claim(MIB);
    give_back(index);
    pthread_mutex_lock(&rows.lock.mutex); /* of somebody who never gives it back */
    ck_assert_uint_eq(claim(2 * MIB), index);
    ck_assert_uint_eq(claim(MIB), 0);
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
    pool_rows_shed(&rows);
    ck_assert_uint_eq(fake_releases(), 0);
    figures_are(0, 0);
    give_back(index);
    pthread_mutex_unlock(&rows.lock.mutex);
    figures_are(1, 1);
}
END_TEST

START_TEST(a_return_of_what_is_not_live_is_refused_and_changes_nothing)
{
    uint32_t index = claim(MIB);
    give_back(index);
    ck_assert(!pool_rows_return(&rows, index));
    claim_gives(MIB, 0, 0);
    claim_gives(MIB, 0, 1);
    figures_are(1, 2);
}
END_TEST

static void open_with_more_strides_than_a_bin_counts(void)
{
    pool_rows_open(&rows, rows.base, POOL_ROW_FIRST_SHIFT + POOL_BIN_COUNT_BITS, records,
                   &fake_source);
}

START_TEST(what_would_break_a_bin_traps)
{
    ck_assert(suite_traps(open_with_more_strides_than_a_bin_counts));
}
END_TEST

struct visited {
    unsigned live, idle;
    size_t bytes;
};

static void visit(void *context, const struct pool_record *record)
{
    struct visited *visited = context;
    visited->live += POOL_GET(record, state) == POOL_LIVE;
    visited->idle += POOL_GET(record, state) == POOL_IDLE;
    visited->bytes += (size_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
}

START_TEST(a_walk_meets_every_block_that_was_born)
{
    struct visited visited = {0};
    claim_gives(40 * MIB, 0, 0);
    claim_gives(50 * MIB, 0, 1);
    give_back(claim_gives(600 * MIB, 4, 0));
    pool_rows_walk(&rows, visit, &visited);
    ck_assert_uint_eq(visited.live, 2);
    ck_assert_uint_eq(visited.idle, 1);
    ck_assert_uint_eq(visited.bytes, 690 * MIB);
}
END_TEST

enum { CHURN_THREADS = 4, CHURN_STEPS = 20000 };

/* Each thread writes its blocks without protection and finds what it wrote. */
static void churn_body(unsigned thread, void *shared)
{
    (void)shared;
    for (unsigned step = 0; step < CHURN_STEPS; step++) {
        size_t bytes = 1 + (step % 32) * (MIB / 8);
        uint32_t index = claim(bytes);
        char *block = pool_rows_address(&rows, index);
        block[0] = block[bytes - 1] = (char)thread;
        if (!pool_rows_extend(&rows, index, bytes + MIB) || block[0] != (char)thread ||
            block[bytes - 1] != (char)thread)
            ck_abort_msg("step %u of thread %u", step, thread);
        give_back(index);
    }
}

START_TEST(threads_share_no_block_and_every_claim_is_counted)
{
    suite_run_threads(CHURN_THREADS, churn_body, NULL);
    struct pool_row_figures figures = pool_rows_figures(&rows);
    ck_assert_uint_eq(figures.reused + figures.born,
                      (uint64_t)CHURN_THREADS * CHURN_STEPS);
    uint32_t idle = 0;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        idle += pool_bin_idle(&rows.rows[row].bin);
    ck_assert_uint_eq(idle, figures.born);
}
END_TEST

SUITE_MAIN_WITH("pool/rows", setup, NULL,
                records_are_one_for_each_stride_and_one_for_none,
                a_request_takes_a_stride_of_its_octave, blocks_are_born_in_address_order,
                a_request_beyond_the_last_stride_is_refused,
                the_largest_scale_serves_32_gib_and_no_more,
                an_address_names_a_block_only_where_one_begins,
                a_block_is_extended_in_place_and_keeps_its_contents,
                an_extension_within_what_is_writable_asks_the_source_for_nothing,
                a_block_is_not_extended_past_its_stride,
                an_extension_that_the_source_refuses_leaves_the_block,
                a_birth_that_the_source_refuses_is_no_birth,
                a_returned_block_is_reused_with_what_is_writable_of_it,
                an_idle_block_up_to_two_octaves_larger_is_used,
                an_idle_block_that_cannot_be_extended_stays_idle_and_is_not_counted,
                only_a_block_that_was_never_handed_out_is_fresh,
                an_address_is_ours_in_every_part_of_a_stride_that_was_born,
                rows_that_were_shed_keep_their_blocks_and_bear_no_more,
                without_their_lock_rows_serve_what_is_idle_and_nothing_else,
                what_would_break_a_bin_traps,
                a_return_of_what_is_not_live_is_refused_and_changes_nothing,
                a_walk_meets_every_block_that_was_born,
                threads_share_no_block_and_every_claim_is_counted)

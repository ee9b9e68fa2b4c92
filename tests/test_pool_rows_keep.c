/* Defends: memory of idle blocks goes back to the source when that is asked for, or when
   nobody needed it for a window, coldest first; a block keeps its capacity, and is said to
   be fresh exactly when it reads as zero; around a fork idle memory is neither copied nor
   lost to the parent. */
#include "tests/rows_fixture.h"

START_TEST(trimming_gives_back_what_is_idle_and_only_that)
{
    char *live = claim_address(2 * MIB), *idle = claim_address(3 * MIB);
    char *other = claim_address(70 * MIB);
    live[0] = idle[0] = other[0] = 1;
    give_back(index_of(idle));
    give_back(index_of(other));
    ck_assert_uint_eq(pool_rows_trim(&rows), 73 * MIB);
    ck_assert_uint_eq(fake_discards(), 2);
    ck_assert_uint_eq(fake_discarded(), 73 * MIB);
    ck_assert_int_eq(live[0], 1);
    ck_assert_int_eq(idle[0], 0);
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
    ck_assert_uint_eq(fake_discards(), 2);
    figures_are(0, 3);
}
END_TEST

START_TEST(a_trimmed_block_is_fresh_once_with_the_capacity_it_had)
{
    bool fresh = false;
    char *block = claim_address(3 * MIB);
    uint32_t index = index_of(block);
    memset(block, 1, 3 * MIB);
    give_back(index);
    ck_assert_uint_eq(pool_rows_trim(&rows), 3 * MIB);
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), index);
    ck_assert(fresh);
    ck_assert_uint_eq(capacity(index), 3 * MIB);
    ck_assert(all_are(block, 0, 3 * MIB));
    give_back(index);
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), index);
    ck_assert(!fresh);
    figures_are(2, 1);
}
END_TEST

START_TEST(a_trimmed_block_that_cannot_be_extended_stays_trimmed)
{
    bool fresh = true;
    uint32_t index = claim(MIB);
    give_back(index);
    ck_assert_uint_eq(pool_rows_trim(&rows), MIB);
    fake_refuse_next_enable();
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), 0);
    ck_assert(!fresh);
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
    ck_assert_uint_eq(pool_rows_claim(&rows, 2 * MIB, &fresh), index);
    ck_assert(fresh);
    figures_are(1, 1);
}
END_TEST

START_TEST(a_block_that_the_source_does_not_take_back_is_not_fresh)
{
    bool fresh = true;
    uint32_t index = claim(MIB);
    give_back(index);
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
    ck_assert_uint_eq(pool_rows_claim(&rows, MIB, &fresh), index);
    ck_assert(!fresh);
    give_back(index);
    ck_assert_uint_eq(pool_rows_trim(&rows), MIB);
}
END_TEST

/* Ages once so that a window begins, and asserts that nothing was due yet. */
static void begin_window(void)
{
    ck_assert_uint_eq(pool_rows_age(&rows), 0);
}

START_TEST(a_block_that_nobody_needed_for_a_window_goes_back)
{
    bool fresh = false;
    uint32_t index = claim(3 * MIB);
    give_back(index);
    begin_window();
    ck_assert_uint_eq(pool_rows_age(&rows), 3 * MIB);
    ck_assert_uint_eq(pool_rows_age(&rows), 0);
    ck_assert_uint_eq(pool_rows_claim(&rows, MIB, &fresh), index);
    ck_assert(fresh);
}
END_TEST

START_TEST(a_block_that_is_used_in_every_window_stays)
{
    give_back(claim(3 * MIB));
    begin_window();
    for (unsigned window = 0; window < 5; window++) {
        give_back(claim(3 * MIB));
        ck_assert_uint_eq(pool_rows_age(&rows), 0);
    }
    ck_assert_uint_eq(fake_discards(), 0);
    figures_are(5, 1);
}
END_TEST

START_TEST(of_idle_blocks_the_coldest_go_back)
{
    uint32_t blocks[5];
    for (unsigned i = 0; i < 5; i++)
        blocks[i] = claim(MIB);
    for (unsigned i = 0; i < 5; i++)
        give_back(blocks[i]);
    begin_window();
    /* Two of five are needed at once in this window: those on top. */
    ck_assert_uint_eq(claim(MIB), blocks[4]);
    ck_assert_uint_eq(claim(MIB), blocks[3]);
    give_back(blocks[3]);
    give_back(blocks[4]);
    ck_assert_uint_eq(pool_rows_age(&rows), 3 * MIB);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(state_of(blocks[i]), i >= 3 ? POOL_IDLE : POOL_CLEAN);
    ck_assert_uint_eq(claim(MIB), blocks[4]);
    ck_assert_uint_eq(claim(MIB), blocks[3]);
    figures_are(4, 5);
}
END_TEST

START_TEST(idle_bytes_are_those_of_blocks_that_hold_memory)
{
    uint32_t small = claim(2 * MIB), large = claim(100 * MIB);
    ck_assert_uint_eq(pool_rows_idle_bytes(&rows), 0);
    give_back(small);
    ck_assert_uint_eq(pool_rows_idle_bytes(&rows), 2 * MIB);
    give_back(large);
    ck_assert_uint_eq(pool_rows_idle_bytes(&rows), 102 * MIB);
    (void)pool_rows_trim(&rows);
    ck_assert_uint_eq(pool_rows_idle_bytes(&rows), 0);
}
END_TEST

/* Forks; the child's exit status says whether `check` held there. */
static void fork_and_check(bool (*check)(void))
{
    pool_rows_fork_prepare(&rows);
    pid_t child = fork();
    pool_rows_fork_done(&rows, child == 0);
    if (child == 0)
        _exit(check() ? 0 : 1);
    int status;
    ck_assert_int_ge(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static bool child_claims_and_returns(void)
{
    bool right = claim(40 * MIB) == 2;
    give_back(1);
    return right && claim(64 * MIB) == 1;
}

START_TEST(both_sides_of_a_fork_claim_and_return)
{
    ck_assert_uint_eq(claim(40 * MIB), 1);
    fork_and_check(child_claims_and_returns);
    ck_assert_uint_eq(claim(40 * MIB), 2);
}
END_TEST

/* The live block is the first one of its row, the idle one the second. */
static bool child_has_live_and_no_idle_memory(void)
{
    bool fresh;
    return rows.base[0] == 1 && pool_rows_claim(&rows, MIB, &fresh) == 2 && fresh &&
           rows.base[64 * MIB] == 0 && rows.base[65 * MIB - 1] == 0;
}

static void live_and_idle(void)
{
    memset(claim_address(MIB), 1, MIB);
    char *idle = claim_address(MIB);
    memset(idle, 1, MIB);
    give_back(index_of(idle));
}

START_TEST(idle_memory_stays_with_the_parent_and_reads_as_zero_in_the_child)
{
    bool fresh = true;
    live_and_idle();
    fork_and_check(child_has_live_and_no_idle_memory);
    ck_assert_uint_eq(fake_wipes(), 2); /* the mark, and its end */
    ck_assert_uint_eq(pool_rows_claim(&rows, MIB, &fresh), 2);
    ck_assert(!fresh);
    ck_assert(all_are(rows.base + 64 * MIB, 1, MIB));
}
END_TEST

static bool child_has_the_idle_block_as_it_was(void)
{
    bool fresh;
    return pool_rows_claim(&rows, MIB, &fresh) == 2 && !fresh && rows.base[64 * MIB] == 1;
}

START_TEST(idle_memory_that_could_not_be_marked_is_copied_to_the_child)
{
    live_and_idle();
    fake.refused_wipe = 1;
    fork_and_check(child_has_the_idle_block_as_it_was);
    ck_assert_uint_eq(fake_wipes(), 1);
    ck_assert(child_has_the_idle_block_as_it_was());
}
END_TEST

static bool child_claims_elsewhere(void)
{
    return claim(MIB) == 3;
}

START_TEST(a_block_whose_mark_cannot_be_taken_back_is_never_used_again)
{
    live_and_idle();
    fake.refused_wipe = 2;
    fork_and_check(child_claims_elsewhere);
    ck_assert_uint_eq(claim(MIB), 3);
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
}
END_TEST

START_TEST(what_was_trimmed_is_not_marked_and_stays_fresh)
{
    bool fresh = false;
    live_and_idle();
    (void)pool_rows_trim(&rows);
    pool_rows_fork_prepare(&rows);
    pool_rows_fork_done(&rows, false);
    ck_assert_uint_eq(fake_wipes(), 0);
    ck_assert_uint_eq(pool_rows_claim(&rows, MIB, &fresh), 2);
    ck_assert(fresh);
}
END_TEST

static size_t huge_bytes(enum pool_huge huge, size_t bytes)
{
    setup();
    rows.huge = huge;
    (void)claim(bytes);
    return fake_huge();
}

START_TEST(huge_pages_are_asked_for_at_the_start_of_a_new_block)
{
    size_t part = (size_t)1 << POOL_ROW_HUGE_SHIFT;
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_AUTO, 40 * MIB), part);
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_AUTO, 1), MIB);
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_ALWAYS, 40 * MIB), 40 * MIB);
    ck_assert_uint_eq(huge_bytes(POOL_HUGE_NEVER, 40 * MIB), 0);
}
END_TEST

SUITE_MAIN_WITH("pool/rows_keep", setup, NULL,
                trimming_gives_back_what_is_idle_and_only_that,
                a_trimmed_block_is_fresh_once_with_the_capacity_it_had,
                a_trimmed_block_that_cannot_be_extended_stays_trimmed,
                a_block_that_the_source_does_not_take_back_is_not_fresh,
                a_block_that_nobody_needed_for_a_window_goes_back,
                a_block_that_is_used_in_every_window_stays,
                of_idle_blocks_the_coldest_go_back,
                idle_bytes_are_those_of_blocks_that_hold_memory,
                both_sides_of_a_fork_claim_and_return,
                idle_memory_stays_with_the_parent_and_reads_as_zero_in_the_child,
                idle_memory_that_could_not_be_marked_is_copied_to_the_child,
                a_block_whose_mark_cannot_be_taken_back_is_never_used_again,
                what_was_trimmed_is_not_marked_and_stays_fresh,
                huge_pages_are_asked_for_at_the_start_of_a_new_block)

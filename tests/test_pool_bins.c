/* Defends: a block that was pushed is popped or drained exactly once, last in first out;
   every change moves the head's tag, so that no two heads are the same; and what the tag
   counts stays exact wherever it wraps. */
#include "pool/bins.h"

#include "tests/suite.h"

enum { RECORDS = POOL_BIN_MOST + 2 };

static struct pool_record records[RECORDS];

static uint64_t head_of(const struct pool_bin *bin)
{
    return atomic_load_explicit(&bin->head, memory_order_relaxed);
}

static uint32_t low_of(const struct pool_bin *bin)
{
    return atomic_load_explicit(&bin->low, memory_order_relaxed);
}

static void set_low(struct pool_bin *bin, uint32_t low)
{
    atomic_store_explicit(&bin->low, low, memory_order_relaxed);
}

/* An empty bin as it is after so many changes. */
static struct pool_bin bin_after(uint64_t changes)
{
    struct pool_bin bin = {0};
    atomic_store_explicit(&bin.head, changes << 32, memory_order_relaxed);
    atomic_store_explicit(&bin.laps, (uint32_t)((changes + (UINT64_C(1) << 31)) >> 32),
                          memory_order_relaxed);
    return bin;
}

static void push(struct pool_bin *bin, uint32_t index)
{
    ck_assert(pool_bin_push(bin, records, index));
}

static void pop_gives(struct pool_bin *bin, uint32_t index)
{
    ck_assert_uint_eq(pool_bin_pop(bin, records), index);
}

START_TEST(an_empty_bin_gives_nothing)
{
    struct pool_bin bin = {0};
    pop_gives(&bin, 0);
    ck_assert_uint_eq(pool_bin_drain(&bin), 0);
    ck_assert_uint_eq(pool_bin_idle(&bin), 0);
    ck_assert_uint_eq(pool_bin_popped(&bin), 0);
    ck_assert_uint_eq(head_of(&bin), 0);
}
END_TEST

START_TEST(blocks_come_back_last_in_first_out)
{
    struct pool_bin bin = {0};
    push(&bin, 7);
    push(&bin, 3);
    push(&bin, 5);
    pop_gives(&bin, 5);
    push(&bin, 9);
    pop_gives(&bin, 9);
    pop_gives(&bin, 3);
    pop_gives(&bin, 7);
    pop_gives(&bin, 0);
}
END_TEST

START_TEST(idle_is_what_was_pushed_less_what_was_taken)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= 10; index++) {
        push(&bin, index);
        ck_assert_uint_eq(pool_bin_idle(&bin), index);
    }
    for (uint32_t left = 10; left-- > 4;) {
        pop_gives(&bin, left + 1);
        ck_assert_uint_eq(pool_bin_idle(&bin), left);
    }
    ck_assert_uint_eq(pool_bin_drain(&bin), 4);
    ck_assert_uint_eq(pool_bin_idle(&bin), 0);
}
END_TEST

START_TEST(a_full_bin_refuses_one_more_and_stays_as_it_was)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= POOL_BIN_MOST; index++)
        push(&bin, index);
    uint64_t full = head_of(&bin);
    ck_assert_uint_eq(pool_bin_idle(&bin), 4095);
    ck_assert(!pool_bin_push(&bin, records, POOL_BIN_MOST + 1));
    ck_assert_uint_eq(head_of(&bin), full);
    pop_gives(&bin, POOL_BIN_MOST);
    push(&bin, POOL_BIN_MOST + 1);
    for (uint32_t index = POOL_BIN_MOST + 1; index > 0; index--)
        if (index != POOL_BIN_MOST)
            pop_gives(&bin, index);
    pop_gives(&bin, 0);
}
END_TEST

START_TEST(the_largest_index_is_kept_apart_from_the_count)
{
    static struct pool_record most[1 << POOL_INDEX_BITS];
    const uint32_t last = (1 << POOL_INDEX_BITS) - 1;
    struct pool_bin bin = bin_after((UINT64_C(1) << 32) - 2);
    ck_assert(pool_bin_push(&bin, most, last));
    ck_assert(pool_bin_push(&bin, most, last - 1));
    ck_assert_uint_eq(pool_bin_idle(&bin), 2);
    ck_assert_uint_eq(pool_bin_pop(&bin, most), last - 1);
    ck_assert_uint_eq(pool_bin_pop(&bin, most), last);
    ck_assert_uint_eq(pool_bin_pop(&bin, most), 0);
    ck_assert_uint_eq(pool_bin_idle(&bin), 0);
}
END_TEST

START_TEST(a_drain_takes_all_blocks_at_once_in_their_order)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= 3; index++)
        push(&bin, index);
    uint32_t index = pool_bin_drain(&bin);
    for (uint32_t expected = 3; expected > 0; expected--) {
        ck_assert_uint_eq(index, expected);
        index = POOL_GET(&records[index], next);
    }
    ck_assert_uint_eq(index, 0);
    pop_gives(&bin, 0);
    push(&bin, 2);
    pop_gives(&bin, 2);
}
END_TEST

START_TEST(every_change_moves_the_tag_on)
{
    struct pool_bin bin = {0};
    push(&bin, 1);
    uint64_t first = head_of(&bin);
    pop_gives(&bin, 1);
    push(&bin, 1);
    uint64_t second = head_of(&bin);
    ck_assert_uint_eq(pool_bin_drain(&bin), 1);
    push(&bin, 1);
    uint64_t third = head_of(&bin);
    /* The same block on top, the same count: the tag alone tells them apart. */
    ck_assert_uint_eq((uint32_t)first, (uint32_t)second);
    ck_assert_uint_eq((uint32_t)first, (uint32_t)third);
    ck_assert_uint_eq(first >> 32, 1);
    ck_assert_uint_eq(second >> 32, 3);
    ck_assert_uint_eq(third >> 32, 5);
}
END_TEST

START_TEST(what_was_drained_is_not_counted_as_popped)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= 5; index++)
        push(&bin, index);
    pop_gives(&bin, 5);
    pop_gives(&bin, 4);
    ck_assert_uint_eq(pool_bin_popped(&bin), 2);
    ck_assert_uint_eq(pool_bin_drain(&bin), 3);
    ck_assert_uint_eq(pool_bin_popped(&bin), 2);
    push(&bin, 4);
    pop_gives(&bin, 4);
    ck_assert_uint_eq(pool_bin_popped(&bin), 3);
}
END_TEST

/* Pushes and pops in pairs, from well before a number of changes to well after it. */
static void popped_is_exact_around(uint64_t changes)
{
    enum { PAIRS = 20 };
    uint64_t start = changes - PAIRS;
    struct pool_bin bin = bin_after(start);
    for (uint64_t pair = 1; pair <= PAIRS; pair++) {
        push(&bin, 1);
        ck_assert_uint_eq(pool_bin_popped(&bin), start / 2 + pair - 1);
        pop_gives(&bin, 1);
        ck_assert_uint_eq(pool_bin_popped(&bin), start / 2 + pair);
    }
}

START_TEST(popped_is_exact_where_the_tag_enters_its_upper_half_and_where_it_wraps)
{
    for (uint64_t half_turns = 1; half_turns <= 9; half_turns++)
        popped_is_exact_around(half_turns << 31);
}
END_TEST

START_TEST(popped_is_exact_where_a_drain_steps_over_a_boundary)
{
    for (uint64_t half_turns = 1; half_turns <= 9; half_turns++) {
        uint64_t start = (half_turns << 31) - 1000;
        struct pool_bin bin = bin_after(start);
        for (uint32_t index = 1; index <= 999; index++)
            push(&bin, index);
        ck_assert_uint_eq(pool_bin_popped(&bin), start / 2);
        ck_assert_uint_eq(pool_bin_drain(&bin), 999);
        ck_assert_uint_eq(pool_bin_popped(&bin), start / 2);
        push(&bin, 1);
        pop_gives(&bin, 1);
        ck_assert_uint_eq(pool_bin_popped(&bin), start / 2 + 1);
    }
}
END_TEST

START_TEST(a_full_bin_drained_across_half_a_turn_counts_one_lap)
{
    struct pool_bin bin = bin_after((UINT64_C(1) << 31) - POOL_BIN_MOST - 1);
    for (uint32_t index = 1; index <= POOL_BIN_MOST; index++)
        push(&bin, index);
    ck_assert_uint_eq(atomic_load_explicit(&bin.laps, memory_order_relaxed), 0);
    ck_assert_uint_eq(pool_bin_drain(&bin), POOL_BIN_MOST);
    ck_assert_uint_eq(atomic_load_explicit(&bin.laps, memory_order_relaxed), 1);
    ck_assert_uint_eq(head_of(&bin) >> 32, (UINT64_C(1) << 31) + POOL_BIN_MOST - 1);
}
END_TEST

START_TEST(the_low_mark_is_the_fewest_idle_since_it_was_set)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= 6; index++)
        push(&bin, index);
    set_low(&bin, UINT32_MAX);
    pop_gives(&bin, 6);
    pop_gives(&bin, 5);
    ck_assert_uint_eq(low_of(&bin), 4);
    push(&bin, 5);
    push(&bin, 6);
    pop_gives(&bin, 6);
    ck_assert_uint_eq(low_of(&bin), 4);
    ck_assert_uint_eq(pool_bin_drain(&bin), 5);
    ck_assert_uint_eq(low_of(&bin), 0);
}
END_TEST

START_TEST(a_block_on_top_is_seen_and_stays)
{
    struct pool_bin bin = {0};
    ck_assert_uint_eq(pool_bin_peek(&bin), 0);
    push(&bin, 7);
    push(&bin, 3);
    uint64_t head = head_of(&bin);
    ck_assert_uint_eq(pool_bin_peek(&bin), 3);
    ck_assert_uint_eq(head_of(&bin), head);
    pop_gives(&bin, 3);
    ck_assert_uint_eq(pool_bin_peek(&bin), 7);
}
END_TEST

START_TEST(what_nobody_needed_is_the_fewest_idle_of_the_window_and_of_now)
{
    struct pool_bin bin = {0};
    for (uint32_t index = 1; index <= 6; index++)
        push(&bin, index);
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 0); /* the bin was empty at first */
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 6);
    pop_gives(&bin, 6);
    pop_gives(&bin, 5);
    push(&bin, 5);
    push(&bin, 6);
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 4);
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 6);
    ck_assert_uint_eq(pool_bin_drain(&bin), 6);
    push(&bin, 1);
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 0);
    set_low(&bin, 5);
    ck_assert_uint_eq(pool_bin_unneeded(&bin), 1);
}
END_TEST

START_TEST(a_block_that_waits_on_top_is_not_pushed_again)
{
    struct pool_bin bin = bin_after(0);
    uint64_t head, before;
    push(&bin, 2);
    push(&bin, 1);
    before = atomic_load_explicit(&bin.head, memory_order_relaxed);
    ck_assert(!pool_bin_push_head(&bin, records, 1, &head));
    ck_assert_uint_eq(head, before);
    ck_assert_uint_eq(pool_bin_first(head), 1);
    pop_gives(&bin, 1);
    pop_gives(&bin, 2);
    pop_gives(&bin, 0);
}
END_TEST

START_TEST(a_change_tells_the_head_that_it_left)
{
    struct pool_bin bin = bin_after(0);
    uint64_t head;
    for (uint32_t index = 1; index <= 2; index++) {
        ck_assert(pool_bin_push_head(&bin, records, index, &head));
        ck_assert_uint_eq(head, atomic_load_explicit(&bin.head, memory_order_relaxed));
    }
    for (uint32_t index = 2; index >= 1; index--) {
        ck_assert_uint_eq(pool_bin_pop_head(&bin, records, &head), index);
        ck_assert_uint_eq(head, atomic_load_explicit(&bin.head, memory_order_relaxed));
    }
}
END_TEST

enum { RHYTHM_CLAIMS = 4000 };

/* The longest wait for a claim that is due, of a program that claims `hot` blocks and gives
   them back, again and again, from this tag on. */
static unsigned longest_wait(uint64_t tag, unsigned hot, unsigned shift, unsigned *due)
{
    struct pool_bin bin = bin_after(tag);
    unsigned wait = 0, longest = 0;
    *due = 0;
    for (unsigned claims = 0; claims < RHYTHM_CLAIMS; claims += hot) {
        for (uint32_t index = 1; index <= hot; index++)
            if (!pool_bin_push(&bin, records, index))
                ck_abort();
        for (uint32_t index = hot; index > 0; index--) {
            uint64_t head;
            if (pool_bin_pop_head(&bin, records, &head) != index)
                ck_abort();
            bool is_due = pool_bin_is_due(head, shift);
            *due += is_due;
            wait = is_due ? 0 : wait + 1;
            longest = wait > longest ? wait : longest;
        }
    }
    return longest;
}

START_TEST(no_rhythm_of_claims_and_returns_keeps_a_program_from_looking)
{
    unsigned due;
    for (unsigned hot = 1; hot <= 40; hot++)
        for (uint64_t tag = 0; tag < 32; tag++) {
            unsigned longest = longest_wait(tag, hot, POOL_BIN_LOOK_SHIFT, &due);
            ck_assert_msg(longest < 400, "%u blocks from tag %ju: %u claims", hot,
                          (uintmax_t)tag, longest);
            ck_assert_uint_ge(due, (RHYTHM_CLAIMS >> POOL_BIN_LOOK_SHIFT) / 2);
            ck_assert_uint_le(due, (RHYTHM_CLAIMS >> POOL_BIN_LOOK_SHIFT) * 2);
        }
    ck_assert_uint_eq(longest_wait(0, 1, 0, &due), 0);
    ck_assert_uint_le(longest_wait(0, 1, POOL_BIN_LOOK_SHIFT, &due),
                      2 << POOL_BIN_LOOK_SHIFT);
}
END_TEST

enum { CHURN_THREADS = 4, CHURN_STEPS = 100000, CHURN_BLOCKS = 3 };

struct churn {
    struct pool_bin bin;
    _Atomic uint64_t popped;
    unsigned bodies[CHURN_BLOCKS + 1]; /* written by whoever owns the block */
};

/* Unprotected writes to a block: a second owner would lose some, and is a race that
   ThreadSanitizer names. */
static void churn_body(unsigned thread, void *shared)
{
    struct churn *churn = shared;
    uint64_t popped = 0;
    (void)thread;
    for (unsigned step = 0; step < CHURN_STEPS; step++) {
        uint32_t index = pool_bin_pop(&churn->bin, records);
        if (index == 0)
            continue;
        popped++;
        churn->bodies[index]++;
        while (!pool_bin_push(&churn->bin, records, index))
            sched_yield();
    }
    atomic_fetch_add_explicit(&churn->popped, popped, memory_order_relaxed);
}

START_TEST(threads_pop_each_block_one_at_a_time_and_see_what_was_written_before)
{
    static struct churn churn;
    for (uint32_t index = 1; index <= CHURN_BLOCKS; index++)
        push(&churn.bin, index);
    suite_run_threads(CHURN_THREADS, churn_body, &churn);
    uint64_t popped = atomic_load_explicit(&churn.popped, memory_order_relaxed);
    uint64_t written = 0;
    for (uint32_t index = 1; index <= CHURN_BLOCKS; index++)
        written += churn.bodies[index];
    ck_assert_uint_gt(popped, CHURN_STEPS);
    ck_assert_uint_eq(written, popped);
    ck_assert_uint_eq(pool_bin_popped(&churn.bin), popped);
    ck_assert_uint_eq(pool_bin_idle(&churn.bin), CHURN_BLOCKS);
}
END_TEST

SUITE_MAIN("pool/bins", an_empty_bin_gives_nothing, blocks_come_back_last_in_first_out,
           idle_is_what_was_pushed_less_what_was_taken,
           a_full_bin_refuses_one_more_and_stays_as_it_was,
           the_largest_index_is_kept_apart_from_the_count,
           a_drain_takes_all_blocks_at_once_in_their_order, every_change_moves_the_tag_on,
           what_was_drained_is_not_counted_as_popped,
           popped_is_exact_where_the_tag_enters_its_upper_half_and_where_it_wraps,
           popped_is_exact_where_a_drain_steps_over_a_boundary,
           a_full_bin_drained_across_half_a_turn_counts_one_lap,
           the_low_mark_is_the_fewest_idle_since_it_was_set,
           a_block_on_top_is_seen_and_stays,
           a_block_that_waits_on_top_is_not_pushed_again,
           a_change_tells_the_head_that_it_left,
           what_nobody_needed_is_the_fewest_idle_of_the_window_and_of_now,
           no_rhythm_of_claims_and_returns_keeps_a_program_from_looking,
           threads_pop_each_block_one_at_a_time_and_see_what_was_written_before)

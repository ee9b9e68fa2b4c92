/* Defends: blocks tile the area and free neighbours are merged, whatever the order of claims
   and returns; a block that fits waits in a bin for the next claim of its length; of free
   spans the best fit is used, and the area grows only when none fits. */
#include "tests/spans_fixture.h"

static uint32_t top(void)
{
    return POOL_GET(&spans, top);
}

START_TEST(new_blocks_follow_each_other_from_granule_one)
{
    claim_gives(1, 1);
    claim_gives(9, 2);
    claim_gives(512, 11);
    claim_gives(1, 523);
    ck_assert_uint_eq(granules_of(2), 9);
    ck_assert_uint_eq(granules_of(11), 512);
    figures_are(0, 0, 4);
}
END_TEST

START_TEST(a_returned_block_serves_its_length_again_at_the_same_place)
{
    for (uint32_t granules = 1; granules <= 40; granules++) {
        uint32_t index = claim(granules);
        for (unsigned round = 0; round < 3; round++) {
            give_back(index);
            claim_gives(granules, index);
            ck_assert_uint_eq(granules_of(index), granules);
        }
    }
    figures_are(3 * 40, 0, 40);
}
END_TEST

START_TEST(an_idle_block_serves_the_class_that_it_holds_and_lengths_just_below)
{
    claim_gives(11, 1); /* waits among the blocks that serve 10 granules */
    give_back(1);
    claim_gives(11, 1);
    give_back(1);
    claim_gives(10, 1);
    give_back(1);
    claim_gives(9, 1);
    ck_assert_uint_eq(granules_of(1), 11);
    figures_are(3, 0, 1);
}
END_TEST

START_TEST(an_idle_block_of_a_larger_class_is_split)
{
    claim_gives(11, 1);
    give_back(1);
    claim_gives(8, 1);
    ck_assert_uint_eq(granules_of(1), 8);
    claim_gives(3, 9);
    figures_are(0, 2, 1);
}
END_TEST

START_TEST(a_shorter_block_on_top_of_a_bin_is_left_there)
{
    claim_gives(9, 1);
    claim_gives(1, 10);
    claim_gives(8, 11);
    claim_gives(1, 19);
    give_back(1);
    give_back(11);
    claim_gives(9, 1); /* from the free spans: the bins were drained */
    claim_gives(8, 11);
    figures_are(0, 2, 4);
    ck_assert_uint_eq(POOL_GET(&spans, put_back), 0);
}
END_TEST

START_TEST(the_exact_class_is_preferred_to_a_larger_one)
{
    claim_gives(2, 1);
    claim_gives(3, 3);
    give_back(1);
    give_back(3);
    claim_gives(2, 1);
    claim_gives(3, 3);
}
END_TEST

/* Three neighbours, the last of four blocks staying live, are returned in this order. */
static void neighbours_merge(const uint32_t order[3])
{
    setup();
    claim_gives(4, 1);
    claim_gives(4, 5);
    claim_gives(4, 9);
    claim_gives(1, 13);
    for (unsigned i = 0; i < 3; i++)
        give_back(order[i]);
    claim_gives(12, 1);
    ck_assert_uint_eq(granules_of(1), 12);
    ck_assert(pool_spans_valid(&spans));
    figures_are(0, 1, 4);
}

START_TEST(neighbours_merge_in_whatever_order_they_are_returned)
{
    neighbours_merge((const uint32_t[]){1, 5, 9});
    neighbours_merge((const uint32_t[]){1, 9, 5});
    neighbours_merge((const uint32_t[]){5, 1, 9});
    neighbours_merge((const uint32_t[]){5, 9, 1});
    neighbours_merge((const uint32_t[]){9, 1, 5});
    neighbours_merge((const uint32_t[]){9, 5, 1});
}
END_TEST

START_TEST(a_live_block_is_merged_with_nothing)
{
    claim_gives(4, 1);
    claim_gives(4, 5);
    claim_gives(4, 9);
    claim_gives(1, 13);
    give_back(1);
    give_back(9);
    claim_gives(12, 14);
    ck_assert_uint_eq(granules_of(1), 4);
    ck_assert_uint_eq(granules_of(5), 4);
    ck_assert_uint_eq(granules_of(9), 4);
    figures_are(0, 0, 5);
}
END_TEST

START_TEST(a_span_returned_between_free_spans_joins_both)
{
    claim_gives(20, 1);
    claim_gives(2, 21);
    claim_gives(20, 23);
    claim_gives(1, 43);
    give_back(1);
    give_back(23);
    claim_gives(128, 44); /* drains the bins: the neighbours are free spans now */
    give_back(21);
    claim_gives(40, 1);
    claim_gives(2, 41);
    figures_are(0, 2, 5);
}
END_TEST

START_TEST(the_smallest_span_that_is_large_enough_is_split)
{
    claim_gives(64, 1);
    claim_gives(1, 65);
    claim_gives(32, 66);
    claim_gives(1, 98);
    claim_gives(48, 99);
    claim_gives(1, 147);
    give_back(1);
    give_back(66);
    give_back(99);
    claim_gives(10, 66);
    claim_gives(20, 76);
    claim_gives(40, 99);
    figures_are(0, 3, 6);
}
END_TEST

START_TEST(of_equal_spans_the_one_at_the_lowest_address_is_used)
{
    const uint32_t starts[] = {1, 34, 67};
    for (unsigned i = 0; i < 3; i++) {
        claim_gives(32, starts[i]);
        claim_gives(1, starts[i] + 32);
    }
    give_back(67);
    give_back(1);
    give_back(34);
    claim_gives(8, 1);
    claim_gives(24, 9);
    claim_gives(28, 34);
    claim_gives(28, 67);
}
END_TEST

START_TEST(spans_between_two_classes_are_found_by_length)
{
    claim_gives(4, 1);
    claim_gives(5, 5);
    claim_gives(1, 10);
    give_back(1);
    give_back(5);
    claim_gives(64, 11); /* drains: a free span of 9 granules, listed with those of 8 */
    claim_gives(10, 75); /* too large for it */
    claim_gives(8, 1);
    claim_gives(1, 9);
    figures_are(0, 2, 5);
}
END_TEST

START_TEST(of_spans_in_one_list_the_smallest_is_used)
{
    for (unsigned larger_first = 0; larger_first < 2; larger_first++) {
        setup();
        claim_gives(4, 1); /* to be a span of 9 together with the next */
        claim_gives(5, 5);
        claim_gives(1, 10);
        claim_gives(8, 11);
        claim_gives(1, 19);
        give_back(larger_first ? 1 : 11);
        claim_gives(64, 20); /* drains */
        give_back(larger_first ? 11 : 1);
        give_back(5);
        claim_gives(64, 84); /* drains */
        claim_gives(8, 11);
        claim_gives(8, 1);
        figures_are(0, 2, 7);
    }
}
END_TEST

START_TEST(what_was_merged_is_no_block)
{
    const uint32_t orders[][3] = {{1, 3, 5}, {5, 3, 1}, {3, 1, 5}};
    for (unsigned order = 0; order < 3; order++) {
        setup();
        for (uint32_t index = 1; index <= 5; index += 2)
            claim_gives(2, index);
        for (unsigned i = 0; i < 3; i++)
            give_back(orders[order][i]);
        claim_gives(6, 1);
        for (uint32_t index = 2; index <= 6; index++)
            ck_assert_uint_eq(state_of(index), POOL_UNBORN);
    }
}
END_TEST

START_TEST(a_free_span_at_the_end_becomes_part_of_a_new_block)
{
    bool due, fresh;
    claim_gives(1, 1);
    claim_gives(16, 2);
    give_back(2);
    ck_assert_uint_eq(pool_spans_claim(&spans, 64, &fresh, &due), 2);
    ck_assert(!fresh);
    ck_assert_uint_eq(top(), 66);
    ck_assert_uint_eq(granules_of(2), 64);
    figures_are(0, 0, 3);
}
END_TEST

START_TEST(a_block_that_only_extends_the_area_is_fresh)
{
    bool due, fresh;
    uint32_t index = pool_spans_claim(&spans, 7, &fresh, &due);
    ck_assert(fresh);
    give_back(index);
    claim_gives(7, index);
    fresh = true;
    give_back(index);
    ck_assert_uint_eq(pool_spans_claim(&spans, 7, &fresh, &due), index);
    ck_assert(!fresh);
    fresh = true;
    give_back(index);
    ck_assert_uint_eq(pool_spans_claim(&spans, 2, &fresh, &due), index);
    ck_assert(!fresh);
}
END_TEST

START_TEST(more_idle_blocks_than_a_bin_counts_become_free_spans)
{
    for (uint32_t index = 1; index <= POOL_BIN_MOST + 2; index++)
        claim_gives(1, index);
    for (uint32_t index = 1; index <= POOL_BIN_MOST + 2; index++)
        give_back(index);
    ck_assert_uint_eq(pool_bin_idle(&spans.bins[0]), 4095);
    ck_assert(pool_spans_valid(&spans));
    /* The two that went back under the lock are one free span. */
    ck_assert_int_eq(state_of(POOL_BIN_MOST + 1), POOL_FREE);
    ck_assert_uint_eq(granules_of(POOL_BIN_MOST + 1), 2);
    claim_gives(1, POOL_BIN_MOST);
    claim_gives(512, 1); /* drains the rest and finds it in one piece */
    figures_are(1, 1, POOL_BIN_MOST + 2);
}
END_TEST

struct visited {
    unsigned blocks[POOL_FREE + 1]; /* by state */
    uint32_t granules;
};

static void visit(void *context, const struct pool_record *record)
{
    struct visited *visited = context;
    visited->blocks[POOL_GET(record, state)]++;
    visited->granules += POOL_GET(record, granules);
}

START_TEST(a_walk_meets_every_block_once)
{
    struct visited visited = {0};
    claim_gives(16, 1);
    claim_gives(5, 17);
    claim_gives(11, 22);
    give_back(1);
    claim_gives(3, 1); /* splits the first */
    give_back(17);
    pool_spans_walk(&spans, visit, &visited);
    ck_assert_uint_eq(visited.blocks[POOL_UNBORN], 0);
    ck_assert_uint_eq(visited.blocks[POOL_LIVE], 2);
    ck_assert_uint_eq(visited.blocks[POOL_IDLE], 1);
    ck_assert_uint_eq(visited.blocks[POOL_FREE], 1);
    ck_assert_uint_eq(visited.granules, 32);
}
END_TEST

START_TEST(the_limit_is_due_about_once_for_each_32_mib_that_came_back)
{
    enum { ROUNDS = 8192 };
    for (uint32_t granules = 2; granules <= POOL_SPAN_MOST_GRANULES; granules *= 2) {
        unsigned due_count = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            bool due;
            ck_assert(pool_spans_return(&spans, claim(granules), &due));
            due_count += due;
        }
        unsigned expected = ROUNDS * granules / POOL_SPAN_MOST_GRANULES;
        ck_assert_uint_ge(due_count, expected / 2);
        ck_assert_uint_le(due_count, expected * 2);
    }
}
END_TEST

SUITE_MAIN_WITH("pool/spans", setup, teardown,
                new_blocks_follow_each_other_from_granule_one,
                a_returned_block_serves_its_length_again_at_the_same_place,
                an_idle_block_serves_the_class_that_it_holds_and_lengths_just_below,
                an_idle_block_of_a_larger_class_is_split,
                a_shorter_block_on_top_of_a_bin_is_left_there,
                the_exact_class_is_preferred_to_a_larger_one,
                neighbours_merge_in_whatever_order_they_are_returned,
                a_live_block_is_merged_with_nothing,
                a_span_returned_between_free_spans_joins_both,
                the_smallest_span_that_is_large_enough_is_split,
                of_equal_spans_the_one_at_the_lowest_address_is_used,
                spans_between_two_classes_are_found_by_length,
                of_spans_in_one_list_the_smallest_is_used, what_was_merged_is_no_block,
                a_free_span_at_the_end_becomes_part_of_a_new_block,
                a_block_that_only_extends_the_area_is_fresh,
                more_idle_blocks_than_a_bin_counts_become_free_spans,
                a_walk_meets_every_block_once,
                the_limit_is_due_about_once_for_each_32_mib_that_came_back)

/* Defends: no granule belongs to two blocks; blocks tile the area and free neighbours are
   merged, whatever the order of claims and returns; a class is served by its own idle
   blocks first; `fresh` is said only of memory that reads as zero; trimming takes nothing
   from a live block; a refusal leaves what was held. */
#include "pool/spans.h"

#include <string.h>

#include "tests/fake_source.h"
#include "tests/suite.h"

enum { AREA_GRANULES = 4500 };

static struct pool_spans spans;
static struct pool_record records[AREA_GRANULES];

static void open_area(uint32_t granules)
{
    char *base = fake_source.reserve((size_t)granules << POOL_GRANULE_SHIFT);
    ck_assert_ptr_nonnull(base);
    pool_spans_open(&spans, base, granules, records, &fake_source);
}

static void setup(void)
{
    fake_reset();
    memset(&spans, 0, sizeof(spans));
    memset(records, 0, sizeof(records));
    open_area(AREA_GRANULES);
}

static void teardown(void)
{
    ck_assert(pool_spans_valid(&spans));
}

static uint32_t claim(uint32_t granules)
{
    bool fresh;
    return pool_spans_claim(&spans, granules, &fresh);
}

/* A claim that must be served at this index. */
static void claim_gives(uint32_t granules, uint32_t index)
{
    ck_assert_uint_eq(claim(granules), index);
}

static void give_back(uint32_t index)
{
    pool_spans_return(&spans, index);
}

static uint32_t granules_of(uint32_t index)
{
    return POOL_GET(&records[index], granules);
}

static uint32_t top(void)
{
    return POOL_GET(&spans, top);
}

static void figures_are(uint64_t popped, uint64_t fitted, uint64_t born)
{
    struct pool_span_figures figures = pool_spans_figures(&spans);
    ck_assert_uint_eq(figures.popped, popped);
    ck_assert_uint_eq(figures.fitted, fitted);
    ck_assert_uint_eq(figures.born, born);
}

static const uint32_t classes[POOL_SPAN_CLASSES] = {
    1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,  32,
    40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512,
};

START_TEST(classes_are_four_to_an_octave)
{
    unsigned i = 0;
    for (uint32_t granules = 1; granules <= POOL_SPAN_MOST_GRANULES; granules++) {
        if (granules > classes[i])
            i++;
        ck_assert_uint_eq(pool_span_class_granules(granules), classes[i]);
    }
    ck_assert_uint_eq(i, POOL_SPAN_CLASSES - 1);
}
END_TEST

START_TEST(new_blocks_follow_each_other_from_granule_one)
{
    claim_gives(1, 1);
    claim_gives(9, 2);
    claim_gives(512, 12);
    claim_gives(1, 524);
    ck_assert_uint_eq(granules_of(2), 10);
    ck_assert_uint_eq(granules_of(12), 512);
    figures_are(0, 0, 4);
}
END_TEST

START_TEST(a_returned_block_serves_its_class_again_at_the_same_place)
{
    for (unsigned i = 0; i < POOL_SPAN_CLASSES; i++) {
        uint32_t index = claim(classes[i]);
        for (unsigned round = 0; round < 3; round++) {
            give_back(index);
            claim_gives(classes[i], index);
        }
    }
    figures_are(UINT64_C(3) * POOL_SPAN_CLASSES, 0, POOL_SPAN_CLASSES);
}
END_TEST

START_TEST(an_idle_block_up_to_four_classes_larger_is_used_whole)
{
    claim_gives(8, 1);
    give_back(1);
    claim_gives(4, 1);
    ck_assert_uint_eq(granules_of(1), 8);
    figures_are(1, 0, 1);
}
END_TEST

START_TEST(an_idle_block_five_classes_larger_is_split)
{
    claim_gives(8, 1);
    give_back(1);
    claim_gives(3, 1);
    ck_assert_uint_eq(granules_of(1), 3);
    claim_gives(5, 4);
    figures_are(0, 2, 1);
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

START_TEST(a_free_span_at_the_end_becomes_part_of_a_new_block)
{
    bool fresh;
    claim_gives(1, 1);
    claim_gives(16, 2);
    give_back(2);
    ck_assert_uint_eq(pool_spans_claim(&spans, 64, &fresh), 2);
    ck_assert(!fresh);
    ck_assert_uint_eq(top(), 66);
    ck_assert_uint_eq(granules_of(2), 64);
    figures_are(0, 0, 3);
}
END_TEST

START_TEST(a_block_that_only_extends_the_area_is_fresh)
{
    bool fresh;
    uint32_t index = pool_spans_claim(&spans, 7, &fresh);
    ck_assert(fresh);
    give_back(index);
    claim_gives(7, index);
    fresh = true;
    give_back(index);
    ck_assert_uint_eq(pool_spans_claim(&spans, 7, &fresh), index);
    ck_assert(!fresh);
    fresh = true;
    give_back(index);
    ck_assert_uint_eq(pool_spans_claim(&spans, 2, &fresh), index);
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
    ck_assert_int_eq(POOL_GET(&records[POOL_BIN_MOST + 1], state), POOL_FREE);
    ck_assert_uint_eq(granules_of(POOL_BIN_MOST + 1), 2);
    claim_gives(1, POOL_BIN_MOST);
    claim_gives(512, 1); /* drains the rest and finds it in one piece */
    figures_are(1, 1, POOL_BIN_MOST + 2);
}
END_TEST

START_TEST(the_area_becomes_writable_in_pieces_of_4_mib)
{
    claim_gives(64, 1);
    ck_assert_uint_eq(fake_enables(), 1);
    ck_assert_uint_eq(fake_enabled(), (size_t)64 << POOL_GRANULE_SHIFT);
    claim_gives(1, 65);
    ck_assert_uint_eq(fake_enables(), 2);
    claim_gives(56, 66);
    ck_assert_uint_eq(fake_enables(), 2);
    claim_gives(128, 122); /* to granule 250, of which 128 are enabled */
    ck_assert_uint_eq(fake_enables(), 3);
    ck_assert_uint_eq(fake_enabled(), (size_t)256 << POOL_GRANULE_SHIFT);
    memset(spans.base + ((size_t)122 << POOL_GRANULE_SHIFT), 1,
           (size_t)128 << POOL_GRANULE_SHIFT);
}
END_TEST

START_TEST(a_source_that_refuses_leaves_everything_as_it_was)
{
    bool fresh = true;
    claim_gives(32, 1);
    claim_gives(32, 33);
    give_back(33);
    fake_refuse_next_enable();
    ck_assert_uint_eq(pool_spans_claim(&spans, 128, &fresh), 0);
    ck_assert(!fresh);
    ck_assert(pool_spans_valid(&spans));
    ck_assert_uint_eq(top(), 65);
    ck_assert_uint_eq(spans.enabled, 65);
    figures_are(0, 0, 2);
    claim_gives(32, 33);
    give_back(33);
    claim_gives(128, 33);
    figures_are(0, 1, 3);
}
END_TEST

START_TEST(an_exhausted_area_serves_again_after_a_return)
{
    uint32_t indices[8];
    for (unsigned i = 0; i < 8; i++)
        claim_gives(512, indices[i] = 1 + 512 * i);
    claim_gives(384, 4097);
    claim_gives(16, 4481);
    ck_assert_uint_eq(claim(4), 0);
    claim_gives(3, 4497);
    ck_assert_uint_eq(claim(1), 0);
    ck_assert_uint_eq(top(), AREA_GRANULES);
    ck_assert_uint_eq(fake_enabled(), (size_t)(AREA_GRANULES - 1) << POOL_GRANULE_SHIFT);
    ck_assert(pool_spans_valid(&spans));
    give_back(4481);
    claim_gives(1, 4481);
    give_back(indices[3]);
    claim_gives(512, indices[3]);
    figures_are(1, 1, 11);
}
END_TEST

START_TEST(the_end_of_the_area_is_usable_by_merging_into_it)
{
    memset(&spans, 0, sizeof(spans));
    open_area(100);
    claim_gives(64, 1);
    claim_gives(32, 65);
    ck_assert_uint_eq(claim(4), 0);
    give_back(65);
    ck_assert_uint_eq(claim(40), 0);
    claim_gives(28, 65);
    claim_gives(7, 93);
    ck_assert_uint_eq(top(), 100);
}
END_TEST

START_TEST(an_index_beyond_what_a_bin_can_name_is_never_used)
{
    memset(&spans, 0, sizeof(spans));
    pool_spans_open(&spans, spans.base, UINT32_C(1) << POOL_INDEX_BITS, records,
                    &fake_source);
    ck_assert_uint_eq(spans.limit, (1 << POOL_INDEX_BITS) - 1);
}
END_TEST

/* Claims blocks that fill the area from granule 1, and writes to all of them. */
static void claim_written(uint32_t granules, uint32_t index)
{
    claim_gives(granules, index);
    memset(spans.base + ((size_t)index << POOL_GRANULE_SHIFT), 1,
           (size_t)granules << POOL_GRANULE_SHIFT);
}

/* A claim that must be served at this index, with memory that reads as zero or is not
   said to. */
static void claim_gives_fresh(uint32_t granules, uint32_t index, bool expected)
{
    static const char zero[16 << POOL_GRANULE_SHIFT];
    bool fresh;
    ck_assert_uint_eq(pool_spans_claim(&spans, granules, &fresh), index);
    ck_assert_int_eq(fresh, expected);
    if (fresh)
        ck_assert_mem_eq(spans.base + ((size_t)index << POOL_GRANULE_SHIFT), zero,
                         (size_t)granules << POOL_GRANULE_SHIFT);
}

START_TEST(trimming_gives_back_what_is_not_live_and_only_that)
{
    claim_written(2, 1);
    claim_written(4, 3);
    claim_written(8, 7);
    claim_written(1, 15);
    give_back(3);
    give_back(7);
    ck_assert_uint_eq(pool_spans_trim(&spans), (size_t)12 << POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(fake_discards(), 1);
    ck_assert_uint_eq(fake_discarded(), (size_t)12 << POOL_GRANULE_SHIFT);
    ck_assert_int_eq(spans.base[(3 << POOL_GRANULE_SHIFT) - 1], 1);
    ck_assert_int_eq(spans.base[15 << POOL_GRANULE_SHIFT], 1);
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
    ck_assert_uint_eq(pool_spans_trim(&spans), (size_t)12 << POOL_GRANULE_SHIFT);
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
        ck_assert_uint_eq(pool_spans_trim(&spans), (size_t)8 << POOL_GRANULE_SHIFT);
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
    ck_assert_uint_eq(pool_spans_trim(&spans), (size_t)4 << POOL_GRANULE_SHIFT);
    claim_gives_fresh(16, 2, true);
    ck_assert_uint_eq(top(), 18);
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
    ck_assert_uint_eq(pool_spans_trim(&spans), (size_t)4 << POOL_GRANULE_SHIFT);
}
END_TEST

START_TEST(what_was_merged_is_no_block)
{
    claim_gives(2, 1);
    claim_gives(2, 3);
    claim_gives(2, 5);
    give_back(1);
    give_back(3);
    give_back(5);
    claim_gives(6, 1);
    for (uint32_t index = 2; index <= 6; index++)
        ck_assert_uint_eq(POOL_GET(&records[index], state), POOL_UNBORN);
}
END_TEST

START_TEST(an_area_that_was_shed_grows_no_further)
{
    claim_written(10, 1);
    size_t before = fake_reserved();
    pool_spans_shed(&spans);
    ck_assert_uint_eq(before - fake_reserved(),
                      (size_t)(AREA_GRANULES - 65) << POOL_GRANULE_SHIFT);
    pool_spans_shed(&spans);
    ck_assert_uint_eq(fake_releases(), 1);
    ck_assert_uint_eq(claim(56), 0);
    claim_written(48, 11);
    claim_written(6, 59);
    ck_assert_uint_eq(claim(1), 0);
    ck_assert_uint_eq(fake_enables(), 1);
    give_back(11);
    claim_written(48, 11);
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
    claim_gives(512, POOL_BIN_MOST + 2);
}
END_TEST

static void return_twice(void)
{
    uint32_t index = claim(1);
    give_back(index);
    give_back(index);
}

static void return_the_inside_of_a_block(void)
{
    give_back(claim(4) + 1);
}

START_TEST(a_return_of_what_is_not_live_traps)
{
    ck_assert(suite_traps(return_twice));
    ck_assert(suite_traps(return_the_inside_of_a_block));
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
    claim_gives(12, 22);
    give_back(1);
    claim_gives(3, 1); /* splits the first */
    give_back(17);
    pool_spans_walk(&spans, visit, &visited);
    ck_assert_uint_eq(visited.blocks[POOL_UNBORN], 0);
    ck_assert_uint_eq(visited.blocks[POOL_LIVE], 2);
    ck_assert_uint_eq(visited.blocks[POOL_IDLE], 1);
    ck_assert_uint_eq(visited.blocks[POOL_FREE], 1);
    ck_assert_uint_eq(visited.granules, 33);
}
END_TEST

START_TEST(both_sides_of_a_fork_claim_and_return)
{
    claim_gives(5, 1);
    pool_spans_fork_prepare(&spans);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    pool_spans_fork_done(&spans);
    if (child == 0) {
        bool right = claim(5) == 6;
        give_back(1);
        _exit(right && claim(6) == 11 && pool_spans_valid(&spans) ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    claim_gives(5, 6);
}
END_TEST

/* What a test that knows every block says of the area. */
struct model {
    uint32_t owner[AREA_GRANULES]; /* index of the live block a granule is in */
    uint32_t live[64];
    unsigned live_count;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static char *address_of(uint32_t index)
{
    return spans.base + ((size_t)index << POOL_GRANULE_SHIFT);
}

/* The pages of a block in which the test reads and writes: the first of each granule. */
static void model_check_fresh(uint32_t index, uint32_t granules)
{
    static const char zero[1 << POOL_PAGE_SHIFT];
    for (uint32_t i = index; i < index + granules; i++)
        ck_assert_mem_eq(address_of(i), zero, sizeof(zero));
}

static void model_claim(struct model *model, uint32_t granules)
{
    bool fresh;
    uint32_t index = pool_spans_claim(&spans, granules, &fresh);
    if (index == 0)
        return;
    uint32_t have = granules_of(index);
    ck_assert_uint_ge(have, granules);
    if (fresh)
        model_check_fresh(index, have);
    for (uint32_t i = index; i < index + have; i++) {
        ck_assert_msg(model->owner[i] == 0, "granule %u belongs to block %u and %u", i,
                      model->owner[i], index);
        model->owner[i] = index;
        memset(address_of(i), 1, 1 << POOL_PAGE_SHIFT);
    }
    model->live[model->live_count++] = index;
}

static void model_return(struct model *model, unsigned which)
{
    uint32_t index = model->live[which];
    model->live[which] = model->live[--model->live_count];
    for (uint32_t i = index; i < index + granules_of(index); i++)
        model->owner[i] = 0;
    give_back(index);
}

static void model_step(struct model *model, uint64_t *random)
{
    uint64_t dice = next_random(random);
    if (dice >> 58 == 0)
        (void)pool_spans_trim(&spans);
    bool full = model->live_count == sizeof(model->live) / sizeof(*model->live);
    if (model->live_count > 0 && (full || dice % 2))
        model_return(model, (unsigned)(dice >> 8) % model->live_count);
    else
        model_claim(model,
                    1 + (uint32_t)(dice >> 8) % (UINT32_C(1) << (dice >> 40) % 10));
}

START_TEST(random_claims_and_returns_never_overlap_and_fresh_memory_is_zero)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t random = seed;
        setup();
        memset(&model, 0, sizeof(model));
        for (unsigned step = 0; step < 3000; step++) {
            model_step(&model, &random);
            if (step % 16 == 0)
                ck_assert_msg(pool_spans_valid(&spans), "seed %ju, step %u",
                              (uintmax_t)seed, step);
        }
        while (model.live_count > 0)
            model_return(&model, 0);
        ck_assert(pool_spans_valid(&spans));
    }
}
END_TEST

SUITE_MAIN_WITH("pool/spans", setup, teardown, classes_are_four_to_an_octave,
                new_blocks_follow_each_other_from_granule_one,
                a_returned_block_serves_its_class_again_at_the_same_place,
                an_idle_block_up_to_four_classes_larger_is_used_whole,
                an_idle_block_five_classes_larger_is_split,
                the_exact_class_is_preferred_to_a_larger_one,
                neighbours_merge_in_whatever_order_they_are_returned,
                a_live_block_is_merged_with_nothing,
                a_span_returned_between_free_spans_joins_both,
                the_smallest_span_that_is_large_enough_is_split,
                of_equal_spans_the_one_at_the_lowest_address_is_used,
                spans_between_two_classes_are_found_by_length,
                of_spans_in_one_list_the_smallest_is_used,
                a_free_span_at_the_end_becomes_part_of_a_new_block,
                a_block_that_only_extends_the_area_is_fresh,
                more_idle_blocks_than_a_bin_counts_become_free_spans,
                the_area_becomes_writable_in_pieces_of_4_mib,
                a_source_that_refuses_leaves_everything_as_it_was,
                an_exhausted_area_serves_again_after_a_return,
                the_end_of_the_area_is_usable_by_merging_into_it,
                an_index_beyond_what_a_bin_can_name_is_never_used,
                trimming_gives_back_what_is_not_live_and_only_that,
                the_rest_of_a_trimmed_span_stays_fresh,
                a_trimmed_span_that_merges_with_a_returned_block_is_not_fresh,
                a_trimmed_span_at_the_end_makes_a_fresh_block,
                a_span_that_the_source_does_not_take_back_is_not_fresh,
                what_was_merged_is_no_block, an_area_that_was_shed_grows_no_further,
                without_its_lock_the_area_serves_what_is_idle_and_nothing_else,
                without_its_lock_a_block_that_finds_its_bin_full_is_forgotten,
                a_return_of_what_is_not_live_traps, a_walk_meets_every_block_once,
                both_sides_of_a_fork_claim_and_return,
                random_claims_and_returns_never_overlap_and_fresh_memory_is_zero)

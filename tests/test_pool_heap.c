/* Defends: a request is served by retained memory or refused and counted as spilled,
   never in between; an address is a block's only where a live one begins; contents
   survive growing; memory said to be fresh is zero; and the figures add up exactly. */
#include "pool/heap.h"

#include <string.h>

#include "tests/fake_source.h"
#include "tests/suite.h"

#define KIB  ((size_t)1 << 10)
#define MIB  ((size_t)1 << 20)
#define GIB  ((size_t)1 << 30)
#define AREA GIB /* of the packed area, and of each row, at the scale of most tests */

static struct pool_heap heap;

static void open_scaled(size_t area)
{
    fake_reset();
    memset(&heap, 0, sizeof(heap));
    fake.reserve_bytes_max = area * (1 + POOL_ROW_COUNT) + 2 * MIB;
    ck_assert(pool_heap_open(&heap, &fake_source));
    ck_assert_uint_eq(heap.bytes, area * (1 + POOL_ROW_COUNT));
}

static void setup(void)
{
    open_scaled(AREA);
}

static void teardown(void)
{
    if (heap.bytes > 0)
        ck_assert(pool_spans_valid(&heap.spans));
}

static char *claim(size_t bytes)
{
    bool fresh;
    char *block = pool_heap_claim(&heap, bytes, &fresh);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_eq((uintptr_t)block % (64 * KIB), 0);
    return block;
}

static void is_refused(size_t bytes)
{
    bool fresh = true;
    ck_assert_ptr_null(pool_heap_claim(&heap, bytes, &fresh));
    ck_assert(!fresh);
}

static void give_back(void *block)
{
    ck_assert(pool_heap_return(&heap, block));
}

static bool all_are(const char *bytes, char expected, size_t count)
{
    size_t at = 0;
    while (at < count && bytes[at] == expected)
        at++;
    return at == count;
}

static void place_is(const void *address, enum pool_heap_place place)
{
    ck_assert_int_eq(pool_heap_place(&heap, address), place);
}

static void counts_are(uint64_t reused, uint64_t born, uint64_t spilled)
{
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(figures.reused, reused);
    ck_assert_uint_eq(figures.born, born);
    ck_assert_uint_eq(figures.claims, reused + born);
    ck_assert_uint_eq(figures.spilled, spilled);
}

static void bytes_are(uint64_t live, uint64_t idle)
{
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(figures.live_bytes, live);
    ck_assert_uint_eq(figures.idle_bytes, idle);
}

START_TEST(the_largest_scale_that_the_source_has_room_for_is_taken)
{
    for (unsigned refused = 0; refused < 4; refused++) {
        unsigned shift = 36 - 2 * refused;
        size_t area = (size_t)1 << shift;
        size_t record_bytes = 16 * (area / (64 * KIB) + pool_rows_records(shift));
        open_scaled(area);
        ck_assert_uint_eq((uintptr_t)heap.base % (2 * MIB), 0);
        ck_assert_ptr_eq(heap.rows_base, heap.base + area);
        ck_assert_uint_eq(fake_reserves(), 2 * (refused + 1));
        /* Of each scale that was refused, the records were given back. */
        ck_assert_uint_eq(fake_releases(), refused);
        ck_assert_uint_eq(fake_reserved(), record_bytes + 11 * area + 2 * MIB);
    }
}
END_TEST

START_TEST(a_source_without_room_leaves_a_heap_that_refuses_and_owns_nothing)
{
    char block[1];
    fake_reset();
    memset(&heap, 0, sizeof(heap));
    fake.reserve_bytes_max = GIB;
    ck_assert(!pool_heap_open(&heap, &fake_source));
    ck_assert_uint_eq(fake_reserved(), 0);
    ck_assert(!pool_heap_owns(&heap, block));
    ck_assert(!pool_heap_owns(&heap, NULL));
    is_refused(1);
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, MIB));
    counts_are(0, 0, 2);
    bytes_are(0, 0);
    ck_assert_uint_eq(pool_heap_trim(&heap), 0);
    pool_heap_fork_prepare(&heap);
    pool_heap_fork_done(&heap);
}
END_TEST

START_TEST(records_that_cannot_be_enabled_cost_one_scale)
{
    fake_reset();
    memset(&heap, 0, sizeof(heap));
    fake.reserve_bytes_max = 11 * 4 * GIB + 2 * MIB;
    fake.refused_enable = 3; /* after those of 64 and 16 GiB */
    ck_assert(pool_heap_open(&heap, &fake_source));
    ck_assert_uint_eq(heap.bytes, 11 * GIB);
    ck_assert_uint_eq(fake_releases(), 3);
}
END_TEST

START_TEST(a_claim_takes_whole_blocks_and_is_reused_exactly)
{
    char *block = claim(100 * KIB);
    bytes_are(128 * KIB, 0);
    counts_are(0, 1, 0);
    give_back(block);
    bytes_are(0, 128 * KIB);
    ck_assert_ptr_eq(claim(65 * KIB), block);
    counts_are(1, 1, 0);
    bytes_are(128 * KIB, 0);
    ck_assert_ptr_eq(claim(1), block + 128 * KIB);
    counts_are(1, 2, 0);
    bytes_are(192 * KIB, 0);
}
END_TEST

START_TEST(blocks_up_to_32_mib_are_packed_and_larger_ones_have_a_stride)
{
    ck_assert_ptr_eq(claim(32 * MIB), heap.base + 64 * KIB);
    ck_assert_ptr_eq(claim(32 * MIB + 1), heap.rows_base);
    ck_assert_ptr_eq(claim(64 * MIB), heap.rows_base + 64 * MIB);
    ck_assert_ptr_eq(claim(GIB), heap.rows_base + 4 * AREA);
    bytes_are(32 * MIB + 33 * MIB + 64 * MIB + GIB, 0);
    counts_are(0, 4, 0);
}
END_TEST

START_TEST(what_no_block_can_hold_is_refused_and_counted)
{
    is_refused(GIB + 1);
    is_refused(32 * GIB);
    is_refused(SIZE_MAX);
    is_refused(SIZE_MAX - 4095);
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, GIB + 1));
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, SIZE_MAX));
    counts_are(0, 0, 6);
    bytes_are(0, 0);
}
END_TEST

START_TEST(at_the_largest_scale_32_gib_are_served_and_no_more)
{
    open_scaled(64 * GIB);
    is_refused(32 * GIB + 1);
    is_refused(64 * GIB);
    is_refused(64 * GIB + 1);
    char *block = claim(32 * GIB);
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 32 * GIB);
    ck_assert(!pool_heap_resize(&heap, block, 32 * GIB + 1));
    bytes_are(32 * GIB, 0);
    counts_are(0, 1, 3);
}
END_TEST

START_TEST(a_source_that_refuses_spills_one_request_and_the_next_succeeds)
{
    fake_refuse_next_enable();
    is_refused(MIB);
    counts_are(0, 0, 1);
    char *block = claim(MIB);
    fake_refuse_next_enable();
    is_refused(100 * MIB);
    counts_are(0, 1, 2);
    bytes_are(MIB, 0);
    give_back(claim(33 * MIB));
    fake_refuse_next_enable();
    is_refused(40 * MIB);
    counts_are(0, 2, 3);
    bytes_are(MIB, 33 * MIB);
    ck_assert_ptr_eq(claim(40 * MIB), heap.rows_base);
    counts_are(1, 2, 3);
    give_back(block);
}
END_TEST

START_TEST(an_exhausted_area_spills_until_a_block_is_returned)
{
    char *last = NULL;
    for (unsigned i = 0; i < 31; i++)
        last = claim(32 * MIB);
    is_refused(32 * MIB);
    counts_are(0, 31, 1);
    give_back(last);
    ck_assert_ptr_eq(claim(32 * MIB), last);
    counts_are(1, 31, 1);
}
END_TEST

START_TEST(the_usable_size_is_the_request_in_whole_pages)
{
    char *block = claim(100 * KIB + 1);
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 104 * KIB);
    give_back(block);
    ck_assert_uint_eq(pool_heap_usable(&heap, claim(1)), 4 * KIB);
    ck_assert_uint_eq(pool_heap_usable(&heap, claim(64 * KIB)), 64 * KIB);
    ck_assert_uint_eq(pool_heap_usable(&heap, claim(40 * MIB - 1)), 40 * MIB);
}
END_TEST

START_TEST(a_packed_block_is_resized_within_its_capacity)
{
    char *block = claim(129 * KIB);
    memset(block, 7, 192 * KIB);
    ck_assert(pool_heap_resize(&heap, block, 192 * KIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 192 * KIB);
    ck_assert(!pool_heap_resize(&heap, block, 192 * KIB + 1));
    ck_assert(!pool_heap_resize(&heap, block, SIZE_MAX));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 192 * KIB);
    ck_assert(pool_heap_resize(&heap, block, 1));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 4 * KIB);
    ck_assert(pool_heap_resize(&heap, block, 192 * KIB));
    ck_assert(all_are(block, 7, 192 * KIB));
    bytes_are(192 * KIB, 0);
    counts_are(0, 1, 0);
}
END_TEST

START_TEST(a_block_for_growing_grows_in_place_up_to_its_stride)
{
    char *block = pool_heap_claim_growing(&heap, 100 * KIB);
    ck_assert_ptr_eq(block, heap.rows_base);
    size_t bytes = 100 * KIB;
    memset(block, 3, bytes);
    while (bytes < 64 * MIB) {
        size_t more = bytes * 3 / 2 < 64 * MIB ? bytes * 3 / 2 : 64 * MIB;
        ck_assert(pool_heap_resize(&heap, block, more));
        ck_assert_int_eq(block[bytes - 1], 3);
        block[more - 1] = 3;
        bytes = more;
    }
    ck_assert(all_are(block, 3, 100 * KIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 64 * MIB);
    ck_assert(!pool_heap_resize(&heap, block, 64 * MIB + 1));
    counts_are(0, 1, 0);
}
END_TEST

START_TEST(growing_that_the_source_refuses_leaves_the_block_as_it_was)
{
    char *block = pool_heap_claim_growing(&heap, MIB);
    fake_refuse_next_enable();
    ck_assert(!pool_heap_resize(&heap, block, 2 * MIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), MIB);
    bytes_are(MIB, 0);
    ck_assert(pool_heap_resize(&heap, block, 2 * MIB));
    bytes_are(2 * MIB, 0);
}
END_TEST

START_TEST(a_block_for_growing_comes_from_the_packed_area_where_rows_refuse)
{
    fake_refuse_next_enable();
    char *block = pool_heap_claim_growing(&heap, MIB);
    ck_assert_ptr_eq(block, heap.base + 64 * KIB);
    ck_assert_uint_eq(pool_heap_usable(&heap, block), MIB);
    counts_are(0, 1, 0);
    bytes_are(MIB, 0);
}
END_TEST

START_TEST(a_pointer_is_a_block_only_where_a_live_one_begins)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    char *const edges[] = {heap.base,
                           heap.rows_base - 1,
                           heap.rows_base - 64 * KIB,
                           heap.rows_base + AREA,
                           heap.base + heap.bytes - 1,
                           packed + MIB,
                           large + 64 * MIB};
    place_is(packed, POOL_PLACE_LIVE);
    place_is(large, POOL_PLACE_LIVE);
    const size_t offsets[] = {1, 16, 4 * KIB, 64 * KIB, MIB - 1};
    for (unsigned i = 0; i < 5; i++) {
        place_is(packed + offsets[i], POOL_PLACE_INSIDE);
        place_is(large + offsets[i], POOL_PLACE_INSIDE);
        ck_assert(!pool_heap_return(&heap, packed + offsets[i]));
        ck_assert(!pool_heap_return(&heap, large + offsets[i]));
    }
    ck_assert(pool_heap_owns(&heap, packed) && pool_heap_owns(&heap, packed + MIB - 1));
    ck_assert(pool_heap_owns(&heap, large) && pool_heap_owns(&heap, large + 64 * MIB - 1));
    for (unsigned i = 0; i < 7; i++) {
        /* Granule 0 is never handed out but lies before what was. */
        ck_assert_int_eq(pool_heap_owns(&heap, edges[i]), i == 0);
        place_is(edges[i], POOL_PLACE_INSIDE);
        ck_assert(!pool_heap_return(&heap, edges[i]));
    }
    ck_assert(!pool_heap_owns(&heap, heap.base - 1));
    ck_assert(!pool_heap_owns(&heap, heap.base + heap.bytes));
    bytes_are(MIB + 40 * MIB, 0);
}
END_TEST

START_TEST(a_block_that_was_returned_is_told_from_one_that_never_was)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    place_is(packed, POOL_PLACE_RETURNED);
    place_is(large, POOL_PLACE_RETURNED);
    ck_assert(!pool_heap_return(&heap, packed));
    ck_assert(!pool_heap_return(&heap, large));
    bytes_are(0, 41 * MIB);
    (void)pool_heap_trim(&heap);
    place_is(packed, POOL_PLACE_RETURNED);
    place_is(large, POOL_PLACE_RETURNED);
    ck_assert(!pool_heap_return(&heap, packed));
    ck_assert(!pool_heap_return(&heap, large));
    ck_assert_ptr_eq(claim(MIB), packed);
    ck_assert_ptr_eq(claim(40 * MIB), large);
    place_is(packed, POOL_PLACE_LIVE);
    place_is(large, POOL_PLACE_LIVE);
}
END_TEST

START_TEST(trimming_leaves_what_is_live_and_makes_the_rest_fresh)
{
    bool fresh = false;
    char *kept = claim(MIB), *packed = claim(2 * MIB), *large = claim(40 * MIB);
    claim(1);
    memset(kept, 1, MIB);
    memset(packed, 1, 2 * MIB);
    large[0] = large[40 * MIB - 1] = 1;
    give_back(packed);
    give_back(large);
    ck_assert_uint_eq(pool_heap_trim(&heap), 42 * MIB);
    bytes_are(MIB + 64 * KIB, 0);
    ck_assert_uint_eq(pool_heap_trim(&heap), 0);
    ck_assert(all_are(kept, 1, MIB));
    ck_assert_ptr_eq(pool_heap_claim(&heap, 2 * MIB, &fresh), packed);
    ck_assert(fresh && packed[0] == 0 && packed[2 * MIB - 1] == 0);
    ck_assert_ptr_eq(pool_heap_claim(&heap, 40 * MIB, &fresh), large);
    ck_assert(fresh && large[0] == 0 && large[40 * MIB - 1] == 0);
    counts_are(2, 4, 0);
}
END_TEST

START_TEST(both_sides_of_a_fork_claim_and_return)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    pool_heap_fork_done(&heap);
    char *second = claim(MIB), *second_large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    if (child == 0)
        _exit(second == packed + MIB && second_large == large + 64 * MIB ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { MODEL_BLOCKS = 40 };

/* What a test that knows every block says of the heap. */
struct model {
    char *blocks[MODEL_BLOCKS];
    size_t bytes[MODEL_BLOCKS]; /* requested */
    uint64_t served, spilled;
};

static bool overlap(const struct model *model, unsigned a, unsigned b)
{
    return model->blocks[a] && model->blocks[b] &&
           model->blocks[a] < model->blocks[b] + model->bytes[b] &&
           model->blocks[b] < model->blocks[a] + model->bytes[a];
}

/* The pages that the model reads and writes: the first and the last of a block. */
static void model_fill(const struct model *model, unsigned slot)
{
    size_t part = model->bytes[slot] < 4 * KIB ? model->bytes[slot] : 4 * KIB;
    memset(model->blocks[slot], (int)slot + 1, part);
    memset(model->blocks[slot] + model->bytes[slot] - part, (int)slot + 1, part);
}

static void model_check(const struct model *model, unsigned slot, char expected)
{
    size_t part = model->bytes[slot] < 4 * KIB ? model->bytes[slot] : 4 * KIB;
    const char *block = model->blocks[slot];
    ck_assert(all_are(block, expected, part));
    ck_assert(all_are(block + model->bytes[slot] - part, expected, part));
}

static void model_claim(struct model *model, unsigned slot, size_t bytes, bool growing)
{
    bool fresh = false;
    char *block = growing ? pool_heap_claim_growing(&heap, bytes)
                          : pool_heap_claim(&heap, bytes, &fresh);
    model->served += block != NULL;
    model->spilled += block == NULL;
    model->blocks[slot] = block;
    model->bytes[slot] = bytes;
    if (!block)
        return;
    ck_assert_uint_eq(pool_heap_usable(&heap, block), (bytes + 4095) & ~(size_t)4095);
    for (unsigned other = 0; other < MODEL_BLOCKS; other++)
        if (other != slot && overlap(model, slot, other))
            ck_abort_msg("a block of %zu bytes is part of a live one", bytes);
    if (fresh)
        model_check(model, slot, 0);
    model_fill(model, slot);
}

static void model_step(struct model *model, uint64_t dice)
{
    unsigned slot = (unsigned)(dice % MODEL_BLOCKS);
    size_t bytes = 1 + (dice >> 8) % (KIB << (dice >> 48) % 18);
    if (dice >> 57 == 0)
        (void)pool_heap_trim(&heap);
    if (dice >> 57 == 1)
        fake_refuse_next_enable();
    if (!model->blocks[slot]) {
        model_claim(model, slot, bytes, dice >> 56 & 1);
        return;
    }
    model_check(model, slot, (char)(slot + 1));
    if (dice >> 55 & 1 && pool_heap_resize(&heap, model->blocks[slot], bytes)) {
        model->bytes[slot] = bytes;
        model_fill(model, slot);
        return;
    }
    give_back(model->blocks[slot]);
    model->blocks[slot] = NULL;
}

START_TEST(random_use_keeps_contents_and_every_request_is_counted_once)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct model model = {0};
        uint64_t random = seed;
        setup();
        for (unsigned step = 0; step < 4000; step++)
            model_step(&model, next_random(&random));
        struct pool_heap_figures figures = pool_heap_read(&heap);
        ck_assert_uint_eq(figures.claims, model.served);
        ck_assert_uint_eq(figures.claims, figures.reused + figures.born);
        ck_assert_uint_eq(figures.spilled, model.spilled);
        ck_assert_uint_gt(figures.spilled, 0);
        for (unsigned slot = 0; slot < MODEL_BLOCKS; slot++)
            if (model.blocks[slot])
                give_back(model.blocks[slot]);
        figures = pool_heap_read(&heap);
        ck_assert_uint_eq(figures.live_bytes, 0);
        /* Blocks that merge with trimmed ones are given back together with them. */
        ck_assert_uint_ge(pool_heap_trim(&heap), figures.idle_bytes);
        bytes_are(0, 0);
        ck_assert(pool_spans_valid(&heap.spans));
    }
}
END_TEST

SUITE_MAIN_WITH("pool/heap", setup, teardown,
                the_largest_scale_that_the_source_has_room_for_is_taken,
                a_source_without_room_leaves_a_heap_that_refuses_and_owns_nothing,
                records_that_cannot_be_enabled_cost_one_scale,
                a_claim_takes_whole_blocks_and_is_reused_exactly,
                blocks_up_to_32_mib_are_packed_and_larger_ones_have_a_stride,
                what_no_block_can_hold_is_refused_and_counted,
                at_the_largest_scale_32_gib_are_served_and_no_more,
                a_source_that_refuses_spills_one_request_and_the_next_succeeds,
                an_exhausted_area_spills_until_a_block_is_returned,
                the_usable_size_is_the_request_in_whole_pages,
                a_packed_block_is_resized_within_its_capacity,
                a_block_for_growing_grows_in_place_up_to_its_stride,
                growing_that_the_source_refuses_leaves_the_block_as_it_was,
                a_block_for_growing_comes_from_the_packed_area_where_rows_refuse,
                a_pointer_is_a_block_only_where_a_live_one_begins,
                a_block_that_was_returned_is_told_from_one_that_never_was,
                trimming_leaves_what_is_live_and_makes_the_rest_fresh,
                both_sides_of_a_fork_claim_and_return,
                random_use_keeps_contents_and_every_request_is_counted_once)

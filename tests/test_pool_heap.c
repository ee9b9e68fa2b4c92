/* Defends: a request is served by retained memory or refused and counted as spilled,
   never in between; an address is a block's only where a live one begins; contents
   survive growing; and the figures add up exactly. */
#include "tests/heap_fixture.h"

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
    ck_assert(!pool_heap_return(&heap, block));
    ck_assert(!pool_heap_return(&heap, NULL));
    is_refused(1);
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, MIB));
    counts_are(0, 0, 2);
    bytes_are(0, 0);
    ck_assert_uint_eq(pool_heap_trim(&heap), 0);
    pool_heap_shed(&heap);
    ck_assert_uint_eq(fake_reserved(), 0);
    pool_heap_fork_prepare(&heap);
    pool_heap_fork_done(&heap, false);
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

START_TEST(when_every_area_is_exhausted_claims_spill_until_a_block_is_returned)
{
    /* Granule 0 of each area is never handed out. */
    const unsigned most = AREA / (32 * MIB) - POOL_PACKED_AREAS;
    char *last = NULL;
    for (unsigned i = 0; i < most; i++)
        last = claim(32 * MIB);
    is_refused(32 * MIB);
    counts_are(0, most, 1);
    give_back(last);
    ck_assert_ptr_eq(claim(32 * MIB), last);
    counts_are(1, most, 1);
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
    for (unsigned i = 0; i < 7; i++) {
        place_is(edges[i], POOL_PLACE_INSIDE);
        ck_assert(!pool_heap_return(&heap, edges[i]));
    }
    bytes_are(MIB + 40 * MIB, 0);
}
END_TEST

START_TEST(an_address_outside_of_the_reservation_is_no_block)
{
    char *end = heap.base + heap.bytes;
    char *const outside[] = {NULL,          heap.base - 64 * KIB,
                             heap.base - 1, end,
                             end + GIB,     (char *)UINTPTR_MAX - 64 * KIB + 1};
    (void)claim(MIB);
    for (unsigned i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert(!pool_heap_return(&heap, outside[i]));
    bytes_are(MIB, 0);
}
END_TEST

START_TEST(an_address_is_ours_where_a_block_was_ever_born)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    ck_assert(pool_heap_owns(&heap, packed));
    ck_assert(pool_heap_owns(&heap, packed + MIB - 1));
    ck_assert(!pool_heap_owns(&heap, packed + MIB));
    ck_assert(!pool_heap_owns(&heap, heap.rows_base - 1));
    ck_assert(pool_heap_owns(&heap, large));
    ck_assert(pool_heap_owns(&heap, large + 64 * MIB - 1));
    ck_assert(!pool_heap_owns(&heap, large + 64 * MIB));
    /* Granule 0 is never handed out but lies before what was. */
    ck_assert(pool_heap_owns(&heap, heap.base));
    ck_assert(!pool_heap_owns(&heap, heap.base - 1));
    ck_assert(!pool_heap_owns(&heap, heap.base + heap.bytes));
    ck_assert(!pool_heap_owns(&heap, NULL));
    give_back(packed);
    give_back(large);
    (void)pool_heap_trim(&heap);
    ck_assert(pool_heap_owns(&heap, packed));
    ck_assert(pool_heap_owns(&heap, large));
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

START_TEST(a_block_that_outgrows_its_own_moves_with_its_contents)
{
    char *block = claim(100 * KIB);
    memset(block, 7, 100 * KIB);
    char *grown = pool_heap_grow(&heap, block, 200 * KIB);
    ck_assert_ptr_eq(grown, heap.rows_base);
    ck_assert(all_are(grown, 7, 100 * KIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, grown), 200 * KIB);
    place_is(block, POOL_PLACE_RETURNED);
    counts_are(0, 2, 0);
    bytes_are(MIB, 128 * KIB);
}
END_TEST

START_TEST(a_block_that_cannot_grow_stays_as_it_was)
{
    char *block = claim(100 * KIB);
    memset(block, 7, 100 * KIB);
    ck_assert_ptr_null(pool_heap_grow(&heap, block, GIB + 1));
    place_is(block, POOL_PLACE_LIVE);
    ck_assert(all_are(block, 7, 100 * KIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 100 * KIB);
    counts_are(0, 1, 1);
}
END_TEST

/* A block of 3 MiB from the rows grows into the next row; how often pages were moved. */
static unsigned moves_of_a_grown_block(void)
{
    char *block = pool_heap_claim_growing(&heap, 3 * MIB);
    memset(block, 7, 3 * MIB);
    char *grown = pool_heap_grow(&heap, block, 65 * MIB);
    ck_assert_ptr_eq(grown, heap.rows_base + AREA);
    ck_assert(all_are(grown, 7, 3 * MIB));
    ck_assert_int_eq(grown[65 * MIB - 1], 0);
    place_is(block, POOL_PLACE_RETURNED);
    give_back(grown);
    return fake_moves();
}

START_TEST(pages_are_moved_between_rows_into_a_fresh_block_only)
{
    ck_assert_uint_eq(moves_of_a_grown_block(), 1);
    ck_assert_uint_eq(moves_of_a_grown_block(), 1); /* the block before was used */
    char *small = pool_heap_claim_growing(&heap, MIB);
    memset(small, 7, MIB);
    (void)pool_heap_trim(&heap);
    ck_assert(all_are(pool_heap_grow(&heap, small, 65 * MIB), 7, MIB));
    ck_assert_uint_eq(fake_moves(), 1);
}
END_TEST

START_TEST(pages_that_the_source_does_not_move_are_copied)
{
    fake.refused_move = 1;
    ck_assert_uint_eq(moves_of_a_grown_block(), 1);
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
                when_every_area_is_exhausted_claims_spill_until_a_block_is_returned,
                the_usable_size_is_the_request_in_whole_pages,
                a_packed_block_is_resized_within_its_capacity,
                a_block_for_growing_grows_in_place_up_to_its_stride,
                growing_that_the_source_refuses_leaves_the_block_as_it_was,
                a_block_for_growing_comes_from_the_packed_area_where_rows_refuse,
                a_pointer_is_a_block_only_where_a_live_one_begins,
                an_address_outside_of_the_reservation_is_no_block,
                an_address_is_ours_where_a_block_was_ever_born,
                a_block_that_was_returned_is_told_from_one_that_never_was,
                a_block_that_outgrows_its_own_moves_with_its_contents,
                a_block_that_cannot_grow_stays_as_it_was,
                pages_are_moved_between_rows_into_a_fresh_block_only,
                pages_that_the_source_does_not_move_are_copied)

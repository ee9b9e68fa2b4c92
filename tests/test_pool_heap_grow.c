/* Defends: a block that grows keeps its contents, whether its pages are moved or copied and
   at whichever step the source refuses; the block that it leaves is idle; huge pages are
   asked for where the tuning says, of a block that grows as of one that was born so large. */
#include "tests/heap_fixture.h"

static struct pool_source source; /* the fake one, with what a test changes */

static void open_with_source(void)
{
    setup();
    memset(&heap, 0, sizeof(heap));
    ck_assert(pool_heap_open(&heap, &source));
}

static void setup_source(void)
{
    source = fake_source;
    open_with_source();
}

/* Every page of a block holds its own number, of which a copy is kept nowhere else. */
static void number_pages(char *block, size_t from, size_t bytes)
{
    for (size_t at = from; at + sizeof(at) <= bytes; at += 4 * KIB)
        memcpy(block + at, &at, sizeof(at));
}

static void are_numbered(const char *block, size_t bytes)
{
    size_t number;
    for (size_t at = 0; at + sizeof(at) <= bytes; at += 4 * KIB) {
        memcpy(&number, block + at, sizeof(number));
        if (number != at)
            ck_abort_msg("page at %zu holds %zu", at, number);
    }
}

/* Grows a block step by step, in place where it can, up to `most`; then returns it. */
static void grow_to(size_t most)
{
    size_t bytes = 100 * KIB;
    char *block = claim(bytes);
    number_pages(block, 0, bytes);
    while (bytes < most) {
        size_t more = bytes + bytes / 2;
        if (!pool_heap_resize(&heap, block, more))
            block = pool_heap_grow(&heap, block, more);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_ge(pool_heap_usable(&heap, block), more);
        are_numbered(block, bytes);
        number_pages(block, bytes & ~(4 * KIB - 1), more);
        bytes = more;
    }
    give_back(block);
    ck_assert_uint_eq(pool_heap_read(&heap).live_bytes, 0);
}

START_TEST(a_block_that_grows_through_three_rows_keeps_every_page)
{
    grow_to(150 * MIB);
    ck_assert_uint_eq(fake_moves(), 2);
    /* The rows' blocks were used by now: their pages would have to be given back first. */
    grow_to(150 * MIB);
    ck_assert_uint_eq(fake_moves(), 2);
    (void)pool_heap_trim(&heap);
    grow_to(150 * MIB);
    ck_assert_uint_gt(fake_moves(), 2);
}
END_TEST

START_TEST(a_block_whose_source_cannot_move_is_copied)
{
    source.move = NULL;
    open_with_source();
    grow_to(150 * MIB);
    ck_assert_uint_eq(fake_moves(), 0);
}
END_TEST

START_TEST(a_move_that_is_refused_at_either_step_is_a_copy)
{
    for (unsigned refused = 1; refused <= 2; refused++) {
        open_with_source();
        fake.refused_move = refused;
        grow_to(150 * MIB);
        ck_assert_uint_eq(fake_moves(), 2);
    }
}
END_TEST

static void prefer_huge_in_earnest(void *address, size_t bytes)
{
    madvise(address, bytes, MADV_HUGEPAGE);
}

/* With huge pages at its start a block is two mappings: older kernels refuse to move both at
   once (EFAULT), later ones move them. */
START_TEST(a_block_of_two_mappings_keeps_its_contents_whatever_the_kernel_says)
{
    source.prefer_huge = prefer_huge_in_earnest;
    for (enum pool_huge huge = POOL_HUGE_AUTO; huge <= POOL_HUGE_ALWAYS; huge++) {
        open_with_source();
        pool_packed_prefer(&heap.packed, huge);
        heap.rows.huge = huge;
        grow_to(150 * MIB);
        (void)pool_heap_trim(&heap);
        grow_to(150 * MIB);
    }
}
END_TEST

START_TEST(pages_are_moved_from_2_mib_up)
{
    char *block = pool_heap_claim_growing(&heap, 2 * MIB - 4 * KIB);
    number_pages(block, 0, 2 * MIB - 4 * KIB);
    block = pool_heap_grow(&heap, block, 70 * MIB);
    are_numbered(block, 2 * MIB - 4 * KIB);
    ck_assert_uint_eq(fake_moves(), 0);
    ck_assert(pool_heap_resize(&heap, block, 2 * MIB));
    number_pages(block, 0, 2 * MIB);
    block = pool_heap_grow(&heap, block, 130 * MIB);
    are_numbered(block, 2 * MIB);
    ck_assert_uint_eq(fake_moves(), 1);
}
END_TEST

START_TEST(what_a_moved_block_leaves_serves_again_and_is_not_said_to_be_fresh)
{
    bool fresh = true;
    char *block = pool_heap_claim_growing(&heap, 3 * MIB);
    number_pages(block, 0, 3 * MIB);
    char *grown = pool_heap_grow(&heap, block, 70 * MIB);
    ck_assert_int_eq(pool_heap_place(&heap, block), POOL_PLACE_RETURNED);
    ck_assert_ptr_eq(pool_heap_claim(&heap, 40 * MIB, &fresh), block);
    ck_assert(!fresh);
    number_pages(block, 0, 40 * MIB);
    are_numbered(block, 40 * MIB);
    are_numbered(grown, 3 * MIB);
    ck_assert_ptr_eq(grown, heap.rows_base + AREA);
    ck_assert_int_eq(grown[70 * MIB - 1], 0);
}
END_TEST

static bool enable_nothing(void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
    return false;
}

START_TEST(growth_that_no_row_can_hold_leaves_the_block_and_is_a_spill)
{
    char *block = pool_heap_claim_growing(&heap, 3 * MIB);
    number_pages(block, 0, 3 * MIB);
    ck_assert_ptr_null(pool_heap_grow(&heap, block, GIB + 1));
    source.enable = enable_nothing;
    ck_assert_ptr_null(pool_heap_grow(&heap, block, 70 * MIB));
    source.enable = fake_enable;
    ck_assert_uint_eq(pool_heap_read(&heap).spilled, 2);
    ck_assert_uint_eq(fake_moves(), 0);
    ck_assert_int_eq(pool_heap_place(&heap, block), POOL_PLACE_LIVE);
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 3 * MIB);
    are_numbered(block, 3 * MIB);
    ck_assert_ptr_nonnull(pool_heap_grow(&heap, block, 70 * MIB));
}
END_TEST

START_TEST(huge_pages_are_asked_for_as_a_block_grows_in_place)
{
    const size_t expected[] = {
        [POOL_HUGE_AUTO] = 4 * MIB, [POOL_HUGE_NEVER] = 0, [POOL_HUGE_ALWAYS] = 20 * MIB};
    for (enum pool_huge huge = POOL_HUGE_AUTO; huge <= POOL_HUGE_ALWAYS; huge++) {
        setup();
        pool_heap_tune(&heap, &(struct pool_heap_tuning){.huge = huge});
        char *block = pool_heap_claim_growing(&heap, MIB);
        ck_assert_uint_eq(fake_huge(), huge == POOL_HUGE_NEVER ? 0 : MIB);
        ck_assert(pool_heap_resize(&heap, block, 3 * MIB));
        ck_assert_uint_eq(fake_huge(), huge == POOL_HUGE_NEVER ? 0 : 3 * MIB);
        ck_assert(pool_heap_resize(&heap, block, 10 * MIB));
        ck_assert(pool_heap_resize(&heap, block, 20 * MIB));
        ck_assert_uint_eq(fake_huge(), expected[huge]);
        ck_assert(pool_heap_resize(&heap, block, 20 * MIB));
        ck_assert_uint_eq(fake_huge(), expected[huge]);
    }
}
END_TEST

START_TEST(a_large_block_makes_the_packed_area_huge_from_its_first_granule)
{
    claim(1);
    ck_assert_uint_eq(fake_huge(), 2 * MIB); /* the second half of 4 MiB */
    setup();
    give_back(claim(40 * MIB));
    ck_assert_uint_eq(fake_huge(), 4 * MIB);
    claim(1);
    ck_assert_uint_eq(fake_huge(), 8 * MIB);
    setup();
    pool_heap_tune(&heap, &(struct pool_heap_tuning){.huge = POOL_HUGE_ALWAYS});
    claim(1);
    ck_assert_uint_eq(fake_huge(), 4 * MIB);
    claim(40 * MIB);
    ck_assert_uint_eq(fake_huge(), 44 * MIB);
    setup();
    pool_heap_tune(&heap, &(struct pool_heap_tuning){.huge = POOL_HUGE_NEVER});
    claim(1);
    claim(40 * MIB);
    ck_assert_uint_eq(fake_huge(), 0);
}
END_TEST

SUITE_MAIN_WITH("pool/heap, growth", setup_source, teardown,
                a_block_that_grows_through_three_rows_keeps_every_page,
                a_block_whose_source_cannot_move_is_copied,
                a_move_that_is_refused_at_either_step_is_a_copy,
                a_block_of_two_mappings_keeps_its_contents_whatever_the_kernel_says,
                pages_are_moved_from_2_mib_up,
                what_a_moved_block_leaves_serves_again_and_is_not_said_to_be_fresh,
                growth_that_no_row_can_hold_leaves_the_block_and_is_a_spill,
                huge_pages_are_asked_for_as_a_block_grows_in_place,
                a_large_block_makes_the_packed_area_huge_from_its_first_granule)

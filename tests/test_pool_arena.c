/* Defends: pieces of an arena are aligned, disjoint and within its capacity, whoever races for
   them, and a claim that does not fit costs that claim alone. */
#include "pool/arena.h"

#include <stdint.h>
#include <string.h>

#include "tests/suite.h"

enum { ALIGN = 16, PREFIX = 32 };

static const struct pool_arena_shape shape = {.prefix_bytes = PREFIX, .align = ALIGN};
static char block[1 << 16];

static struct pool_arena arena_of(size_t capacity_bytes)
{
    struct pool_arena arena;
    pool_arena_open(&arena, block, capacity_bytes, shape);
    return arena;
}

static size_t claimed(struct pool_arena *arena, size_t image_bytes)
{
    size_t offset = SIZE_MAX;
    ck_assert(pool_arena_claim(arena, image_bytes, &offset));
    ck_assert_uint_eq(offset % ALIGN, 0);
    return offset;
}

/* A refusal leaves the cursor and the output as they were. */
static void expect_refused(struct pool_arena *arena, size_t image_bytes)
{
    size_t offset = 4711;
    size_t used = pool_arena_used(arena);
    ck_assert(!pool_arena_claim(arena, image_bytes, &offset));
    ck_assert_uint_eq(offset, 4711);
    ck_assert_uint_eq(pool_arena_used(arena), used);
}

START_TEST(a_piece_is_prefix_and_image_rounded_up_to_the_alignment)
{
    struct pool_arena arena = arena_of(sizeof(block));
    size_t piece;
    ck_assert(pool_arena_piece(shape, 100, &piece));
    ck_assert_uint_eq(piece, 144);
    ck_assert_uint_eq(claimed(&arena, 100), 0);
    ck_assert_uint_eq(pool_arena_used(&arena), 144);
    ck_assert_uint_eq(claimed(&arena, 0), 144);
    ck_assert_uint_eq(claimed(&arena, 1), 144 + 32);
    ck_assert_uint_eq(pool_arena_used(&arena), 144 + 32 + 48);
}
END_TEST

START_TEST(a_smaller_claim_still_fits_after_a_larger_one_failed)
{
    struct pool_arena arena = arena_of(256);
    ck_assert_uint_eq(claimed(&arena, 100), 0);
    expect_refused(&arena, 100);
    ck_assert_uint_eq(pool_arena_used(&arena), 144);
    ck_assert_uint_eq(claimed(&arena, 80), 144);
    ck_assert_uint_eq(pool_arena_used(&arena), 256);
    expect_refused(&arena, 0);
}
END_TEST

START_TEST(an_exact_fit_is_taken_and_one_byte_more_is_refused)
{
    struct pool_arena arena = arena_of(144);
    expect_refused(&arena, 144 - PREFIX + 1);
    ck_assert_uint_eq(claimed(&arena, 144 - PREFIX), 0);
    struct pool_arena shorter = arena_of(143);
    expect_refused(&shorter, 100);
    ck_assert_uint_eq(claimed(&shorter, 96), 0);
}
END_TEST

START_TEST(sizes_that_cannot_be_represented_are_refused)
{
    struct pool_arena arena = arena_of(sizeof(block));
    static const size_t images[] = {SIZE_MAX,      SIZE_MAX - 31,     SIZE_MAX - 46,
                                    SIZE_MAX - 47, SIZE_MAX / 2 + 1U, SIZE_MAX / 2};
    ck_assert_uint_eq(claimed(&arena, 100), 0);
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        expect_refused(&arena, images[i]);
    size_t piece = 1;
    ck_assert(!pool_arena_piece(shape, SIZE_MAX - 46, &piece));
    ck_assert_uint_eq(piece, 1);
    ck_assert(pool_arena_piece(shape, SIZE_MAX - 47, &piece));
    ck_assert_uint_eq(piece, SIZE_MAX - 15);
}
END_TEST

START_TEST(an_arena_without_a_block_or_a_possible_shape_refuses_everything)
{
    static const size_t images[] = {0, 1, 100, SIZE_MAX};
    static const struct pool_arena_shape impossible[] = {
        {PREFIX, 0}, {PREFIX, 3}, {PREFIX, 24}, {SIZE_MAX - 14, ALIGN}};
    struct pool_arena arena;
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        pool_arena_open(&arena, NULL, sizeof(block), shape);
        expect_refused(&arena, images[i]);
        pool_arena_open(&arena, NULL, 0, (struct pool_arena_shape){0, 0});
        expect_refused(&arena, images[i]);
        for (size_t s = 0; s < sizeof(impossible) / sizeof(impossible[0]); s++) {
            size_t piece;
            pool_arena_open(&arena, block, sizeof(block), impossible[s]);
            expect_refused(&arena, images[i]);
            ck_assert(!pool_arena_piece(impossible[s], images[i], &piece));
        }
    }
}
END_TEST

START_TEST(an_arena_of_no_bytes_refuses_and_stays_empty)
{
    struct pool_arena arena = arena_of(0);
    expect_refused(&arena, 0);
    expect_refused(&arena, 100);
    ck_assert_uint_eq(pool_arena_used(&arena), 0);
}
END_TEST

enum { THREADS = 4, CLAIMS = 4000 };

struct contest {
    struct pool_arena arena;
    size_t piece_bytes;
    _Atomic size_t refused_count;
    size_t offsets[THREADS][CLAIMS]; /* SIZE_MAX: refused */
    size_t images[THREADS][CLAIMS];
};

static void claim_many(unsigned thread, void *shared)
{
    struct contest *contest = shared;
    uint64_t random = thread + 1;
    for (size_t i = 0; i < CLAIMS; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t image = random >> 59; /* 0 to 31: pieces of 32, 48 and 64 */
        contest->images[thread][i] = image;
        if (pool_arena_claim(&contest->arena, image, &contest->offsets[thread][i]))
            continue;
        contest->offsets[thread][i] = SIZE_MAX;
        atomic_fetch_add_explicit(&contest->refused_count, 1, memory_order_relaxed);
    }
}

/* Marks [offset, offset + bytes) as owned, once. */
static void own(unsigned char *owned, size_t offset, size_t bytes)
{
    for (size_t i = offset; i < offset + bytes; i++) {
        ck_assert_msg(owned[i] == 0, "byte %zu belongs to two", i);
        owned[i] = 1;
    }
}

static void race(struct contest *contest, size_t capacity_bytes)
{
    static unsigned char owned[THREADS * CLAIMS * 64];
    memset(owned, 0, sizeof(owned));
    pool_arena_open(&contest->arena, block, capacity_bytes, shape);
    suite_run_threads(THREADS, claim_many, contest);
    size_t sum = 0, accepted = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        for (size_t i = 0; i < CLAIMS; i++) {
            size_t offset = contest->offsets[t][i], piece;
            if (offset == SIZE_MAX)
                continue;
            ck_assert(pool_arena_piece(shape, contest->images[t][i], &piece));
            ck_assert_uint_eq(offset % ALIGN, 0);
            ck_assert_uint_le(offset, capacity_bytes);
            ck_assert_uint_le(piece, capacity_bytes - offset);
            own(owned, offset, piece);
            sum += piece;
            accepted++;
        }
    }
    size_t refused = atomic_load_explicit(&contest->refused_count, memory_order_relaxed);
    ck_assert_uint_eq(accepted + refused, THREADS * CLAIMS);
    ck_assert_uint_eq(sum, pool_arena_used(&contest->arena));
}

START_TEST(threads_get_aligned_disjoint_pieces_and_their_sum_is_what_is_used)
{
    static struct contest contest;
    race(&contest, (size_t)THREADS * CLAIMS * 64);
    ck_assert_uint_eq(contest.refused_count, 0);
}
END_TEST

START_TEST(claims_that_fail_among_threads_never_move_the_cursor)
{
    static struct contest contest;
    /* Room for about a third, and no multiple of any piece. */
    race(&contest, (size_t)THREADS * CLAIMS * 16 + 16);
    ck_assert_uint_gt(contest.refused_count, CLAIMS);
    /* What is left is less than the smallest piece. */
    ck_assert_uint_lt(contest.arena.capacity_bytes - pool_arena_used(&contest.arena), 32);
}
END_TEST

SUITE_MAIN("pool/arena", a_piece_is_prefix_and_image_rounded_up_to_the_alignment,
           a_smaller_claim_still_fits_after_a_larger_one_failed,
           an_exact_fit_is_taken_and_one_byte_more_is_refused,
           sizes_that_cannot_be_represented_are_refused,
           an_arena_without_a_block_or_a_possible_shape_refuses_everything,
           an_arena_of_no_bytes_refuses_and_stays_empty,
           threads_get_aligned_disjoint_pieces_and_their_sum_is_what_is_used,
           claims_that_fail_among_threads_never_move_the_cursor)

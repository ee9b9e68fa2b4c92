/* Defends: a heap that was closed serves nothing, keeps nothing that is idle, neither memory nor
   address space, and still knows every live block until that is returned. */
#include "policy/must.h"
#include "tests/heap_fixture.h"

/* The records, 2 MiB that align the base, and granule 0 of each area. */
static size_t rest_bytes(void)
{
    return 16 * (AREA / (64 * KIB) + pool_rows_records(30)) + 2 * MIB +
           POOL_PACKED_AREAS * 64 * KIB;
}

static bool is_mapped(const char *address)
{
    unsigned char resident;
    return mincore((void *)(uintptr_t)address, 1, &resident) == 0;
}

START_TEST(a_closed_heap_serves_nothing_and_keeps_nothing)
{
    char *packed = claim(MIB), *odd = claim(3 * MIB + 1), *large = claim(40 * MIB);
    give_back(odd);
    give_back(packed);
    give_back(large);
    pool_heap_close(&heap);
    ck_assert_uint_eq(fake_reserved(), rest_bytes());
    ck_assert(!is_mapped(packed) && !is_mapped(large));
    is_refused(64 * KIB);
    is_refused(40 * MIB);
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, MIB));
    bytes_are(0, 0);
    counts_are(0, 3, 3);
    ck_assert_uint_eq(pool_heap_read(&heap).returned_bytes, 44 * MIB + 64 * KIB);
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 44 * MIB + 64 * KIB);
}
END_TEST

START_TEST(what_is_live_stays_and_goes_when_it_is_returned)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    memset(packed, 1, MIB);
    memset(large, 2, 40 * MIB);
    pool_heap_close(&heap);
    ck_assert_uint_eq(fake_reserved(), rest_bytes() + MIB + 64 * MIB);
    ck_assert(all_are(packed, 1, MIB) && all_are(large, 2, 40 * MIB));
    ck_assert_uint_eq(pool_heap_usable(&heap, packed), MIB);
    give_back(packed);
    ck_assert_uint_eq(fake_reserved(), rest_bytes() + 64 * MIB);
    give_back(large);
    ck_assert_uint_eq(fake_reserved(), rest_bytes());
    ck_assert_uint_eq(pool_heap_read(&heap).returned_bytes, 41 * MIB);
    ck_assert(!pool_heap_return(&heap, packed));
    place_is(packed, POOL_PLACE_RETURNED);
    place_is(large, POOL_PLACE_RETURNED);
}
END_TEST

/* Where its address space was given back, somebody else's memory may lie. */
START_TEST(a_closed_heap_owns_live_blocks_only)
{
    char *gone = claim(MIB), *live = claim(MIB), *row = claim(40 * MIB);
    ck_assert(pool_heap_owns(&heap, gone) && pool_heap_owns(&heap, live + 64 * KIB));
    give_back(gone);
    pool_heap_close(&heap);
    ck_assert(pool_heap_owns(&heap, live) && pool_heap_owns(&heap, row));
    ck_assert(!pool_heap_owns(&heap, gone) && !pool_heap_owns(&heap, live + 64 * KIB));
    ck_assert(!pool_heap_owns(&heap, row + 64 * MIB));
    give_back(live);
    ck_assert(!pool_heap_owns(&heap, live));
}
END_TEST

START_TEST(memory_that_was_given_back_before_is_not_counted_again)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    ck_assert_uint_eq(pool_heap_trim(&heap), 41 * MIB);
    pool_heap_close(&heap);
    pool_heap_close(&heap);
    ck_assert_uint_eq(pool_heap_read(&heap).returned_bytes, 41 * MIB);
    ck_assert_uint_eq(fake_reserved(), rest_bytes());
}
END_TEST

START_TEST(a_live_block_changes_its_size_where_it_lies_and_grows_nowhere_else)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    memset(packed, 1, MIB);
    pool_heap_close(&heap);
    ck_assert(pool_heap_resize(&heap, packed, 64 * KIB));
    ck_assert(pool_heap_resize(&heap, packed, MIB));
    ck_assert(!pool_heap_resize(&heap, packed, 2 * MIB));
    ck_assert_ptr_null(pool_heap_grow(&heap, packed, 2 * MIB));
    ck_assert(all_are(packed, 1, MIB));
    ck_assert(pool_heap_resize(&heap, large, 64 * MIB));
    large[64 * MIB - 1] = 1;
    ck_assert_ptr_null(pool_heap_grow(&heap, large, 65 * MIB));
    give_back(packed);
    give_back(large);
    bytes_are(0, 0);
}
END_TEST

START_TEST(closing_a_heap_that_never_opened_does_nothing)
{
    struct pool_heap never = {0};
    pool_heap_close(&never);
    ck_assert_uint_eq(pool_heap_read(&never).returned_bytes, 0);
}
END_TEST

START_TEST(a_child_of_a_closed_heap_has_what_its_parent_had)
{
    char *live = claim(2 * MIB);
    give_back(claim(4 * MIB));
    memset(live, 1, 2 * MIB);
    pool_heap_close(&heap);
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    pool_heap_fork_done(&heap, child == 0);
    if (child == 0)
        _exit(all_are(live, 1, 2 * MIB) && pool_heap_return(&heap, live) ? 0 : 1);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(all_are(live, 1, 2 * MIB));
}
END_TEST

enum { THREADS = 4, ROUNDS = 3000 };

/* The first closes the heap while the others are at it. */
static void use_or_close(unsigned index, void *shared)
{
    static const size_t sizes[] = {64 << 10, 300 << 10, 1 << 20, 5 << 20, 33 << 20};
    (void)shared;
    for (unsigned round = 0; round < ROUNDS; round++) {
        bool fresh;
        if (index == 0 && round == ROUNDS / 2)
            pool_heap_close(&heap);
        char *block = pool_heap_claim(&heap, sizes[(round + index) % 5], &fresh);
        if (!block)
            continue;
        must(block[0] == 0 || !fresh);
        block[0] = (char)(index + 1);
        sched_yield();
        must(block[0] == (char)(index + 1));
        must(pool_heap_return(&heap, block));
    }
}

START_TEST(threads_that_claim_and_return_meanwhile_leave_nothing_behind)
{
    suite_run_threads(THREADS, use_or_close, NULL);
    is_refused(MIB);
    pool_heap_close(&heap);
    bytes_are(0, 0);
    ck_assert_uint_eq(fake_reserved(), rest_bytes());
}
END_TEST

SUITE_MAIN_WITH("pool/close", setup, teardown,
                a_closed_heap_serves_nothing_and_keeps_nothing,
                what_is_live_stays_and_goes_when_it_is_returned,
                a_closed_heap_owns_live_blocks_only,
                memory_that_was_given_back_before_is_not_counted_again,
                a_live_block_changes_its_size_where_it_lies_and_grows_nowhere_else,
                closing_a_heap_that_never_opened_does_nothing,
                a_child_of_a_closed_heap_has_what_its_parent_had,
                threads_that_claim_and_return_meanwhile_leave_nothing_behind)

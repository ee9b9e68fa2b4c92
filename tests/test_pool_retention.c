/* Defends the heap's promise over time: what is idle follows what is needed, down as well as
   up; it stays below its limit; a source that refuses, a fork and another thread at the wrong
   moment cost nothing but what they refused. */
#include "tests/heap_fixture.h"

static struct pool_source source; /* the fake one, with what a test puts in its place */

static void setup_source(void)
{
    source = fake_source;
    setup();
    memset(&heap, 0, sizeof(heap));
    ck_assert(pool_heap_open(&heap, &source));
}

static uint64_t idle(void)
{
    return pool_heap_read(&heap).idle_bytes;
}

static uint64_t returned(void)
{
    return pool_heap_read(&heap).returned_bytes;
}

/* The parts of a block that tests read and write: its first and its last granule. */
static void fill(char *block, char value, size_t bytes)
{
    memset(block, value, 64 * KIB);
    memset(block + bytes - 64 * KIB, value, 64 * KIB);
}

static bool is_filled(const char *block, char value, size_t bytes)
{
    return all_are(block, value, 64 * KIB) &&
           all_are(block + bytes - 64 * KIB, value, 64 * KIB);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum {
    WINDOW_MS = 1000,
    ROUNDS = 50, /* of a demand in a window */
    DEMAND_MOST = 200,
};

/* Mostly up to 4 MiB, one in fifty above 32. */
static size_t random_bytes(uint64_t *random)
{
    uint64_t dice = next_random(random);
    if (dice % 50 == 0)
        return 33 * MIB + (dice >> 8) % (30 * MIB);
    return 1 + (dice >> 8) % (64 * KIB << (dice >> 40) % 7);
}

/* A round of work: so many blocks of sizes drawn anew are held at once, and returned in any
   order. */
static void work_round(unsigned count, uint64_t *random)
{
    char *blocks[DEMAND_MOST];
    for (unsigned i = 0; i < count; i++)
        blocks[i] = claim(random_bytes(random));
    for (unsigned left = count; left > 0; left--) {
        unsigned which = (unsigned)(next_random(random) % left);
        give_back(blocks[which]);
        blocks[which] = blocks[left - 1];
    }
}

/* Works for so many windows; the bytes idle between two rounds, on average. */
static uint64_t work_for(unsigned windows, unsigned count, uint64_t *random)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < windows * ROUNDS; i++) {
        work_round(count, random);
        fake_wait_ms(WINDOW_MS / ROUNDS);
        sum += idle();
    }
    return sum / (windows * ROUNDS);
}

static void tune(uint64_t decay_ms, uint64_t (*retain_bytes)(void))
{
    const struct pool_heap_tuning tuning = {.decay_ms = decay_ms,
                                            .retain_bytes = retain_bytes};
    pool_heap_tune(&heap, &tuning);
}

/* What is idle in the long run of work at a tenth, on a heap that worked at this height
   before. A window begins with any claim, so a large block needed now and then is kept for one
   window or two: hence an average. */
static uint64_t idle_after(unsigned height, uint64_t seed)
{
    uint64_t random = seed;
    setup_source();
    tune(WINDOW_MS, NULL);
    if (height)
        (void)work_for(3, height, &random);
    random = seed;
    (void)work_for(3, DEMAND_MOST / 10, &random);
    uint64_t bytes = work_for(12, DEMAND_MOST / 10, &random);
    ck_assert(pool_packed_valid(&heap.packed));
    return bytes;
}

START_TEST(idle_memory_follows_a_demand_that_falls_to_a_tenth)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t fresh = idle_after(0, seed);
        uint64_t fallen = idle_after(DEMAND_MOST, seed);
        ck_assert_msg(fallen <= fresh + fresh / 4, "%ju bytes idle, not %ju",
                      (uintmax_t)fallen, (uintmax_t)fresh);
    }
}
END_TEST

static uint64_t limit_bytes;

static uint64_t limit(void)
{
    return limit_bytes;
}

START_TEST(idle_memory_is_never_above_its_limit_once_a_large_block_came_back)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t random = seed;
        setup_source();
        limit_bytes = seed * 40 * MIB;
        tune(UINT64_MAX, limit);
        for (unsigned round = 0; round < 100; round++) {
            char *large = claim(32 * MIB + (seed % 2 ? MIB : 0));
            work_round(40, &random);
            give_back(large);
            ck_assert_uint_le(idle(), limit_bytes);
        }
        ck_assert_uint_gt(returned(), 0);
    }
}
END_TEST

/* Of 79 granules each, which wait among those that serve 64. */
START_TEST(blocks_longer_than_their_class_count_in_full)
{
    const size_t length = 79 * 64 * KIB;
    for (unsigned missing = 0; missing < 2; missing++) {
        char *blocks[8];
        setup_source();
        limit_bytes = 8 * length + 40 * MIB - missing;
        tune(UINT64_MAX, limit);
        char *large = claim(40 * MIB);
        for (unsigned i = 0; i < 8; i++)
            blocks[i] = claim(length);
        for (unsigned i = 0; i < 8; i++)
            give_back(blocks[i]);
        ck_assert_uint_eq(returned(), 0);
        give_back(large);
        ck_assert_uint_eq(idle(), missing ? 0 : limit_bytes);
        ck_assert_uint_eq(returned(), missing ? limit_bytes + 1 : 0);
    }
}
END_TEST

START_TEST(nothing_is_given_back_that_was_given_back_already)
{
    setup_source();
    tune(WINDOW_MS, NULL);
    uint64_t random = 1;
    (void)work_for(3, DEMAND_MOST, &random);
    uint64_t held = idle();
    uint64_t before = returned();
    /* One block from now on, which stays where it is. */
    for (unsigned i = 0; i < 6 * ROUNDS; i++) {
        give_back(claim(MIB));
        fake_wait_ms(WINDOW_MS / ROUNDS);
    }
    ck_assert_uint_ge(idle(), MIB);
    ck_assert_uint_lt(idle(), MIB + MIB / 4);
    ck_assert_uint_eq(returned() - before, held - idle());
    ck_assert_uint_eq(returned(), fake_discarded());
}
END_TEST

enum { IDLE_BLOCKS = 10 };

/* Blocks of several sizes that nobody needs, each with a live one behind it. */
static void leave_idle(char *blocks[IDLE_BLOCKS], size_t lengths[IDLE_BLOCKS])
{
    for (unsigned i = 0; i < IDLE_BLOCKS; i++) {
        lengths[i] = i < 8 ? (i + 1) * 192 * KIB : 40 * MIB;
        blocks[i] = claim(lengths[i]);
        fill(blocks[i], 'i', lengths[i]);
        fill(claim(64 * KIB), 'l', 64 * KIB);
    }
    for (unsigned i = 0; i < IDLE_BLOCKS; i++)
        give_back(blocks[i]);
}

/* Claims the blocks again, at their places; whether they are fresh, and zero if so. How many
   are not. */
static unsigned claim_again(char *blocks[IDLE_BLOCKS], size_t lengths[IDLE_BLOCKS])
{
    unsigned kept = 0;
    for (unsigned i = IDLE_BLOCKS; i-- > 0;) {
        bool fresh;
        char *block = pool_heap_claim(&heap, lengths[i], &fresh);
        if (i >= 8)
            ck_assert(block == blocks[8] || block == blocks[9]);
        else
            ck_assert_ptr_eq(block, blocks[i]);
        ck_assert(is_filled(block, fresh ? 0 : 'i', lengths[i]));
        ck_assert(i >= 8 || is_filled(block + lengths[i], 'l', 64 * KIB));
        kept += !fresh;
    }
    return kept;
}

START_TEST(whichever_block_the_source_does_not_take_back_is_kept_and_no_other)
{
    char *blocks[IDLE_BLOCKS];
    size_t lengths[IDLE_BLOCKS];
    for (unsigned refused = 0; refused <= IDLE_BLOCKS; refused++)
        for (unsigned by_trim = 0; by_trim < 2; by_trim++) {
            setup_source();
            leave_idle(blocks, lengths);
            uint64_t held = idle();
            (void)pool_packed_age(&heap.packed);
            (void)pool_rows_age(&heap.rows);
            fake.refused_discard = refused;
            size_t given = by_trim
                               ? pool_heap_trim(&heap)
                               : pool_packed_age(&heap.packed) + pool_rows_age(&heap.rows);
            ck_assert_uint_eq(fake_discards(), IDLE_BLOCKS);
            ck_assert_uint_eq(fake_discarded(), given);
            ck_assert_uint_eq(idle(), held - given);
            ck_assert_int_eq(given == held, refused == 0);
            ck_assert(pool_packed_valid(&heap.packed));
            ck_assert_uint_eq(claim_again(blocks, lengths), refused > 0);
        }
}
END_TEST

START_TEST(a_heap_that_was_shed_before_its_first_block_refuses)
{
    bool fresh;
    setup_source();
    pool_heap_shed(&heap);
    unsigned enables = fake_enables();
    ck_assert_ptr_null(pool_heap_claim(&heap, 1, &fresh));
    ck_assert_ptr_null(pool_heap_claim(&heap, 32 * MIB, &fresh));
    ck_assert_ptr_null(pool_heap_claim(&heap, 40 * MIB, &fresh));
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, 1));
    ck_assert_uint_eq(fake_enables(), enables);
    /* The granule that counts as born is still ours. */
    ck_assert(pool_heap_owns(&heap, heap.base));
    ck_assert_int_eq(mprotect(heap.base, 64 * KIB, PROT_NONE), 0);
    ck_assert(!pool_heap_owns(&heap, heap.base + 64 * KIB));
    pool_heap_shed(&heap);
    ck_assert(pool_packed_valid(&heap.packed));
}
END_TEST

/* A second thread, that does one thing while the first is inside the source. */
static pthread_t second;
static bool second_started;
static char *second_claimed;

static void *claim_row(void *unused)
{
    second_claimed = claim(40 * MIB);
    return unused;
}

/* Starts it and gives it the time to reach the lock. */
static void start_second(void)
{
    if (second_started)
        return;
    second_started = true;
    ck_assert_int_eq(pthread_create(&second, NULL, claim_row, NULL), 0);
    usleep(20000);
}

static bool discard_meanwhile(void *address, size_t bytes)
{
    start_second();
    return fake_discard(address, bytes);
}

static bool wipe_meanwhile(void *address, size_t bytes, bool wipe)
{
    start_second();
    return fake_wipe_on_fork(address, bytes, wipe);
}

/* Two idle blocks of a row, of which one was needed in the window. */
static void leave_two_in_a_row(void)
{
    char *first = claim(40 * MIB), *other = claim(40 * MIB);
    give_back(first);
    give_back(other);
    (void)pool_rows_age(&heap.rows);
    give_back(claim(40 * MIB));
}

START_TEST(a_claim_that_meets_ageing_waits_for_an_idle_block_and_bears_none)
{
    source.discard = discard_meanwhile;
    leave_two_in_a_row();
    ck_assert_uint_eq(pool_rows_age(&heap.rows), 40 * MIB);
    pthread_join(second, NULL);
    ck_assert_uint_eq(pool_heap_read(&heap).born, 2);
    ck_assert_uint_eq(pool_heap_read(&heap).claims, 4);
    ck_assert_ptr_eq(second_claimed, heap.rows_base + 64 * MIB);
}
END_TEST

START_TEST(a_claim_that_meets_a_fork_waits_for_an_idle_block_and_bears_none)
{
    source.wipe_on_fork = wipe_meanwhile;
    leave_two_in_a_row();
    pool_heap_fork_prepare(&heap);
    pool_heap_fork_done(&heap, false);
    pthread_join(second, NULL);
    ck_assert_uint_eq(pool_heap_read(&heap).born, 2);
    ck_assert_ptr_eq(second_claimed, heap.rows_base + 64 * MIB);
}
END_TEST

enum { SHARED_WINDOWS = 100 };

static _Atomic unsigned looks;
static _Thread_local unsigned own_looks;

/* The clock, at which two threads look at the same moment: one waits for the other, but not
   for ever. */
static uint64_t now_together(void)
{
    unsigned look = atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
    unsigned both = (look | 1) + 1;
    for (unsigned i = 0; i < 1000000; i++)
        if (atomic_load_explicit(&looks, memory_order_relaxed) >= both)
            break;
    own_looks++;
    return fake_now_ms();
}

/* In each window a block is needed once; then both threads look until they have seen its
   end. */
static void see_windows_end(unsigned thread, void *shared)
{
    pthread_barrier_t *together = shared;
    for (unsigned window = 1; window <= SHARED_WINDOWS; window++) {
        if (thread == 0) {
            uint32_t index = pool_rows_index(&heap.rows, claim(40 * MIB));
            ck_assert(pool_rows_return(&heap.rows, index));
            fake_wait_ms(WINDOW_MS);
        }
        pthread_barrier_wait(together);
        for (own_looks = 0; own_looks == 0;)
            give_back(claim(1));
        pthread_barrier_wait(together);
    }
}

START_TEST(of_two_threads_that_see_a_window_end_one_gives_memory_back)
{
    pthread_barrier_t together;
    ck_assert_int_eq(pthread_barrier_init(&together, NULL, 2), 0);
    tune(WINDOW_MS, NULL);
    give_back(claim(40 * MIB));
    (void)pool_rows_age(&heap.rows);
    source.now_ms = now_together;
    suite_run_threads(2, see_windows_end, &together);
    /* A second time at once would find the block idle since the first. Of the granules that
       the threads share, one is sometimes not needed. */
    ck_assert_uint_lt(returned(), 40 * MIB);
    ck_assert_uint_ge(idle(), 40 * MIB);
}
END_TEST

START_TEST(what_is_kept_at_the_end_of_a_window_goes_back_at_the_next)
{
    char *packed[2], *large[2];
    for (unsigned i = 0; i < 2; i++) {
        packed[i] = claim(2 * MIB);
        large[i] = claim(40 * MIB);
    }
    for (unsigned i = 0; i < 2; i++) {
        give_back(packed[i]);
        give_back(large[i]);
    }
    ck_assert_uint_eq(pool_packed_age(&heap.packed) + pool_rows_age(&heap.rows), 0);
    give_back(claim(2 * MIB));
    give_back(claim(40 * MIB));
    for (unsigned window = 0; window < 2; window++) {
        ck_assert_uint_eq(pool_packed_age(&heap.packed), 2 * MIB);
        ck_assert_uint_eq(pool_rows_age(&heap.rows), 40 * MIB);
    }
    ck_assert_uint_eq(idle(), 0);
}
END_TEST

static void fork_in_vain(void)
{
    pool_heap_fork_prepare(&heap);
    pool_heap_fork_done(&heap, false);
}

START_TEST(a_program_that_forks_in_every_window_still_gives_memory_back)
{
    char *blocks[IDLE_BLOCKS];
    size_t lengths[IDLE_BLOCKS];
    tune(WINDOW_MS, NULL);
    leave_idle(blocks, lengths);
    char *hot = claim(64 * KIB);
    uint64_t held = idle();
    give_back(hot);
    for (unsigned window = 0; window < 4; window++) {
        fork_in_vain();
        for (unsigned i = 0; i < 4 << POOL_BIN_LOOK_SHIFT; i++)
            give_back(claim(64 * KIB));
        fork_in_vain();
        fake_wait_ms(WINDOW_MS);
    }
    ck_assert_uint_eq(returned(), held);
    ck_assert_uint_eq(idle(), 64 * KIB);
}
END_TEST

SUITE_MAIN_WITH("pool, over time", setup_source, teardown,
                idle_memory_follows_a_demand_that_falls_to_a_tenth,
                nothing_is_given_back_that_was_given_back_already,
                idle_memory_is_never_above_its_limit_once_a_large_block_came_back,
                blocks_longer_than_their_class_count_in_full,
                whichever_block_the_source_does_not_take_back_is_kept_and_no_other,
                a_heap_that_was_shed_before_its_first_block_refuses,
                a_claim_that_meets_ageing_waits_for_an_idle_block_and_bears_none,
                a_claim_that_meets_a_fork_waits_for_an_idle_block_and_bears_none,
                of_two_threads_that_see_a_window_end_one_gives_memory_back,
                what_is_kept_at_the_end_of_a_window_goes_back_at_the_next,
                a_program_that_forks_in_every_window_still_gives_memory_back)

/* Defends: however threads race for the few blocks of one bin, each block has one owner at
   a time and what its owner wrote is there for the next. A stale head that passed for the
   current one (ABA) would hand a block to two. */
#include "pool/bins.h"

#include "tests/stress.h"

enum {
    BLOCKS = 4,
    HAND =
        3, /* blocks a thread holds at most: enough to pop two and push another below */
    BURST = 4096,
    THREADS_MOST = 4,
};

struct contest {
    struct pool_bin bin;
    pthread_mutex_t draining;
    _Atomic uint64_t popped, drained;
    _Atomic unsigned owners[BLOCKS + 1]; /* a thread's number from 1; 0: nobody */
    uint64_t bodies[BLOCKS + 1];         /* written by the owner alone */
    unsigned threads;
};

static struct pool_record records[BLOCKS + 1];

struct hand {
    struct contest *contest;
    unsigned thread;
    unsigned count;
    uint32_t blocks[HAND];
    uint64_t popped, drained, random;
};

static void own(struct hand *hand, uint32_t index)
{
    unsigned before = atomic_exchange_explicit(&hand->contest->owners[index],
                                               hand->thread, memory_order_relaxed);
    if (before != 0)
        ck_abort_msg("thread %u got block %u, which thread %u owns", hand->thread,
                     (unsigned)index, before);
    hand->contest->bodies[index]++;
}

static void disown(struct hand *hand, uint32_t index)
{
    hand->contest->bodies[index]++;
    unsigned before =
        atomic_exchange_explicit(&hand->contest->owners[index], 0, memory_order_relaxed);
    if (before != hand->thread)
        ck_abort_msg("thread %u returned block %u, which thread %u owns", hand->thread,
                     (unsigned)index, before);
}

static void take_one(struct hand *hand)
{
    uint32_t index = pool_bin_pop(&hand->contest->bin, records);
    if (index == 0)
        return;
    own(hand, index);
    hand->blocks[hand->count++] = index;
    hand->popped++;
}

static void put(struct hand *hand, uint32_t index)
{
    disown(hand, index);
    while (!pool_bin_push(&hand->contest->bin, records, index))
        sched_yield();
}

static void put_one(struct hand *hand, unsigned which)
{
    uint32_t index = hand->blocks[which];
    hand->blocks[which] = hand->blocks[--hand->count];
    put(hand, index);
}

/* Takes all blocks at once and puts them back one by one. */
static void drain(struct hand *hand)
{
    pthread_mutex_lock(&hand->contest->draining);
    uint32_t index = pool_bin_drain(&hand->contest->bin);
    while (index) {
        uint32_t next = POOL_GET(&records[index], next);
        own(hand, index);
        put(hand, index);
        hand->drained++;
        index = next;
    }
    pthread_mutex_unlock(&hand->contest->draining);
}

static void step(struct hand *hand)
{
    uint64_t dice = stress_random(&hand->random);
    if (dice >> 54 == 0)
        drain(hand);
    else if (hand->count == 0 || (hand->count < HAND && dice & 1))
        take_one(hand);
    else
        put_one(hand, (unsigned)(dice >> 8) % hand->count);
}

static void contest_body(unsigned index, void *shared)
{
    struct hand hand = {.contest = shared, .thread = index + 1};
    hand.random = stress_start(index);
    while (!stress_is_over())
        for (unsigned burst = 0; burst < BURST; burst++)
            step(&hand);
    while (hand.count > 0)
        put_one(&hand, 0);
    atomic_fetch_add_explicit(&hand.contest->popped, hand.popped, memory_order_relaxed);
    atomic_fetch_add_explicit(&hand.contest->drained, hand.drained, memory_order_relaxed);
}

/* Everything is back, and every take and every body was counted once. */
static void settle(struct contest *contest)
{
    uint64_t popped = atomic_load_explicit(&contest->popped, memory_order_relaxed);
    uint64_t drained = atomic_load_explicit(&contest->drained, memory_order_relaxed);
    uint64_t written = 0;
    for (uint32_t index = 1; index <= BLOCKS; index++)
        written += contest->bodies[index];
    printf("  %u threads: %" PRIu64 " popped, %" PRIu64 " drained\n", contest->threads,
           popped, drained);
    ck_assert_uint_eq(pool_bin_popped(&contest->bin), popped);
    ck_assert_uint_eq(contest->bin.drained, drained);
    ck_assert_uint_eq(written, 2 * (popped + drained));
    ck_assert_uint_eq(pool_bin_idle(&contest->bin), BLOCKS);
    unsigned seen = 0;
    for (uint32_t index = pool_bin_pop(&contest->bin, records); index;
         index = pool_bin_pop(&contest->bin, records))
        seen |= 1u << index;
    ck_assert_uint_eq(seen, (2u << BLOCKS) - 2);
}

START_TEST(no_block_has_two_owners)
{
    static struct contest contests[THREADS_MOST + 1];
    uint64_t share = (stress_end - stress_clock()) / (THREADS_MOST - 1);
    for (unsigned threads = 2; threads <= THREADS_MOST; threads++) {
        struct contest *contest = &contests[threads];
        contest->threads = threads;
        pthread_mutex_init(&contest->draining, NULL);
        for (uint32_t index = 1; index <= BLOCKS; index++)
            ck_assert(pool_bin_push(&contest->bin, records, index));
        stress_end = stress_clock() + share;
        suite_run_threads(threads, contest_body, contest);
        settle(contest);
    }
}
END_TEST

STRESS_MAIN("pool/bins under stress", no_block_has_two_owners)

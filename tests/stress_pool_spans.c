/* Defends: however threads race through the bins and the lock of the packed area, while it
   is trimmed and aged, no granule has two owners, no block is shorter than was asked, and
   every claim is counted once. No memory is touched, so that nothing slows the races. */
#include "tests/spans_fixture.h"
#include "tests/stress.h"

enum {
    THREADS = 4,
    HAND = 6, /* blocks a thread holds at most */
    BURST = 1024,
};

static _Atomic unsigned owners[AREA_GRANULES]; /* a thread's number from 1; 0: nobody */
static _Atomic uint64_t served_in_all;

struct hand {
    unsigned thread;
    unsigned count;
    uint32_t blocks[HAND];
    uint64_t served, random;
};

/* Makes every granule of a block change hands. */
static void change_owner(uint32_t index, unsigned from, unsigned to)
{
    for (uint32_t granule = index; granule < index + granules_of(index); granule++) {
        unsigned before =
            atomic_exchange_explicit(&owners[granule], to, memory_order_relaxed);
        if (before != from)
            ck_abort_msg("granule %u of block %u belongs to thread %u, not %u", granule,
                         index, before, from);
    }
}

/* Mostly lengths around a class, which wait in one bin with shorter and longer ones. */
static uint32_t random_granules(uint64_t dice)
{
    return dice % 32 ? 7 + (uint32_t)(dice >> 8) % 7 : 1 + (uint32_t)(dice >> 8) % 64;
}

static void take(struct hand *hand, uint32_t granules)
{
    uint32_t index = claim(granules);
    if (index == 0)
        return;
    if (granules_of(index) < granules)
        ck_abort_msg("a claim of %u granules got block %u of %u", granules, index,
                     granules_of(index));
    change_owner(index, 0, hand->thread);
    hand->blocks[hand->count++] = index;
    hand->served++;
}

static void put(struct hand *hand, unsigned which)
{
    uint32_t index = hand->blocks[which];
    hand->blocks[which] = hand->blocks[--hand->count];
    change_owner(index, hand->thread, 0);
    give_back(index);
}

static void step(struct hand *hand)
{
    uint64_t dice = stress_random(&hand->random);
    if (dice >> 52 == 0)
        (void)pool_spans_trim(&spans);
    else if (dice >> 52 == 1)
        (void)pool_spans_age(&spans);
    else if (hand->count == 0 || (hand->count < HAND && dice >> 51 & 1))
        take(hand, random_granules(dice));
    else
        put(hand, (unsigned)(dice >> 16) % hand->count);
}

static void stress_body(unsigned index, void *shared)
{
    struct hand hand = {.thread = index + 1, .random = stress_start(index)};
    (void)shared;
    while (!stress_is_over())
        for (unsigned burst = 0; burst < BURST; burst++)
            step(&hand);
    while (hand.count > 0)
        put(&hand, 0);
    atomic_fetch_add_explicit(&served_in_all, hand.served, memory_order_relaxed);
}

START_TEST(no_granule_has_two_owners)
{
    setup();
    suite_run_threads(THREADS, stress_body, NULL);
    struct pool_span_figures figures = pool_spans_figures(&spans);
    printf("  %" PRIu64 " popped, %" PRIu64 " fitted, %" PRIu64 " born, %" PRIu64
           " put back\n",
           figures.popped, figures.fitted, figures.born, POOL_GET(&spans, put_back));
    ck_assert_uint_eq(figures.popped + figures.fitted + figures.born,
                      atomic_load_explicit(&served_in_all, memory_order_relaxed));
    teardown();
    (void)pool_spans_trim(&spans);
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
    teardown();
}
END_TEST

STRESS_MAIN("pool/spans under stress", no_granule_has_two_owners)

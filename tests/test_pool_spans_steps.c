/* Defends: giving much memory back takes several holds of the lock, between which whoever waits
   goes first, and is as complete as in one. */
#include <pthread.h>
#include <unistd.h>

#include "tests/spans_fixture.h"

/* In blocks of 32 MiB, and one shorter: more than one step gives back. */
enum { BLOCKS = 9, LAST_GRANULES = 400, ALL_GRANULES = 8 * 512 + LAST_GRANULES };

_Static_assert(ALL_GRANULES > (int)POOL_SPAN_STEP_GRANULES &&
                   ALL_GRANULES < (int)AREA_GRANULES,
               "two steps");

static void leave_idle(void)
{
    uint32_t blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = claim(i < BLOCKS - 1 ? 512 : LAST_GRANULES);
    for (unsigned i = 0; i < BLOCKS; i++)
        give_back(blocks[i]);
}

static pthread_t waiter;
static unsigned discards;

static void *wait_and_claim(void *context)
{
    ck_assert_uint_ne(claim(1), 0);
    return context;
}

/* In the first step a thread comes to wait. */
static bool discard_and_look(void *address, size_t bytes)
{
    ck_assert_uint_le(bytes, bytes_of(POOL_SPAN_STEP_GRANULES));
    if (discards++ == 0) {
        ck_assert_int_eq(pthread_create(&waiter, NULL, wait_and_claim, NULL), 0);
        while (atomic_load_explicit(&spans.lock.waiting, memory_order_relaxed) == 0)
            sched_yield();
        /* It says so just before it sleeps. */
        usleep(2000);
    }
    return fake_source.discard(address, bytes);
}

/* What the waiter claims before the second step does not go back in it. */
static bool waiter_goes_first(void)
{
    struct pool_source source = fake_source;
    source.discard = discard_and_look;
    setup();
    discards = 0;
    leave_idle();
    spans.source = &source;
    size_t trimmed = pool_spans_trim(&spans);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
    ck_assert_uint_eq(discards, 2);
    ck_assert_uint_ge(trimmed, bytes_of(ALL_GRANULES - 1));
    return trimmed == bytes_of(ALL_GRANULES - 1);
}

/* Unless the machine is too busy to let it. */
START_TEST(a_thread_that_waits_goes_first_between_two_steps)
{
    unsigned tries = 1;
    while (!waiter_goes_first())
        ck_assert_uint_lt(tries++, 10);
}
END_TEST

START_TEST(a_trim_in_steps_gives_everything_back)
{
    leave_idle();
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(fake_discards(), 2);
    ck_assert_uint_eq(fake_discarded(), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
}
END_TEST

START_TEST(what_nobody_needed_goes_back_in_steps_from_bins)
{
    leave_idle();
    (void)pool_spans_age(&spans);
    ck_assert_uint_eq(fake_discarded(), 0);
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(fake_discarded(), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
    ck_assert_uint_eq(pool_spans_age(&spans), 0);
}
END_TEST

START_TEST(what_nobody_needed_goes_back_in_steps_from_free_spans)
{
    leave_idle();
    /* A miss merges all that is idle; the block is at its front. */
    give_back(claim(3));
    (void)pool_spans_age(&spans);
    ck_assert_uint_eq(fake_discarded(), 0);
    ck_assert_uint_eq(pool_spans_age(&spans), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), 0);
}
END_TEST

START_TEST(a_source_that_refuses_ends_it)
{
    leave_idle();
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_spans_trim(&spans), 0);
    ck_assert_uint_eq(fake_discards(), 1);
    ck_assert_uint_eq(pool_spans_idle_bytes(&spans), bytes_of(ALL_GRANULES));
    ck_assert_uint_eq(pool_spans_trim(&spans), bytes_of(ALL_GRANULES));
}
END_TEST

SUITE_MAIN_WITH("pool/spans in steps", setup, teardown,
                a_thread_that_waits_goes_first_between_two_steps,
                a_trim_in_steps_gives_everything_back,
                what_nobody_needed_goes_back_in_steps_from_bins,
                what_nobody_needed_goes_back_in_steps_from_free_spans,
                a_source_that_refuses_ends_it)

/* Defends: giving the memory of many large blocks back takes several holds of the lock, between
   which whoever waits goes first, and is as complete as in one. */
#include <pthread.h>
#include <unistd.h>

#include "tests/rows_fixture.h"

/* Of 64 MiB each: four are a step. */
enum { BLOCKS = 9 };

static uint32_t blocks[BLOCKS];

static void leave_idle(void)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        blocks[i] = claim(64 * MIB);
    for (unsigned i = 0; i < BLOCKS; i++)
        give_back(blocks[i]);
}

static pthread_t waiter;
static unsigned discards;
static unsigned
    claimed_by; /* the discard before which the waiter had its block; 0: none */
static _Atomic bool waiter_has_claimed;

/* From a row in which nothing is idle. */
static void *wait_and_claim(void *context)
{
    ck_assert_uint_ne(claim(200 * MIB), 0);
    atomic_store_explicit(&waiter_has_claimed, true, memory_order_relaxed);
    return context;
}

static bool discard_and_look(void *address, size_t bytes)
{
    discards++;
    if (discards == 1) {
        ck_assert_int_eq(pthread_create(&waiter, NULL, wait_and_claim, NULL), 0);
        while (atomic_load_explicit(&rows.lock.waiting, memory_order_relaxed) == 0)
            sched_yield();
        /* It says so just before it sleeps. */
        usleep(2000);
    }
    if (!claimed_by && atomic_load_explicit(&waiter_has_claimed, memory_order_relaxed))
        claimed_by = discards;
    return fake_source.discard(address, bytes);
}

static bool waiter_goes_first(void)
{
    struct pool_source source = fake_source;
    source.discard = discard_and_look;
    setup();
    discards = claimed_by = 0;
    atomic_store_explicit(&waiter_has_claimed, false, memory_order_relaxed);
    leave_idle();
    rows.source = &source;
    size_t trimmed = pool_rows_trim(&rows);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
    ck_assert_uint_eq(trimmed, BLOCKS * 64 * MIB);
    return claimed_by == 5;
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
    ck_assert_uint_eq(pool_rows_trim(&rows), BLOCKS * 64 * MIB);
    ck_assert_uint_eq(fake_discards(), BLOCKS);
    ck_assert_uint_eq(pool_rows_idle_bytes(&rows), 0);
    ck_assert_uint_eq(pool_rows_trim(&rows), 0);
}
END_TEST

START_TEST(what_nobody_needed_goes_back_in_steps_and_the_warmest_stay)
{
    leave_idle();
    (void)pool_rows_age(&rows);
    uint32_t last = claim(64 * MIB), second = claim(64 * MIB);
    give_back(second);
    give_back(last);
    ck_assert_uint_eq(pool_rows_age(&rows), (BLOCKS - 2) * 64 * MIB);
    ck_assert_uint_eq(fake_discards(), BLOCKS - 2);
    ck_assert_uint_eq(state_of(last), POOL_IDLE);
    ck_assert_uint_eq(state_of(second), POOL_IDLE);
    ck_assert_uint_eq(claim(64 * MIB), last);
    ck_assert_uint_eq(claim(64 * MIB), second);
}
END_TEST

SUITE_MAIN_WITH("pool/rows in steps", setup, NULL,
                a_thread_that_waits_goes_first_between_two_steps,
                a_trim_in_steps_gives_everything_back,
                what_nobody_needed_goes_back_in_steps_and_the_warmest_stay)

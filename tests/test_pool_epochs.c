/* Defends: freed memory is ready when a synchronisation of its context has ended that began
   after the free, and never sooner; what any context could use waits for all of them. */
#include "pool/epochs.h"

#include <string.h>

#include "tests/fake_source.h"
#include "tests/suite.h"

enum { A = 1, B = 2, C = 3 };

static struct pool_epochs epochs;
static struct pool_source source;
static struct {
    unsigned records[128], looks[128];
    enum pool_event answer;
    bool refuses;
} events;

static bool record_event(uint32_t context)
{
    events.records[context]++;
    return !events.refuses;
}

static enum pool_event look_at_event(uint32_t context)
{
    events.looks[context]++;
    return events.answer;
}

static void setup(void)
{
    memset(&epochs, 0, sizeof(epochs));
    memset(&events, 0, sizeof(events));
    source = fake_source;
    source.event_record = record_event;
    source.event_state = look_at_event;
    pool_epochs_open(&epochs, &source);
}

static bool ready(uint32_t context, uint64_t stamp)
{
    return stamp < pool_epochs_ended(&epochs, context);
}

static bool ready_everywhere(uint64_t stamp)
{
    return stamp < pool_epochs_ended_everywhere(&epochs);
}

static void synchronise(uint32_t context)
{
    pool_epochs_end(&epochs, context, pool_epochs_begin(&epochs));
}

START_TEST(what_was_freed_is_ready_after_a_synchronisation_that_began_later)
{
    uint64_t before = pool_epochs_stamp(&epochs);
    ck_assert(!ready(A, before));
    uint64_t ticket = pool_epochs_begin(&epochs);
    ck_assert(!ready(A, before));
    uint64_t during = pool_epochs_stamp(&epochs);
    pool_epochs_end(&epochs, A, ticket);
    ck_assert(ready(A, before));
    ck_assert(!ready(A, during));
    ck_assert(!ready(A, pool_epochs_stamp(&epochs)));
    synchronise(A);
    ck_assert(ready(A, during));
}
END_TEST

START_TEST(a_synchronisation_that_never_ends_makes_nothing_ready)
{
    uint64_t stamp = pool_epochs_stamp(&epochs);
    (void)pool_epochs_begin(&epochs);
    ck_assert(!ready(A, stamp));
    synchronise(A); /* another thread's, begun after it */
    ck_assert(ready(A, stamp));
}
END_TEST

START_TEST(synchronisations_may_end_in_another_order_than_they_began)
{
    uint64_t first = pool_epochs_begin(&epochs);
    uint64_t between = pool_epochs_stamp(&epochs);
    uint64_t second = pool_epochs_begin(&epochs);
    pool_epochs_end(&epochs, A, second);
    ck_assert(ready(A, between));
    pool_epochs_end(&epochs, A, first);
    ck_assert(ready(A, between));
    ck_assert(!ready(A, pool_epochs_stamp(&epochs)));
}
END_TEST

START_TEST(contexts_are_synchronised_apart)
{
    uint64_t stamp = pool_epochs_stamp(&epochs);
    synchronise(A);
    ck_assert(ready(A, stamp));
    ck_assert(!ready(B, stamp));
    ck_assert(!ready(0, stamp));
}
END_TEST

START_TEST(everywhere_is_where_the_last_context_is)
{
    uint64_t stamp = pool_epochs_stamp(&epochs);
    ck_assert(!ready_everywhere(stamp));
    pool_epochs_add(&epochs, A, false);
    pool_epochs_add(&epochs, B, false);
    synchronise(A);
    ck_assert(!ready_everywhere(stamp));
    synchronise(B);
    ck_assert(ready_everywhere(stamp));
    pool_epochs_drop(&epochs, B);
    stamp = pool_epochs_stamp(&epochs);
    synchronise(A);
    ck_assert(ready_everywhere(stamp));
    pool_epochs_drop(&epochs, A);
    ck_assert(!ready_everywhere(stamp));
}
END_TEST

START_TEST(a_new_context_has_nothing_to_do_with_what_was_freed_before)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t before = pool_epochs_stamp(&epochs);
    pool_epochs_add(&epochs, B, true);
    uint64_t after = pool_epochs_stamp(&epochs);
    synchronise(A);
    ck_assert(ready_everywhere(before));
    ck_assert(!ready_everywhere(after));
    synchronise(B);
    ck_assert(ready_everywhere(after));
}
END_TEST

START_TEST(a_context_that_was_there_unseen_holds_everything_back)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    synchronise(A);
    ck_assert(ready_everywhere(stamp));
    pool_epochs_add(&epochs, B, false);
    ck_assert(!ready_everywhere(stamp));
    pool_epochs_add(&epochs, B, true); /* known by now */
    ck_assert(!ready_everywhere(stamp));
}
END_TEST

START_TEST(with_more_contexts_than_there_is_room_for_nothing_is_ready_everywhere)
{
    for (uint32_t context = 1; context <= POOL_EPOCH_CONTEXTS; context++)
        pool_epochs_add(&epochs, context, true);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    for (uint32_t context = 1; context <= POOL_EPOCH_CONTEXTS; context++)
        synchronise(context);
    ck_assert(ready_everywhere(stamp));
    pool_epochs_add(&epochs, POOL_EPOCH_CONTEXTS + 1, true);
    pool_epochs_drop(&epochs, A);
    for (uint32_t context = 2; context <= POOL_EPOCH_CONTEXTS; context++)
        synchronise(context);
    ck_assert(!ready_everywhere(stamp));
    ck_assert(ready(B, stamp));
}
END_TEST

START_TEST(numbers_that_meet_in_one_place_are_told_apart)
{
    pool_epochs_add(&epochs, A, false);
    pool_epochs_add(&epochs, A + POOL_EPOCH_CONTEXTS, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    synchronise(A + POOL_EPOCH_CONTEXTS);
    ck_assert(!ready(A, stamp));
    pool_epochs_drop(&epochs, A);
    ck_assert(ready(A + POOL_EPOCH_CONTEXTS, stamp));
    ck_assert(ready_everywhere(stamp));
}
END_TEST

START_TEST(an_event_over_idle_streams_makes_ready_at_once)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    events.answer = POOL_EVENT_DONE;
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert(ready(A, stamp));
    ck_assert_uint_eq(events.records[A], 1);
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert_uint_eq(events.records[A], 1); /* nothing to ask for */
}
END_TEST

START_TEST(an_event_on_its_way_is_asked_about_and_not_recorded_again)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    events.answer = POOL_EVENT_PENDING;
    for (unsigned turn = 0; turn < 5; turn++)
        pool_epochs_poll(&epochs, A, stamp);
    ck_assert(!ready(A, stamp));
    ck_assert_uint_eq(events.records[A], 1);
    ck_assert_uint_eq(events.looks[A], 5);
    uint64_t later = pool_epochs_stamp(&epochs);
    events.answer = POOL_EVENT_DONE;
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert(ready(A, stamp));
    ck_assert(!ready(A, later)); /* freed after the event was recorded */
    pool_epochs_poll(&epochs, A, later);
    ck_assert(ready(A, later));
    ck_assert_uint_eq(events.records[A], 2);
}
END_TEST

START_TEST(an_event_that_is_refused_or_lost_makes_nothing_ready)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    events.refuses = true;
    events.answer = POOL_EVENT_DONE;
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert(!ready(A, stamp));
    events.refuses = false;
    events.answer = POOL_EVENT_LOST;
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert(!ready(A, stamp));
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert_uint_eq(events.records[A], 3); /* and is recorded anew */
}
END_TEST

START_TEST(readiness_everywhere_takes_an_event_of_each_context_that_lags)
{
    pool_epochs_add(&epochs, A, false);
    pool_epochs_add(&epochs, B, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    synchronise(A);
    events.answer = POOL_EVENT_DONE;
    pool_epochs_poll(&epochs, 0, stamp);
    ck_assert(ready_everywhere(stamp));
    ck_assert_uint_eq(events.records[A], 0);
    ck_assert_uint_eq(events.records[B], 1);
}
END_TEST

START_TEST(a_context_that_is_held_is_not_asked_about)
{
    pool_epochs_add(&epochs, A, false);
    uint64_t stamp = pool_epochs_stamp(&epochs);
    events.answer = POOL_EVENT_DONE;
    pool_epochs_hold(&epochs, A);
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert_uint_eq(events.records[A], 0);
    pool_epochs_let(&epochs, A);
    pool_epochs_poll(&epochs, A, stamp);
    ck_assert_uint_eq(events.records[A], 1);
    pool_epochs_hold(&epochs, A);
    pool_epochs_drop(&epochs, A);
    pool_epochs_add(&epochs, C, false);
    pool_epochs_add(&epochs, A + POOL_EPOCH_CONTEXTS, false); /* in the place of A */
    pool_epochs_poll(&epochs, A + POOL_EPOCH_CONTEXTS, pool_epochs_stamp(&epochs));
    ck_assert(ready(A + POOL_EPOCH_CONTEXTS, stamp));
}
END_TEST

SUITE_MAIN_WITH("pool/epochs", setup, NULL,
                what_was_freed_is_ready_after_a_synchronisation_that_began_later,
                a_synchronisation_that_never_ends_makes_nothing_ready,
                synchronisations_may_end_in_another_order_than_they_began,
                contexts_are_synchronised_apart, everywhere_is_where_the_last_context_is,
                a_new_context_has_nothing_to_do_with_what_was_freed_before,
                a_context_that_was_there_unseen_holds_everything_back,
                with_more_contexts_than_there_is_room_for_nothing_is_ready_everywhere,
                numbers_that_meet_in_one_place_are_told_apart,
                an_event_over_idle_streams_makes_ready_at_once,
                an_event_on_its_way_is_asked_about_and_not_recorded_again,
                an_event_that_is_refused_or_lost_makes_nothing_ready,
                readiness_everywhere_takes_an_event_of_each_context_that_lags,
                a_context_that_is_held_is_not_asked_about)

/* Defends: two binds never share storage, a set gives back all that it took, whatever the device
   says, and nothing is held beyond a budget. */
#include "tests/bind_fixture.h"

START_TEST(two_slots_hold_storage_of_their_own)
{
    struct tidemark_bind *first = opened(0);
    record(first, 1, 100);
    uploaded(first);
    uint64_t staging = first->staging.base, shipped = first->shipped.base;
    struct pool_retained before = first->shipped;
    char copy[128];
    memcpy(copy, fake_at(&fake_device, shipped, 128), 128);
    struct tidemark_bind *second = opened(1);
    record(second, 2, 4000);
    uploaded(second);
    ck_assert_uint_ne(second->staging.base, 0);
    ck_assert_uint_ne(second->staging.base, staging);
    ck_assert_uint_ne(second->shipped.base, shipped);
    ck_assert_mem_eq(&first->shipped, &before, sizeof(before));
    ck_assert_mem_eq(fake_at(&fake_device, shipped, 128), copy, 128);
    end(first);
    end(second);
}
END_TEST

START_TEST(a_slot_out_of_range_or_in_use_is_refused)
{
    struct tidemark_bind *mine = NULL;
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_open(set, 2, &mine), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_bind_open(set, 0, &mine), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_open(set, 1, NULL), TIDEMARK_MALFORMED);
    ck_assert_ptr_null(mine);
    ck_assert_int_eq(tidemark_slot_reset(set, 2), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_slot_release(set, 2), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_slot_release(set, 0), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_OUT_OF_TURN);
    end(bind);
    bind = opened(1);
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_OUT_OF_TURN);
    end(opened(0)); /* which was not in the way, and is as it was */
    end(bind);
}
END_TEST

START_TEST(calls_out_of_turn_are_refused_and_change_nothing)
{
    struct tidemark_object object = {.offset = 4711};
    struct tidemark_upload upload = {.bytes = 4711};
    uint64_t address = 4711;
    void *mirror = &object;
    struct tidemark_bind *bind = opened(0);
    struct tidemark_object recorded = record(bind, 1, 10);
    ck_assert_int_eq(tidemark_bind_address(bind, &recorded, &address),
                     TIDEMARK_OUT_OF_TURN);
    uploaded(bind);
    ck_assert_int_eq(tidemark_bind_claim(bind, 1, 10, &object), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_OUT_OF_TURN);
    end(bind);
    ck_assert_int_eq(tidemark_bind_end(bind, 0), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_claim(bind, 1, 10, &object), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_address(bind, &recorded, &address),
                     TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 10, 16, &mirror), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_plan(bind, 10), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_slice(bind, 10, &address), TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_lease(bind, &(struct tidemark_lease){.device = 1}),
                     TIDEMARK_OUT_OF_TURN);
    ck_assert_int_eq(tidemark_bind_stage(bind, NULL, 0), TIDEMARK_OUT_OF_TURN);
    ck_assert_uint_eq(object.offset, 4711);
    ck_assert_uint_eq(upload.bytes, 4711);
    ck_assert_uint_eq(address, 4711);
    ck_assert_ptr_eq(mirror, &object);
}
END_TEST

START_TEST(a_set_that_cannot_be_is_refused_without_a_call)
{
    struct tidemark_settings good = fake_settings(1), bad[10];
    struct tidemark_set *made = NULL;
    for (size_t i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].slot_count = 0;
    bad[1].slot_count = TIDEMARK_SLOTS_MAX + 1;
    bad[2].object_align = 3;
    bad[3].object_align = 24;
    bad[4].object_align = 2 * TIDEMARK_ALIGN_MAX;
    bad[5].temporary_align = 1000;
    bad[6].device.allocate = NULL;
    bad[7].device.release = NULL;
    bad[8].device.upload = NULL;
    bad[9].temporary_align = SIZE_MAX;
    unsigned calls = fake_host.allocs;
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(pool_set_open(&bad[i], &fake_host_source, NULL, &made),
                         TIDEMARK_MALFORMED);
    ck_assert_int_eq(pool_set_open(NULL, &fake_host_source, NULL, &made),
                     TIDEMARK_MALFORMED);
    ck_assert_int_eq(pool_set_open(&good, &fake_host_source, NULL, NULL),
                     TIDEMARK_MALFORMED);
    ck_assert_uint_eq(fake_host.allocs, calls);
    fake_host.refused_allocs = 1;
    ck_assert_int_eq(pool_set_open(&good, &fake_host_source, NULL, &made),
                     TIDEMARK_NO_HOST_MEMORY);
    ck_assert_ptr_null(made);
}
END_TEST

START_TEST(a_forgotten_bind_calls_nothing_until_the_slot_is_opened_again)
{
    run_bind(0, 1);
    struct tidemark_bind *bind = opened(0);
    record(bind, 1, 3000);
    unsigned calls = fake_host.releases + fake_device.releases + fake_copies.downloads;
    size_t live = fake_host.live_count;
    ck_assert_int_eq(tidemark_slot_reset(set, 0), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_slot_reset(set, 0), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_host.releases + fake_device.releases + fake_copies.downloads,
                      calls);
    bind = opened(0);
    ck_assert_uint_eq(fake_host.live_count, live - 1); /* what had spilled */
    ck_assert_uint_eq(counts_of(bind).spilled, 0);
    ck_assert_uint_eq(counts_of(bind).host_calls, 0); /* that was the other's */
    ck_assert_uint_eq(pool_arena_used(&bind->objects), 0);
    end(bind);
}
END_TEST

START_TEST(releasing_an_idle_slot_gives_all_back_and_again_does_nothing)
{
    run_bind(0, 8);
    run_bind(1, 8);
    uint64_t host, device;
    ck_assert_int_eq(tidemark_slot_release(set, 0), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.live_count, 1);
    unsigned calls = fake_host.releases + fake_device.releases;
    ck_assert_int_eq(tidemark_slot_release(set, 0), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_host.releases + fake_device.releases, calls);
    tidemark_set_held(set, &host, &device);
    ck_assert_uint_eq(host, set->slots[1].staging.now.bytes);
    ck_assert_uint_eq(device, set->slots[1].shipped.now.bytes);
    ck_assert_uint_eq(run_bind(0, 8).spilled, 8);
}
END_TEST

START_TEST(abandoning_a_set_calls_no_function_of_the_device)
{
    struct tidemark_bind *bind = opened(0);
    record(bind, 1, 100);
    ck_assert_int_eq(tidemark_bind_plan(bind, 4096), TIDEMARK_DONE);
    uploaded(bind);
    const struct tidemark_lease lease = {.host = bind,
                                         .device = 1,
                                         .bytes = 8,
                                         .ending = TIDEMARK_ENDS_FREED,
                                         .copies_back = 1};
    ck_assert_int_eq(tidemark_bind_lease(bind, &lease), TIDEMARK_DONE);
    run_bind(1, 3);
    unsigned calls = fake_device.allocs + fake_device.releases + fake_device.clears +
                     fake_copies.uploads + fake_copies.downloads;
    tidemark_set_abandon(set);
    set = NULL;
    ck_assert_uint_eq(fake_device.allocs + fake_device.releases + fake_device.clears +
                          fake_copies.uploads + fake_copies.downloads,
                      calls);
    ck_assert_uint_eq(fake_host.live_count, 0);
    ck_assert_uint_eq(fake_device.live_count, 3);
    while (fake_device.live_count > 0)
        fake_release(&fake_device, fake_device.live[0].address);
}
END_TEST

START_TEST(closing_says_what_the_device_would_not_take_back_and_is_done_with_it)
{
    run_bind(0, 2);
    fake_device.refused_releases = 1;
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DEVICE_REFUSED);
    set = NULL;
    ck_assert_uint_eq(fake_host.live_count, 0);
    ck_assert_uint_eq(fake_device.live_count, 1);
    fake_release(&fake_device, fake_device.live[0].address);
}
END_TEST

START_TEST(a_budget_of_100_holds_60_refuses_50_and_takes_40)
{
    struct tidemark_settings settings = fake_settings(3);
    settings.temporary_align = 1;
    settings.device_budget_bytes = 100;
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DONE);
    open_set(&settings);
    struct tidemark_bind *binds[3] = {opened(0), opened(1), opened(2)};
    uint64_t host, device, address;
    ck_assert_int_eq(tidemark_bind_plan(binds[0], 60), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_bind_plan(binds[1], 50), TIDEMARK_OVER_BUDGET);
    tidemark_set_held(set, &host, &device);
    ck_assert_uint_eq(device, 60);
    ck_assert_uint_eq(fake_device.live_count, 1);
    ck_assert_int_eq(tidemark_bind_plan(binds[1], 40), TIDEMARK_DONE);
    /* A block of another bind has the room, but is not for this one. */
    ck_assert_int_eq(tidemark_bind_plan(binds[2], 10), TIDEMARK_OVER_BUDGET);
    ck_assert_int_eq(tidemark_bind_slice(binds[2], 10, &address), TIDEMARK_NO_ROOM);
    /* Once that bind is over, the next one on the slot has it. */
    uint64_t base = binds[0]->temporaries.base;
    end(binds[0]);
    binds[0] = opened(0);
    ck_assert_int_eq(tidemark_bind_plan(binds[0], 55), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_bind_slice(binds[0], 55, &address), TIDEMARK_DONE);
    ck_assert_uint_eq(address, base);
    for (unsigned i = 0; i < 3; i++)
        end(binds[i]);
}
END_TEST

START_TEST(a_host_budget_counts_blocks_and_what_spills)
{
    struct tidemark_settings settings = fake_settings(1);
    settings.host_budget_bytes = 4096;
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DONE);
    open_set(&settings);
    struct tidemark_object object;
    void *mirror;
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_claim(bind, 1, 5000, &object), TIDEMARK_OVER_BUDGET);
    record(bind, 1, 1500);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 3000, 16, &mirror), TIDEMARK_OVER_BUDGET);
    end(bind);
    bind = opened(0);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 3000, 16, &mirror), TIDEMARK_DONE);
    end(bind);
}
END_TEST

struct contest {
    _Atomic unsigned arrivals;
    _Atomic unsigned winners; /* over all rounds */
};

enum { ROUNDS = 20000, RACERS = 2 };

/* Both at once, as nearly as can be: a thread that waits for a lock comes too late. Relaxed, so
   that nothing but the slot orders what is done with it. */
static void meet(struct contest *contest, unsigned times)
{
    atomic_fetch_add_explicit(&contest->arrivals, 1, memory_order_relaxed);
    for (unsigned spins = 1;
         atomic_load_explicit(&contest->arrivals, memory_order_relaxed) < times * RACERS;
         spins++)
        if (spins % 1024 == 0)
            sched_yield();
}

static void race_to_open(unsigned thread, void *shared)
{
    struct contest *contest = shared;
    (void)thread;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct tidemark_bind *bind;
        meet(contest, 2 * round + 1);
        bool is_mine = tidemark_bind_open(set, 0, &bind) == TIDEMARK_DONE;
        if (is_mine && round % 100 == 0)
            record(bind, round, 64);
        if (is_mine)
            atomic_fetch_add_explicit(&contest->winners, 1, memory_order_relaxed);
        meet(contest, 2 * round + 2);
        if (is_mine)
            end(bind);
    }
}

START_TEST(of_threads_that_race_for_a_slot_one_has_it)
{
    static struct contest contest;
    suite_run_threads(RACERS, race_to_open, &contest);
    /* A round may have none: the winner of the one before may not have ended yet. */
    ck_assert_uint_le(contest.winners, ROUNDS);
    ck_assert_uint_gt(contest.winners, ROUNDS / 10);
    struct tidemark_bind *bind = opened(0);
    ck_assert_uint_eq(counts_of(bind).bind, contest.winners + 1);
    end(bind);
}
END_TEST

START_TEST(every_result_has_a_text)
{
    ck_assert_str_eq(tidemark_result_text(TIDEMARK_DONE), "done");
    ck_assert_str_eq(tidemark_result_text(TIDEMARK_DEVICE_REFUSED),
                     "a function of the device's refused");
    ck_assert_str_eq(tidemark_result_text((enum tidemark_result)99), "unknown");
}
END_TEST

SUITE_MAIN_WITH("pool/bind, slots", setup, teardown, two_slots_hold_storage_of_their_own,
                a_slot_out_of_range_or_in_use_is_refused,
                calls_out_of_turn_are_refused_and_change_nothing,
                a_set_that_cannot_be_is_refused_without_a_call,
                a_forgotten_bind_calls_nothing_until_the_slot_is_opened_again,
                releasing_an_idle_slot_gives_all_back_and_again_does_nothing,
                abandoning_a_set_calls_no_function_of_the_device,
                closing_says_what_the_device_would_not_take_back_and_is_done_with_it,
                a_budget_of_100_holds_60_refuses_50_and_takes_40,
                a_host_budget_counts_blocks_and_what_spills,
                of_threads_that_race_for_a_slot_one_has_it, every_result_has_a_text)

/* Defends: no more is kept than was needed at once, and a little; no more than allowed; and
   what is to go is taken out first, once, and with its context dropped without a driver. */
#include "tests/devices_fixture.h"

static struct pool_device_taken taken[POOL_DEVICE_BATCH];

static const struct pool_device_choice all = {
    .kinds = 1 << POOL_BLOCK_DEVICE | 1 << POOL_BLOCK_PINNED, .device = -1};
static const struct pool_device_choice owed = {.kinds = 1 << POOL_BLOCK_DEVICE |
                                                        1 << POOL_BLOCK_PINNED,
                                               .device = -1,
                                               .owed_only = true};

/* Takes, as a caller does, until there is no more; the bytes. */
static uint64_t take(struct pool_device_choice choice)
{
    uint64_t bytes = 0;
    for (size_t count = 1; count > 0;) {
        count = pool_devices_take(&pool, &choice, taken);
        for (size_t i = 0; i < count; i++) {
            bytes += taken[i].bytes;
            pool_devices_forget(&pool, taken[i].block);
        }
    }
    return bytes;
}

static uint64_t held_bytes(void)
{
    return POOL_GET(&pool.accounts[0], held_bytes);
}

START_TEST(everything_idle_can_be_taken_and_is_described)
{
    struct pool_device_key key = used_context(3);
    key.device = 5;
    uint32_t block = adopt(key, 3 * MIB), live = adopt(key, MIB);
    give(block);
    ck_assert_uint_eq(pool_devices_take(&pool, &all, taken), 1);
    ck_assert_uint_eq(taken[0].address, pool_devices_address(&pool, block));
    ck_assert_uint_eq(taken[0].bytes, 3 * MIB);
    ck_assert_uint_eq(taken[0].key.context, 3);
    ck_assert_uint_eq(taken[0].key.device, 5);
    ck_assert_uint_eq(taken[0].key.kind, POOL_BLOCK_DEVICE);
    ck_assert_int_eq(pool_devices_return(&pool, block), POOL_DEVICE_NOT_LIVE);
    synchronise(3);
    ck_assert_uint_eq(claim(key, 3 * MIB), 0);
    pool_devices_forget(&pool, block);
    ck_assert_uint_eq(pool_devices_take(&pool, &all, taken), 0);
    ck_assert(pool_devices_is_live(&pool, live));
    struct pool_device_figures figures = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    ck_assert_uint_eq(figures.released, 1);
    ck_assert_uint_eq(figures.released_bytes, 3 * MIB);
    ck_assert_uint_eq(figures.high_water_bytes, 4 * MIB);
}
END_TEST

START_TEST(what_is_taken_comes_in_small_batches)
{
    struct pool_device_key key = used_context(1);
    uint32_t blocks[40];
    for (unsigned i = 0; i < 40; i++)
        blocks[i] = adopt(key, (i + 1) * MIB);
    for (unsigned i = 0; i < 40; i++)
        give(blocks[i]);
    size_t counts[4];
    for (unsigned i = 0; i < 4; i++)
        counts[i] = pool_devices_take(&pool, &all, taken);
    ck_assert_uint_eq(counts[0], 16);
    ck_assert_uint_eq(counts[1], 16);
    ck_assert_uint_eq(counts[2], 8);
    ck_assert_uint_eq(counts[3], 0);
    ck_assert_uint_eq(pool_devices_idle_bytes(&pool, 0), 0);
    ck_assert_uint_eq(held_bytes(), 0);
}
END_TEST

START_TEST(a_choice_takes_what_it_names)
{
    struct pool_device_key keys[] = {used_context(1), used_context(2), pinned_key(1, 0)};
    keys[1].device = 1;
    const struct {
        struct pool_device_choice choice;
        uint64_t bytes;
    } cases[] = {
        {{.kinds = 1 << POOL_BLOCK_PINNED, .device = -1}, 4 * MIB},
        {{.kinds = 1 << POOL_BLOCK_DEVICE, .device = -1}, 3 * MIB},
        {{.kinds = 1 << POOL_BLOCK_DEVICE, .device = 1}, 2 * MIB},
        {{.kinds = 1 << POOL_BLOCK_DEVICE, .device = 2}, 0},
        {{.kinds = 3, .device = -1, .context = 1}, 5 * MIB},
        {{.kinds = 3, .device = 0}, 5 * MIB}, /* page-locked memory has no device */
        {{.kinds = 0, .device = -1}, 0},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (unsigned key = 0; key < 3; key++)
            give(adopt(keys[key], (uint64_t)MIB << key));
        ck_assert_uint_eq(take(cases[i].choice), cases[i].bytes);
        (void)take(all);
    }
}
END_TEST

START_TEST(no_more_than_allowed_is_idle)
{
    struct pool_device_key key = used_context(1);
    uint32_t blocks[4];
    for (unsigned i = 0; i < 4; i++)
        blocks[i] = adopt(key, MIB);
    pool.accounts[0].retain_bytes = 3 * MIB;
    (void)adopt(key, MIB); /* limits are looked at anew */
    for (unsigned i = 0; i < 3; i++)
        give(blocks[i]);
    refuses(blocks[3]);
    synchronise(1);
    ck_assert_uint_ne(claim(key, MIB), 0);
    give(blocks[3]);
}
END_TEST

static uint64_t allow(enum pool_block_kind kind, uint32_t device)
{
    return kind == POOL_BLOCK_PINNED ? 0 : device * MIB;
}

START_TEST(what_is_allowed_is_asked_for_each_place)
{
    tuning.retain_bytes = allow;
    open_pool();
    struct pool_device_key key = used_context(1);
    refuses(adopt(key, MIB));
    refuses(adopt(pinned_key(1, 0), 1));
    struct pool_device_key other = used_context(2);
    other.device = 1;
    give(adopt(other, MIB));
    refuses(adopt(other, 1));
}
END_TEST

START_TEST(what_no_request_wants_any_more_is_owed)
{
    struct pool_device_key key = used_context(1);
    uint32_t small = adopt(key, 10 * MIB);
    give(small);
    synchronise(1);
    ck_assert(!pool_devices_owes(&pool));
    /* 20 are needed now, and a little more may be held. */
    (void)adopt(key, 20 * MIB);
    ck_assert(pool_devices_owes(&pool));
    ck_assert_uint_eq(take(owed), 10 * MIB);
    ck_assert(!pool_devices_owes(&pool));
    ck_assert_uint_eq(take(all), 0);
}
END_TEST

START_TEST(a_little_more_than_was_needed_may_be_held)
{
    struct pool_device_key key = used_context(1);
    uint32_t small = adopt(key, MIB / 2);
    give(small);
    synchronise(1);
    uint32_t large = adopt(key, 16 * MIB);
    ck_assert(!pool_devices_owes(&pool));
    ck_assert_uint_eq(take(owed), 0);
    give(large);
    synchronise(1);
    (void)adopt(key, 18 * MIB + 1); /* 34.5 MiB held, 16.5 of them idle */
    ck_assert(pool_devices_owes(&pool));
    ck_assert_uint_eq(take(owed), 16 * MIB);
    ck_assert_uint_eq(take(all), MIB / 2);
}
END_TEST

START_TEST(a_request_that_misses_says_what_it_makes_superfluous)
{
    struct pool_device_key key = used_context(1);
    ck_assert_uint_eq(pool_devices_excess(&pool, &key, MIB), 0);
    uint32_t small = adopt(key, 10 * MIB);
    ck_assert_uint_eq(pool_devices_excess(&pool, &key, MIB), 0); /* nothing is idle */
    give(small);
    synchronise(1);
    ck_assert_uint_eq(pool_devices_excess(&pool, &key, 24 * MIB), 9 * MIB);
    ck_assert_uint_eq(pool_devices_excess(&pool, &key, MIB / 4), 0);
    struct pool_device_choice some = all;
    some.bytes = 1;
    give(adopt(key, 20 * MIB));
    ck_assert_uint_eq(pool_devices_take(&pool, &some, taken), 1);
    ck_assert_uint_eq(taken[0].bytes, 10 * MIB); /* the other was freed just now */
}
END_TEST

START_TEST(what_a_device_may_still_use_is_needed_too)
{
    struct pool_device_key key = used_context(1);
    uint32_t first = adopt(key, 8 * MIB);
    give(first); /* after the program's synchronisation, as programs do */
    uint32_t second = adopt(key, 8 * MIB);
    ck_assert(!pool_devices_owes(&pool));
    for (unsigned round = 0; round < 10; round++) {
        synchronise(1);
        give(round % 2 ? first : second);
        ck_assert_uint_eq(claim(key, 8 * MIB), round % 2 ? second : first);
    }
    ck_assert_uint_eq(held_bytes(), 16 * MIB);
}
END_TEST

START_TEST(a_program_that_stopped_synchronising_holds_twice_its_need_at_most)
{
    struct pool_device_key key = used_context(1);
    uint64_t most = 0;
    unsigned frees = 0;
    for (unsigned round = 0; round < 50; round++) {
        ck_assert_uint_eq(claim(key, MIB), 0);
        uint32_t block = adopt(key, MIB);
        most = held_bytes() > most ? held_bytes() : most;
        give(block);
        for (size_t count = 1; count > 0;) {
            count = pool_devices_take(&pool, &owed, taken);
            frees += (unsigned)count;
            for (size_t i = 0; i < count; i++)
                pool_devices_forget(&pool, taken[i].block);
        }
    }
    ck_assert_uint_eq(most, 3 * MIB);
    ck_assert_uint_le(frees, 50);
    ck_assert_uint_ge(frees, 48);
}
END_TEST

START_TEST(need_is_forgotten_after_two_windows)
{
    struct pool_device_key key = used_context(1);
    uint32_t blocks[16];
    for (unsigned i = 0; i < 16; i++)
        blocks[i] = adopt(key, MIB);
    for (unsigned i = 0; i < 16; i++)
        give(blocks[i]);
    synchronise(1);
    for (unsigned window = 0; window < 2; window++) {
        ck_assert(!pool_devices_owes(&pool));
        fake_wait_ms(1000);
        /* A look at the clock comes every few frees. */
        for (unsigned turn = 0; turn < 100; turn++) {
            uint32_t block = claim(key, MIB);
            ck_assert_uint_ne(block, 0);
            give(block);
            synchronise(1);
        }
    }
    ck_assert(pool_devices_owes(&pool));
    (void)take(owed);
    ck_assert_uint_eq(held_bytes(), MIB);
}
END_TEST

START_TEST(what_claims_alone_need_is_not_forgotten)
{
    struct pool_device_key key = used_context(1);
    uint32_t blocks[16];
    for (unsigned i = 0; i < 16; i++)
        blocks[i] = adopt(key, MIB);
    for (unsigned window = 0; window < 6; window++) {
        fake_wait_ms(1000);
        for (unsigned turn = 0; turn < 20; turn++) {
            for (unsigned i = 0; i < 16; i++)
                give(blocks[i]);
            ck_assert_uint_eq(take(owed), 0);
            synchronise(1);
            for (unsigned i = 0; i < 16; i++)
                ck_assert_uint_ne(claim(key, MIB), 0);
        }
    }
    ck_assert_uint_eq(held_bytes(), 16 * MIB);
}
END_TEST

START_TEST(after_a_refusal_less_is_kept_for_a_while)
{
    struct pool_device_key key = used_context(1);
    uint32_t first = adopt(key, 8 * MIB);
    give(first);
    pool_devices_refused(&pool, POOL_BLOCK_DEVICE, 0, 8 * MIB);
    ck_assert_uint_eq(take(all), 8 * MIB);
    uint32_t second = adopt(key, 8 * MIB);
    refuses(second); /* 16 do not fit, and 8 are needed: below 8 may be idle */
    uint32_t third = adopt(key, 7 * MIB);
    pool_devices_forget(&pool, second);
    refuses(third);                                         /* 15 were needed */
    pool_devices_refused(&pool, POOL_BLOCK_DEVICE, 9, MIB); /* nothing is known of it */
    fake_wait_ms(1000);
    pool_device_account_age(&pool.accounts[0]);
    refuses(third);
    pool_device_account_age(&pool.accounts[0]);
    give(third);
}
END_TEST

START_TEST(the_end_of_a_context_drops_its_blocks_and_no_others)
{
    struct pool_device_key one = used_context(1), two = used_context(2);
    uint32_t idle = adopt(one, MIB), live = adopt(one, 2 * MIB), other = adopt(two, MIB);
    uint32_t pinned = adopt(pinned_key(1, 0), MIB);
    give(idle);
    give(other);
    give(pinned);
    pool_devices_ending(&pool, 1);
    synchronise(1);
    ck_assert_uint_eq(claim(one, MIB), 0);
    refuses(live);
    ck_assert_uint_eq(take((struct pool_device_choice){3, -1, 1, false, 0}), 0);
    pool_devices_forget(&pool, live);
    pool_devices_forget(&pool, idle); /* with the lease; the pool has it still */
    pool_devices_end(&pool, 1, true);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE), MIB);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_PINNED), 0);
    ck_assert_uint_eq(held_bytes(), MIB);
    synchronise(2);
    ck_assert_uint_eq(claim(two, MIB), other);
    struct pool_device_figures figures = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    ck_assert_uint_eq(figures.released, 0);
    ck_assert_uint_eq(figures.reused, 1);
}
END_TEST

START_TEST(a_context_that_did_not_end_has_its_blocks_still)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, MIB);
    give(block);
    synchronise(1);
    pool_devices_ending(&pool, 1);
    pool_devices_end(&pool, 1, false);
    ck_assert_uint_eq(claim(key, MIB), block);
    give(block);
}
END_TEST

START_TEST(what_the_driver_has_behind_our_back_is_never_seen_again)
{
    struct pool_device_key key = used_context(1);
    uint32_t stale = adopt(key, MIB), idle = adopt(key, MIB);
    give(idle);
    give(stale);
    pool_devices_forget(&pool, stale); /* its address was handed out again */
    synchronise(1);
    ck_assert_uint_eq(claim(key, MIB), idle);
    ck_assert_uint_eq(claim(key, MIB), 0);
    give(idle);
    ck_assert_uint_eq(take(all), MIB); /* and only this one */
    ck_assert_uint_eq(held_bytes(), 0);
}
END_TEST

START_TEST(contexts_may_come_and_go_without_end)
{
    for (uint32_t context = 1; context <= 4 * POOL_DEVICE_DOMAINS; context++) {
        struct pool_device_key key = used_context(context);
        uint32_t block = adopt(key, MIB);
        give(block);
        synchronise(context);
        ck_assert_uint_eq(claim(key, MIB), block);
        give(block);
        pool_devices_ending(&pool, context);
        pool_devices_end(&pool, context, true);
    }
    struct pool_device_figures figures = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    ck_assert_uint_eq(figures.reused, 4 * POOL_DEVICE_DOMAINS);
    ck_assert_uint_eq(held_bytes(), 0);
    ck_assert(pool_device_blocks_top(&pool.blocks) == 2); /* one record did for all */
}
END_TEST

static _Atomic bool released;

static void end_or_release(unsigned index, void *shared)
{
    const uint32_t *block = shared;
    if (index == 0) {
        pool_devices_ending(&pool, 1);
        ck_assert(atomic_load_explicit(&released, memory_order_relaxed));
        pool_devices_end(&pool, 1, true);
        return;
    }
    for (unsigned turn = 0; turn < 200; turn++)
        sched_yield();
    atomic_store_explicit(&released, true, memory_order_relaxed);
    pool_devices_forget(&pool, *block);
}

START_TEST(a_context_ends_when_its_blocks_have_left_the_driver)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, MIB);
    give(block);
    ck_assert_uint_eq(pool_devices_take(&pool, &all, taken), 1);
    suite_run_threads(2, end_or_release, &block);
}
END_TEST

START_TEST(a_closed_pool_neither_keeps_nor_serves_nor_releases)
{
    struct pool_device_key key = used_context(1);
    uint32_t idle = adopt(key, MIB), live = adopt(key, MIB);
    give(idle);
    synchronise(1);
    pool_devices_close(&pool);
    ck_assert_uint_eq(claim(key, MIB), 0);
    refuses(live);
    ck_assert_uint_eq(pool_devices_take(&pool, &all, taken), 0);
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, MIB), 0);
}
END_TEST

SUITE_MAIN_WITH(
    "pool/devices_keep", setup, NULL, everything_idle_can_be_taken_and_is_described,
    what_is_taken_comes_in_small_batches, a_choice_takes_what_it_names,
    no_more_than_allowed_is_idle, what_is_allowed_is_asked_for_each_place,
    what_no_request_wants_any_more_is_owed, a_little_more_than_was_needed_may_be_held,
    a_request_that_misses_says_what_it_makes_superfluous,
    what_a_device_may_still_use_is_needed_too,
    a_program_that_stopped_synchronising_holds_twice_its_need_at_most,
    need_is_forgotten_after_two_windows, what_claims_alone_need_is_not_forgotten,
    after_a_refusal_less_is_kept_for_a_while,
    the_end_of_a_context_drops_its_blocks_and_no_others,
    a_context_that_did_not_end_has_its_blocks_still, contexts_may_come_and_go_without_end,
    a_context_ends_when_its_blocks_have_left_the_driver,
    a_closed_pool_neither_keeps_nor_serves_nor_releases,
    what_the_driver_has_behind_our_back_is_never_seen_again)

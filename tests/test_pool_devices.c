/* Defends: a block that the program freed is handed out again only to a request of the same
   context, kind and flags that it exceeds by an eighth at most, once no device can be using
   it; and to one request at a time. */
#include "tests/devices_fixture.h"

START_TEST(a_freed_block_is_handed_out_again_after_a_synchronisation)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, 4 * MIB);
    uint64_t address = pool_devices_address(&pool, block);
    give(block);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE), 4 * MIB);
    ck_assert_uint_eq(claim(key, 4 * MIB), 0);
    synchronise(1);
    ck_assert_uint_eq(claim(key, 4 * MIB), block);
    ck_assert_uint_eq(pool_devices_address(&pool, block), address);
    ck_assert_uint_eq(claim(key, 4 * MIB), 0);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE), 0);
}
END_TEST

START_TEST(a_synchronisation_that_began_before_the_free_does_not_count)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, MIB);
    uint64_t ticket = pool_epochs_begin(&pool.epochs);
    give(block);
    pool_epochs_end(&pool.epochs, 1, ticket);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(2);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(1);
    ck_assert_uint_eq(claim(key, MIB), block);
}
END_TEST

START_TEST(until_a_context_was_synchronised_nothing_is_kept)
{
    struct pool_device_key key = device_key(1);
    pool_epochs_add(&pool.epochs, 1, true);
    refuses(adopt(key, MIB));
    refuses(adopt(pinned_key(1, 0), MIB));
    synchronise(2);
    refuses(adopt(key, MIB));
    give(adopt(pinned_key(1, 0), MIB));
    synchronise(1);
    give(adopt(key, MIB));
}
END_TEST

START_TEST(what_is_ready_beneath_what_is_not_is_found)
{
    struct pool_device_key key = used_context(1);
    uint32_t old[3], new[3];
    for (unsigned i = 0; i < 3; i++) {
        old[i] = adopt(key, MIB);
        new[i] = adopt(key, MIB);
    }
    for (unsigned i = 0; i < 3; i++)
        give(old[i]);
    synchronise(1);
    for (unsigned i = 0; i < 3; i++)
        give(new[i]);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(claim(key, MIB), old[2 - i]);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(1);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(claim(key, MIB), new[2 - i]);
}
END_TEST

START_TEST(at_most_an_eighth_of_a_request_is_wasted)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, 9 * MIB);
    give(block);
    synchronise(1);
    ck_assert_uint_eq(claim(key, 9 * MIB + 1), 0);
    ck_assert_uint_eq(claim(key, 8 * MIB - 1), 0);
    ck_assert_uint_eq(claim(key, 8 * MIB), block);
    ck_assert_uint_eq(pool_devices_requested(&pool, block), 8 * MIB);
    ck_assert_uint_eq(pool_devices_bytes(&pool, block), 9 * MIB);
}
END_TEST

START_TEST(a_block_that_is_too_small_does_not_hide_one_that_fits)
{
    struct pool_device_key key = used_context(1);
    uint32_t small[3], large = adopt(key, 4400 * KIB);
    for (unsigned i = 0; i < 3; i++)
        small[i] = adopt(key, 4100 * KIB);
    give(large);
    for (unsigned i = 0; i < 3; i++)
        give(small[i]);
    synchronise(1);
    ck_assert_uint_eq(claim(key, 4300 * KIB), large);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(claim(key, 4096 * KIB), small[2 - i]);
}
END_TEST

START_TEST(contexts_kinds_and_flags_do_not_serve_each_other)
{
    (void)used_context(1);
    (void)used_context(2);
    const struct pool_device_key keys[] = {device_key(1),    device_key(2),
                                           pinned_key(1, 0), pinned_key(1, 1),
                                           pinned_key(1, 3), pinned_key(2, 0)};
    enum { KEYS = sizeof(keys) / sizeof(*keys) };
    for (unsigned from = 0; from < KEYS; from++) {
        uint32_t block = adopt(keys[from], MIB);
        give(block);
        synchronise(1);
        synchronise(2);
        for (unsigned to = 0; to < KEYS; to++)
            if (to != from)
                ck_assert_uint_eq(claim(keys[to], MIB), 0);
        ck_assert_uint_eq(claim(keys[from], MIB), block);
    }
}
END_TEST

START_TEST(page_locked_memory_waits_for_every_context)
{
    struct pool_device_key key = pinned_key(1, 0);
    (void)used_context(1);
    (void)used_context(2);
    uint32_t block = adopt(key, MIB);
    give(block);
    synchronise(1);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(2);
    ck_assert_uint_eq(claim(key, MIB), block);
    pool_epochs_add(&pool.epochs, 3, false);
    give(block);
    synchronise(1);
    synchronise(2);
    ck_assert_uint_eq(claim(key, MIB), 0); /* nothing is known of the third */
    pool_epochs_add(&pool.epochs, 4,
                    true); /* and nothing can have used it in the fourth */
    for (uint32_t context = 1; context <= 3; context++)
        synchronise(context);
    ck_assert_uint_eq(claim(key, MIB), block);
}
END_TEST

START_TEST(device_memory_that_other_contexts_reach_waits_for_them)
{
    struct pool_device_key key = used_context(1);
    (void)used_context(2);
    uint32_t block = adopt(key, MIB);
    give(block);
    synchronise(1);
    pool_devices_share(&pool);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(2);
    ck_assert_uint_eq(claim(key, MIB), block);
    give(block);
    synchronise(2);
    ck_assert_uint_eq(claim(key, MIB), 0);
}
END_TEST

START_TEST(an_event_makes_ready_without_the_program)
{
    with_events();
    open_pool();
    pool_epochs_add(&pool.epochs, 1, true);
    struct pool_device_key key = device_key(1);
    uint32_t block = adopt(key, MIB);
    give(block);
    events.answer = POOL_EVENT_PENDING;
    ck_assert_uint_eq(claim(key, MIB), 0);
    ck_assert_uint_eq(claim(key, MIB), 0);
    ck_assert_uint_eq(events.records, 1);
    events.answer = POOL_EVENT_DONE;
    ck_assert_uint_eq(claim(key, MIB), block);
    ck_assert_uint_eq(claim(key, MIB), 0);
    ck_assert_uint_eq(events.records, 1); /* nothing idle, nothing to ask */
}
END_TEST

START_TEST(of_two_frees_of_one_block_one_counts)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, MIB);
    give(block);
    ck_assert_int_eq(pool_devices_return(&pool, block), POOL_DEVICE_NOT_LIVE);
    synchronise(1);
    ck_assert_uint_eq(claim(key, MIB), block);
    ck_assert_uint_eq(claim(key, MIB), 0);
}
END_TEST

START_TEST(a_block_within_reach_of_others_is_not_kept)
{
    struct pool_device_key key = used_context(1);
    uint32_t block = adopt(key, MIB);
    pool_devices_expose(&pool, block);
    refuses(block);
    pool_devices_forget(&pool, block);
    ck_assert_uint_eq(adopt(key, MIB), block); /* the record, of another allocation */
    give(block);
}
END_TEST

START_TEST(every_claim_is_counted_as_what_it_was)
{
    struct pool_device_key key = used_context(1);
    ck_assert_uint_eq(claim(key, MIB), 0);
    uint32_t block = adopt(key, MIB);
    give(block);
    ck_assert_uint_eq(claim(key, MIB), 0);
    synchronise(1);
    ck_assert_uint_eq(claim(key, 2 * MIB), 0);
    ck_assert_uint_eq(claim(key, MIB), block);
    struct pool_device_figures figures = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    ck_assert_uint_eq(figures.claims, 4);
    ck_assert_uint_eq(figures.reused, 1);
    ck_assert_uint_eq(figures.missed_unready, 1);
    ck_assert_uint_eq(figures.missed_size, 2);
    ck_assert_uint_eq(pool_devices_read(&pool, POOL_BLOCK_PINNED).claims, 0);
}
END_TEST

START_TEST(what_cannot_be_named_by_a_key_is_never_kept)
{
    const struct pool_device_key keys[] = {
        {.context = 0, .kind = POOL_BLOCK_DEVICE},
        {.context = 1, .kind = POOL_BLOCK_PINNED, .flags = 1u << POOL_DEVICE_FLAG_BITS},
        {.context = 1, .kind = POOL_BLOCK_DEVICE, .device = POOL_DEVICES_MOST},
    };
    synchronise(1);
    for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        ck_assert_uint_eq(pool_devices_adopt(&pool, &keys[i], 0x1000, MIB), 0);
        ck_assert_uint_eq(claim(keys[i], MIB), 0);
    }
    struct pool_device_key key = device_key(1);
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, UINT64_C(1) << 42), 0);
    ck_assert_uint_eq(claim(key, UINT64_C(1) << 42), 0);
    ck_assert_uint_eq(claim(key, UINT64_MAX), 0);
}
END_TEST

START_TEST(one_domain_more_than_there_is_room_for_is_not_kept)
{
    for (uint32_t context = 1; context <= POOL_DEVICE_DOMAINS; context++)
        (void)adopt(device_key(context), MIB);
    struct pool_device_key key = device_key(POOL_DEVICE_DOMAINS + 1);
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, MIB), 0);
    ck_assert_uint_eq(claim(key, MIB), 0);
    (void)adopt(device_key(7), MIB);
}
END_TEST

START_TEST(one_record_more_than_there_is_room_for_is_not_to_be_had)
{
    struct pool_device_key key = device_key(1);
    for (uint32_t count = 1; count < POOL_DEVICE_BLOCKS_MOST; count++)
        if (pool_devices_adopt(&pool, &key, 0x1000, 512) != count)
            ck_abort_msg("record %u is another", count);
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, 512), 0);
    pool_devices_forget(&pool, 77);
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, 512), 77);
}
END_TEST

START_TEST(a_bin_that_is_full_refuses)
{
    struct pool_device_key key = used_context(1);
    static uint32_t blocks[POOL_DEVICE_BIN_MOST + 1];
    for (unsigned i = 0; i <= POOL_DEVICE_BIN_MOST; i++)
        blocks[i] = adopt(key, MIB);
    for (unsigned i = 0; i < POOL_DEVICE_BIN_MOST; i++)
        give(blocks[i]);
    refuses(blocks[POOL_DEVICE_BIN_MOST]);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE),
                      (uint64_t)POOL_DEVICE_BIN_MOST * MIB);
    ck_assert_uint_eq(pool_devices_idle_bytes(&pool, 0),
                      (uint64_t)POOL_DEVICE_BIN_MOST * MIB);
}
END_TEST

START_TEST(without_memory_for_records_nothing_is_kept)
{
    for (unsigned refused = 1; refused <= 2; refused++) {
        setup();
        memset(&pool, 0, sizeof(pool));
        size_t reserved = fake_reserved();
        fake.refused_reserve = fake_reserves() + refused;
        ck_assert(!pool_devices_open(&pool, &source, &tuning));
        ck_assert_uint_eq(fake_reserved(), reserved);
        struct pool_device_key key = used_context(1);
        ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, MIB), 0);
        ck_assert_uint_eq(claim(key, MIB), 0);
        ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE), 0);
    }
}
END_TEST

START_TEST(memory_refused_for_a_domain_or_a_step_costs_that_allocation)
{
    struct pool_device_key key = used_context(1);
    fake_refuse_next_reserve();
    fake.refused_enable = 0;
    for (unsigned probe = 0; probe < 1; probe++) {
        uint32_t block = pool_devices_adopt(&pool, &key, 0x1000, MIB);
        ck_assert_uint_ne(block, 0); /* another place was found */
    }
    setup();
    key = used_context(1);
    fake.refused_enable = 2; /* the first is for the domain's bins */
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, MIB), 0);
    fake.refused_enable = 4; /* the second half of a step */
    ck_assert_uint_eq(pool_devices_adopt(&pool, &key, 0x1000, MIB), 0);
    give(adopt(key, MIB));
}
END_TEST

SUITE_MAIN_WITH("pool/devices", setup, NULL,
                a_freed_block_is_handed_out_again_after_a_synchronisation,
                a_synchronisation_that_began_before_the_free_does_not_count,
                until_a_context_was_synchronised_nothing_is_kept,
                what_is_ready_beneath_what_is_not_is_found,
                at_most_an_eighth_of_a_request_is_wasted,
                a_block_that_is_too_small_does_not_hide_one_that_fits,
                contexts_kinds_and_flags_do_not_serve_each_other,
                page_locked_memory_waits_for_every_context,
                device_memory_that_other_contexts_reach_waits_for_them,
                an_event_makes_ready_without_the_program,
                of_two_frees_of_one_block_one_counts,
                a_block_within_reach_of_others_is_not_kept,
                every_claim_is_counted_as_what_it_was,
                what_cannot_be_named_by_a_key_is_never_kept,
                one_domain_more_than_there_is_room_for_is_not_kept,
                one_record_more_than_there_is_room_for_is_not_to_be_had,
                a_bin_that_is_full_refuses, without_memory_for_records_nothing_is_kept,
                memory_refused_for_a_domain_or_a_step_costs_that_allocation)

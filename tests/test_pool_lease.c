/* Defends: every open lease is found by its address and closed exactly once, whatever is
   opened and closed around it; closing an owner's takes those and no others; a lease for
   which there is no memory is not open. */
#include "tests/lease_fixture.h"

START_TEST(a_lease_is_closed_once)
{
    is_not_open(0x7f0000000000);
    open_new(0x7f0000000000, 4096, 1);
    closes(0x7f0000000000, 4096, 1);
    is_not_open(0x7f0000000000);
}
END_TEST

START_TEST(an_address_inside_a_lease_is_not_its_address)
{
    open_new(0x200000, 4096, 0);
    is_not_open(0x200001);
    is_not_open(0x1fffff);
    is_not_open(0);
    closes(0x200000, 4096, 0);
}
END_TEST

START_TEST(an_address_that_is_opened_again_ends_the_lease_before)
{
    open_new(0x200000, 4096, 0);
    struct pool_lease lease = lease_of(0x200000, 8192, 1), ended;
    ck_assert(pool_lease_open(&leases, &lease, &ended));
    lease_is(&ended, 0x200000, 4096, 0);
    closes(0x200000, 8192, 1);
    is_not_open(0x200000);
}
END_TEST

START_TEST(tens_of_thousands_of_leases_stay_open_while_the_tables_grow)
{
    enum { COUNT = 40000 };
    const uint64_t strides[] = {1, 512, 2 << 20, (64 << 20) + 512};
    for (unsigned i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
        setup();
        for (uint64_t n = 1; n <= COUNT; n++)
            open_new(n * strides[i], n, (unsigned)(n % 4));
        for (uint64_t n = 1; n <= COUNT; n++)
            closes(n * strides[i], n, (unsigned)(n % 4));
        for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++)
            ck_assert_uint_eq(leases.shards[shard].used, 0);
    }
}
END_TEST

START_TEST(addresses_as_drivers_give_them_are_spread_over_all_shards)
{
    enum { COUNT = 64 * 1024 };
    for (uint64_t n = 0; n < COUNT; n++)
        open_new(UINT64_C(0x7f1200000000) + n * (2 << 20), 1, 0);
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++) {
        ck_assert_uint_gt(leases.shards[shard].used, 512);
        ck_assert_uint_lt(leases.shards[shard].used, 2048);
    }
}
END_TEST

START_TEST(growing_gives_the_smaller_table_back)
{
    for (uint64_t n = 1; n <= 60000; n++)
        open_new(n << 21, n, 0);
    size_t slots = 0;
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++)
        slots += leases.shards[shard].slot_count;
    ck_assert_uint_ge(slots, 2 * 60000);
    ck_assert_uint_eq(fake_reserved(), slots * sizeof(struct pool_lease));
    ck_assert_uint_eq(fake_reserves(), fake_enables());
    ck_assert_uint_eq(fake_releases(), fake_reserves() - POOL_LEASE_SHARDS);
}
END_TEST

static unsigned shard_with_slots(void)
{
    unsigned shard = 0;
    while (leases.shards[shard].slot_count == 0)
        shard++;
    return shard;
}

static size_t first_used_slot(unsigned shard)
{
    size_t slot = 0;
    while (leases.shards[shard].slots[slot].address == 0)
        slot++;
    return slot;
}

enum { RUN = 12 };

/* Addresses of one shard that all want one of the last slots of its first table or its
   first ones, so that their run goes round the end. */
static void addresses_of_one_run(uint64_t addresses[RUN])
{
    unsigned found = 0, wanted = POOL_LEASE_SHARDS;
    for (uint64_t address = 512; found < RUN; address += 512) {
        setup();
        open_new(address, 1, 0);
        unsigned shard = shard_with_slots();
        size_t slot = first_used_slot(shard);
        fake_release(leases.shards[shard].slots, 256 * sizeof(struct pool_lease));
        if (slot >= 2 && slot < POOL_LEASE_FIRST_SLOTS - 4)
            continue;
        if (wanted == POOL_LEASE_SHARDS)
            wanted = shard;
        if (shard == wanted)
            addresses[found++] = address;
    }
    setup();
}

START_TEST(a_lease_closed_in_a_run_round_the_end_of_a_table_hides_no_other)
{
    uint64_t addresses[RUN];
    addresses_of_one_run(addresses);
    for (unsigned first = 0; first < RUN; first++) {
        for (unsigned second = 0; second < RUN; second++) {
            for (unsigned i = 0; i < RUN; i++)
                open_new(addresses[i], i, i % 4);
            closes(addresses[first], first, first % 4);
            if (second != first)
                closes(addresses[second], second, second % 4);
            for (unsigned i = 0; i < RUN; i++)
                if (i != first && i != second)
                    closes(addresses[i], i, i % 4);
        }
    }
}
END_TEST

START_TEST(closing_an_owners_leases_takes_those_and_no_others)
{
    enum { COUNT = 20000 };
    uint64_t bytes[4] = {0};
    for (uint64_t n = 1; n <= COUNT; n++) {
        open_new(n << 9, n, (unsigned)(n % 4));
        bytes[n % 4] += n;
    }
    close_owner(2, COUNT / 4, bytes[2]);
    close_owner(2, 0, 0);
    for (uint64_t n = 1; n <= COUNT; n++) {
        if (n % 4 == 2)
            is_not_open(n << 9);
        else if (n % 4 == 0)
            closes(n << 9, n, 0);
    }
    close_owner(0, 0, 0);
    close_owner(1, COUNT / 4, bytes[1]);
    close_owner(3, COUNT / 4, bytes[3]);
    close_owner(3, 0, 0);
}
END_TEST

START_TEST(an_owners_leases_in_a_run_round_the_end_of_a_table_are_all_closed)
{
    uint64_t addresses[RUN];
    addresses_of_one_run(addresses);
    for (unsigned set = 0; set < 1u << RUN; set++) {
        unsigned count = 0;
        for (unsigned i = 0; i < RUN; i++) {
            open_new(addresses[i], 1, set >> i & 1);
            count += set >> i & 1;
        }
        close_owner(1, count, count);
        for (unsigned i = 0; i < RUN; i++)
            if (!(set >> i & 1))
                closes(addresses[i], 1, 0);
    }
}
END_TEST

START_TEST(a_lease_without_memory_is_not_open_and_the_next_one_is)
{
    struct pool_lease lease = lease_of(0x200000, 4096, 0), ended = {.address = 1};
    fake_refuse_next_reserve();
    ck_assert(!pool_lease_open(&leases, &lease, &ended));
    ck_assert_uint_eq(ended.address, 0);
    is_not_open(0x200000);
    fake_refuse_next_enable();
    ck_assert(!pool_lease_open(&leases, &lease, &ended));
    is_not_open(0x200000);
    ck_assert_uint_eq(fake_reserved(), 0);
    open_new(0x200000, 4096, 0);
    closes(0x200000, 4096, 0);
}
END_TEST

START_TEST(a_table_that_cannot_grow_keeps_what_it_has)
{
    struct pool_lease lease = lease_of(1, 1, 0), ended;
    fake.reserve_bytes_max = POOL_LEASE_FIRST_SLOTS * sizeof(struct pool_lease);
    while (pool_lease_open(&leases, &lease, &ended))
        lease.address++;
    uint64_t refused = lease.address;
    is_not_open(refused);
    fake.reserve_bytes_max = 0;
    open_new(refused, 1, 0);
    for (uint64_t address = 1; address <= refused; address++)
        closes(address, 1, 0);
}
END_TEST

START_TEST(both_sides_of_a_fork_close_what_was_open)
{
    struct pool_lease lease;
    int status;
    open_new(0x200000, 4096, 0);
    pool_leases_fork_prepare(&leases);
    pid_t child = fork();
    pool_leases_fork_done(&leases);
    ck_assert_int_ge(child, 0);
    bool closed = pool_lease_close(&leases, 0x200000, &lease);
    if (child == 0)
        _exit(closed ? 0 : 1);
    ck_assert(closed);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

SUITE_MAIN_WITH("pool/lease", setup, NULL, a_lease_is_closed_once,
                an_address_inside_a_lease_is_not_its_address,
                an_address_that_is_opened_again_ends_the_lease_before,
                tens_of_thousands_of_leases_stay_open_while_the_tables_grow,
                addresses_as_drivers_give_them_are_spread_over_all_shards,
                growing_gives_the_smaller_table_back,
                a_lease_closed_in_a_run_round_the_end_of_a_table_hides_no_other,
                closing_an_owners_leases_takes_those_and_no_others,
                an_owners_leases_in_a_run_round_the_end_of_a_table_are_all_closed,
                a_lease_without_memory_is_not_open_and_the_next_one_is,
                a_table_that_cannot_grow_keeps_what_it_has,
                both_sides_of_a_fork_close_what_was_open)

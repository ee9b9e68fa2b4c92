/* Defends: a block that is kept grows by a new one before the old one goes, so that no failure
   leaves less than there was, and what it costs is counted and bounded. */
#include "pool/retained.h"

#include "tests/bind_fixture.h"

static struct pool_bind_source device_source = {
    .context = &fake_device,
    .allocate = fake_allocate,
    .release = fake_release,
    .clear = fake_clear,
    .refusal = TIDEMARK_DEVICE_REFUSED,
};
static struct pool_bind_budget budget;
static struct pool_bind_memory device, host;
static struct pool_retained block;

static void start(void)
{
    fake_reset();
    budget = (struct pool_bind_budget){.ceiling.bytes = UINT64_MAX};
    device = (struct pool_bind_memory){.source = &device_source, .budget = &budget};
    host = (struct pool_bind_memory){.source = &fake_host_source, .budget = &budget};
    block = (struct pool_retained){.base = 0};
}

static void finish(void)
{
    if (fake_host.live_count > 0)
        (void)pool_retained_release(&block, &host);
    else
        (void)pool_retained_release(&block, &device);
    ck_assert_uint_eq(fake_host.live_count, 0);
    ck_assert_uint_eq(fake_device.live_count, 0);
    ck_assert_uint_eq(policy_ledger_charged(&budget.account), 0);
}

static enum tidemark_result ask(size_t bytes, size_t align)
{
    const struct pool_retained_need need = {.bytes = bytes, .align = align};
    return pool_retained_acquire(&block, &device, &need);
}

static void get(size_t bytes, size_t align)
{
    ck_assert_int_eq(ask(bytes, align), TIDEMARK_DONE);
    ck_assert_uint_eq(block.base % align, 0);
    ck_assert_uint_ge(pool_retained_room(&block), bytes);
    fake_find(&fake_device, block.base, pool_retained_room(&block));
    ck_assert_uint_eq(policy_ledger_charged(&budget.account),
                      block.now.bytes + block.held.bytes);
}

static bool is_unchanged(const struct pool_retained *before)
{
    return memcmp(&block, before, sizeof(block)) == 0;
}

START_TEST(capacity_is_rounded_up_by_at_most_an_eighth_and_never_past_the_last_number)
{
    static const struct {
        size_t bytes, capacity;
    } known[] = {{1, 1},
                 {7, 7},
                 {15, 15},
                 {17, 18},
                 {3072, 3072},
                 {4095, 4096},
                 {5119, 5120},
                 {9215, 9216},
                 {1025, 1152},
                 {82460928, 83886080},
                 {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        ck_assert_uint_eq(pool_retained_capacity(known[i].bytes), known[i].capacity);
    for (size_t bytes = 1; bytes < 100000; bytes++) {
        size_t capacity = pool_retained_capacity(bytes);
        ck_assert_uint_ge(capacity, bytes);
        ck_assert_uint_le(capacity - bytes, bytes / 8);
        ck_assert_uint_eq(pool_retained_capacity(capacity), capacity);
    }
}
END_TEST

START_TEST(the_first_request_makes_one_block_and_smaller_ones_reuse_it)
{
    get(4096, 1024);
    ck_assert_uint_eq(fake_device.last_bytes, 5120); /* 4096 + 1023, rounded */
    struct pool_retained before = block;
    get(1024, 1024);
    get(4096, 16);
    ck_assert_uint_eq(block.now.address, before.now.address);
    ck_assert_uint_eq(fake_device.allocs, 1);
    ck_assert_uint_eq(fake_device.releases, 0);
}
END_TEST

START_TEST(a_larger_request_makes_the_new_block_before_the_old_one_goes)
{
    get(1024, 1024);
    uint64_t old = block.now.address;
    get(8192, 1024);
    ck_assert_uint_eq(fake_device.allocs, 2);
    ck_assert_uint_eq(fake_device.releases, 1);
    ck_assert_uint_eq(fake_device.released[0], old);
    ck_assert_uint_eq(block.now.bytes, 9216); /* 8192 + 1023, rounded */
    ck_assert_uint_ne(block.now.address, old);
    ck_assert_uint_eq(fake_device.live_count, 1);
}
END_TEST

START_TEST(what_is_given_back_is_the_address_as_the_source_gave_it)
{
    get(3072, 1024);
    uint64_t raw = block.now.address;
    ck_assert_uint_ne(raw, block.base);
    ck_assert_uint_eq(raw, fake_device.live[0].address);
    ck_assert_int_eq(pool_retained_release(&block, &device), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.released[0], raw);
}
END_TEST

START_TEST(growth_charges_the_old_and_the_new_block_together)
{
    get(1024, 16);
    uint64_t held = policy_ledger_charged(&budget.account);
    ck_assert_uint_eq(held, block.now.bytes);
    get(2048, 16);
    ck_assert_uint_eq(budget.account.peak_bytes, held + block.now.bytes);
    /* So a budget that holds either of them, but not both, refuses. */
    budget.ceiling.bytes = 2 * block.now.bytes;
    struct pool_retained before = block;
    ck_assert_int_eq(ask(4096, 16), TIDEMARK_OVER_BUDGET);
    ck_assert(is_unchanged(&before));
}
END_TEST

START_TEST(a_refused_growth_leaves_the_old_block_serving)
{
    get(1024, 1024);
    struct pool_retained before = block;
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(ask(8000, 1024), TIDEMARK_DEVICE_REFUSED);
    ck_assert(is_unchanged(&before));
    ck_assert_uint_eq(fake_device.releases, 0);
    ck_assert_int_eq(device.error, FAKE_ERROR);
    get(1024, 1024);
    ck_assert_uint_eq(block.now.address, before.now.address);
}
END_TEST

START_TEST(a_refused_first_request_leaves_nothing)
{
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(ask(1000, 1024), TIDEMARK_DEVICE_REFUSED);
    ck_assert_uint_eq(block.now.address, 0);
    ck_assert_uint_eq(pool_retained_room(&block), 0);
    ck_assert_uint_eq(policy_ledger_charged(&budget.account), 0);
    ck_assert_uint_eq(fake_device.live_count, 0);
}
END_TEST

START_TEST(a_request_that_fits_as_it_is_does_not_fail_for_the_rounding)
{
    fake_device.largest_served = 1025;
    get(1010, 16);
    ck_assert_uint_eq(fake_device.allocs, 2);
    ck_assert_uint_eq(block.now.bytes, 1025);
    ck_assert_int_eq(pool_retained_release(&block, &device), TIDEMARK_DONE);
    budget.ceiling.bytes = 1025;
    get(1010, 16);
    ck_assert_int_eq(pool_retained_release(&block, &device), TIDEMARK_DONE);
    ck_assert_int_eq(ask(1011, 16), TIDEMARK_OVER_BUDGET);
}
END_TEST

START_TEST(a_sum_that_cannot_be_represented_is_refused_without_a_call)
{
    ck_assert_int_eq(ask(SIZE_MAX, 16), TIDEMARK_TOO_LARGE);
    ck_assert_int_eq(ask(SIZE_MAX - 14, 16), TIDEMARK_TOO_LARGE);
    ck_assert_uint_eq(fake_device.allocs, 0);
    budget.ceiling.bytes = SIZE_MAX - 1;
    ck_assert_int_eq(ask(SIZE_MAX - 15, 16), TIDEMARK_OVER_BUDGET);
    ck_assert_uint_eq(fake_device.allocs, 0);
}
END_TEST

START_TEST(a_larger_alignment_reuses_the_block_only_where_it_fits_in)
{
    get(3000, 16);
    uint64_t raw = block.now.address;
    get(16, 1024); /* fits in further up */
    ck_assert_uint_eq(block.now.address, raw);
    get(3000, 16);
    ck_assert_uint_eq(block.base, raw);
    get(3000, 1024);
    ck_assert_uint_ne(block.now.address, raw);
    ck_assert_uint_eq(fake_device.allocs, 2);
    ck_assert_uint_eq(fake_device.releases, 1);
}
END_TEST

START_TEST(a_block_that_is_to_be_cleared_is_zero_in_all_its_capacity)
{
    const struct pool_retained_need need = {1025, 16, 0, true};
    ck_assert_int_eq(pool_retained_acquire(&block, &device, &need), TIDEMARK_DONE);
    ck_assert_uint_gt(pool_retained_room(&block), 1040);
    const unsigned char *bytes = (const void *)(uintptr_t)block.now.address;
    for (size_t i = 0; i < block.now.bytes; i++)
        ck_assert_uint_eq(bytes[i], 0);
    ck_assert_uint_eq(fake_device.clears, 1);
    /* Not again: it may hold what was shipped. */
    ck_assert_int_eq(pool_retained_acquire(&block, &device, &need), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.clears, 1);
}
END_TEST

START_TEST(a_block_that_cannot_be_cleared_is_given_back_and_the_old_one_serves)
{
    get(1024, 16);
    struct pool_retained before = block;
    fake_device.refused_clears = 1;
    const struct pool_retained_need need = {4096, 16, 0, true};
    ck_assert_int_eq(pool_retained_acquire(&block, &device, &need),
                     TIDEMARK_DEVICE_REFUSED);
    ck_assert(is_unchanged(&before));
    ck_assert_uint_eq(fake_device.live_count, 1);
    ck_assert_uint_eq(policy_ledger_charged(&budget.account), block.now.bytes);
}
END_TEST

START_TEST(growth_carries_contents_over_where_that_is_asked_for)
{
    struct pool_retained_need need = {.bytes = 1000, .align = 64};
    ck_assert_int_eq(pool_retained_acquire(&block, &host, &need), TIDEMARK_DONE);
    unsigned char *bytes = (void *)(uintptr_t)block.base;
    for (size_t i = 0; i < 1000; i++)
        bytes[i] = (unsigned char)(i * 7);
    uint64_t old = block.base;
    need = (struct pool_retained_need){.bytes = 50000, .align = 64, .kept_bytes = 990};
    ck_assert_int_eq(pool_retained_acquire(&block, &host, &need), TIDEMARK_DONE);
    ck_assert_uint_ne(block.base, old);
    bytes = (void *)(uintptr_t)block.base;
    for (size_t i = 0; i < 990; i++)
        ck_assert_uint_eq(bytes[i], (unsigned char)(i * 7));
}
END_TEST

START_TEST(an_old_block_that_cannot_go_is_held_and_stops_further_growth)
{
    get(1024, 16);
    uint64_t first = block.now.address;
    fake_device.refused_releases = 1;
    get(2048, 16);
    ck_assert_uint_eq(block.held.address, first);
    ck_assert_uint_eq(fake_device.live_count, 2);
    struct pool_retained before = block;
    fake_device.refused_releases = 1;
    ck_assert_int_eq(ask(8192, 16), TIDEMARK_DEVICE_REFUSED);
    ck_assert(is_unchanged(&before));
    ck_assert_uint_eq(fake_device.allocs, 2);
    get(2048, 16); /* what there is still serves */
    get(8192, 16); /* the old one goes at last */
    ck_assert_uint_eq(block.held.address, 0);
    ck_assert_uint_eq(fake_device.live_count, 1);
}
END_TEST

START_TEST(release_tries_both_blocks_says_the_first_refusal_and_is_then_a_no_op)
{
    get(1024, 16);
    fake_device.refused_releases = 1;
    get(2048, 16);
    uint64_t now = block.now.address, held = block.held.address;
    size_t bytes = block.now.bytes;
    fake_device.refused_releases = 1; /* of the block that serves */
    ck_assert_int_eq(pool_retained_release(&block, &device), TIDEMARK_DEVICE_REFUSED);
    ck_assert_uint_eq(fake_device.releases, 3);
    ck_assert_uint_eq(fake_device.released[1], now);
    ck_assert_uint_eq(fake_device.released[2], held);
    ck_assert_uint_eq(policy_ledger_charged(&budget.account), bytes);
    ck_assert_int_eq(pool_retained_release(&block, &device), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.releases, 3);
    /* The device has it still; the test gives it back. */
    ck_assert_int_eq(pool_bind_memory_give(&device, now, bytes), TIDEMARK_DONE);
}
END_TEST

START_TEST(abandoning_forgets_without_a_call)
{
    get(1024, 16);
    fake_device.refused_releases = 1;
    get(2048, 16);
    unsigned calls = fake_device.allocs + fake_device.releases;
    pool_retained_abandon(&block, &device);
    ck_assert_uint_eq(fake_device.allocs + fake_device.releases, calls);
    ck_assert_uint_eq(block.now.address + block.held.address, 0);
    ck_assert_uint_eq(policy_ledger_charged(&budget.account), 0);
    while (fake_device.live_count > 0)
        fake_release(&fake_device, fake_device.live[0].address);
}
END_TEST

SUITE_MAIN_WITH(
    "pool/retained", start, finish,
    capacity_is_rounded_up_by_at_most_an_eighth_and_never_past_the_last_number,
    the_first_request_makes_one_block_and_smaller_ones_reuse_it,
    a_larger_request_makes_the_new_block_before_the_old_one_goes,
    what_is_given_back_is_the_address_as_the_source_gave_it,
    growth_charges_the_old_and_the_new_block_together,
    a_refused_growth_leaves_the_old_block_serving, a_refused_first_request_leaves_nothing,
    a_request_that_fits_as_it_is_does_not_fail_for_the_rounding,
    a_sum_that_cannot_be_represented_is_refused_without_a_call,
    a_larger_alignment_reuses_the_block_only_where_it_fits_in,
    a_block_that_is_to_be_cleared_is_zero_in_all_its_capacity,
    a_block_that_cannot_be_cleared_is_given_back_and_the_old_one_serves,
    growth_carries_contents_over_where_that_is_asked_for,
    an_old_block_that_cannot_go_is_held_and_stops_further_growth,
    release_tries_both_blocks_says_the_first_refusal_and_is_then_a_no_op,
    abandoning_forgets_without_a_call)

/* Defends: storage, addresses and arithmetic are three limits, each refusing by its own name
   and with numbers that add up; no sum ever wraps. */
#include "policy/space.h"

#include <stdbool.h>

#include "tests/suite.h"

__extension__ typedef unsigned __int128 wide;

static const struct policy_space everything = {
    .largest_address = UINT64_MAX, .capacity_bytes = UINT64_MAX, .unit_bytes = 1};

static struct policy_space up_to(uint64_t largest_address)
{
    struct policy_space space = everything;
    space.largest_address = largest_address;
    return space;
}

static struct policy_space storage_of(uint64_t capacity_bytes)
{
    struct policy_space space = everything;
    space.capacity_bytes = capacity_bytes;
    return space;
}

/* The decision on one range, which must be this one. */
static struct policy_verdict decides(struct policy_space space, uint64_t offset,
                                     uint64_t bytes, uint64_t alignment,
                                     enum policy_verdict_kind kind)
{
    struct policy_verdict verdict = policy_space_admit(&space, offset, bytes, alignment);
    ck_assert_int_eq(verdict.kind, kind);
    ck_assert_uint_eq(verdict.asked_bytes, bytes);
    ck_assert_int_eq(verdict.short_bytes == 0,
                     kind == POLICY_ADMITTED || kind == POLICY_MALFORMED);
    return verdict;
}

static wide rounded(wide value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* The same decision by arithmetic that cannot overflow. */
static enum policy_verdict_kind expected(const struct policy_space *space,
                                         uint64_t offset, uint64_t bytes,
                                         uint64_t alignment)
{
    if (alignment == 0 || space->unit_bytes == 0)
        return POLICY_MALFORMED;
    wide aligned = rounded(bytes, alignment), start = (wide)space->base + offset;
    wide storage = rounded(offset + aligned, space->unit_bytes);
    if (aligned > UINT64_MAX || start > UINT64_MAX)
        return POLICY_SIZE_OVERFLOW;
    if (start + aligned > space->largest_address)
        return POLICY_ADDRESS_BEYOND;
    if (storage > UINT64_MAX)
        return POLICY_SIZE_OVERFLOW;
    if (space->base + storage > space->largest_address)
        return POLICY_ADDRESS_BEYOND;
    if (space->external_peak_bytes + storage > UINT64_MAX)
        return POLICY_SIZE_OVERFLOW;
    return space->external_peak_bytes + storage > space->capacity_bytes
               ? POLICY_OVER_CAPACITY
               : POLICY_ADMITTED;
}

/* Whether the decision agrees, and a refusal's numbers add up. */
static bool agrees(const struct policy_space *space, uint64_t offset, uint64_t bytes,
                   uint64_t alignment)
{
    struct policy_verdict verdict = policy_space_admit(space, offset, bytes, alignment);
    if (verdict.kind != expected(space, offset, bytes, alignment))
        return false;
    if (verdict.kind != POLICY_ADDRESS_BEYOND && verdict.kind != POLICY_OVER_CAPACITY)
        return true;
    wide excess = (wide)verdict.held_bytes + verdict.reserved_bytes - verdict.limit_bytes;
    return verdict.short_bytes == (excess > UINT64_MAX ? UINT64_MAX : (uint64_t)excess);
}

START_TEST(an_11_KiB_region_fits_storage_of_20_KiB)
{
    struct policy_verdict verdict =
        decides(storage_of(20 * 1024), 0, 11 * 1024, 1, POLICY_ADMITTED);
    ck_assert_uint_eq(verdict.reserved_bytes, 11 * 1024);
    ck_assert_uint_eq(verdict.limit_bytes, 20 * 1024);
}
END_TEST

START_TEST(a_size_of_27_in_tens_fits_up_to_30_and_not_up_to_29)
{
    decides(up_to(30), 0, 27, 10, POLICY_ADMITTED);
    struct policy_verdict verdict = decides(up_to(29), 0, 27, 10, POLICY_ADDRESS_BEYOND);
    ck_assert_uint_eq(verdict.reserved_bytes, 30);
    ck_assert_uint_eq(verdict.limit_bytes, 29);
    ck_assert_uint_eq(verdict.short_bytes, 1);
}
END_TEST

START_TEST(the_end_may_be_the_largest_address_and_no_more)
{
    decides(up_to(15), 15, 0, 1, POLICY_ADMITTED);
    decides(up_to(15), 5, 10, 1, POLICY_ADMITTED);
    decides(up_to(15), 15, 1, 1, POLICY_ADDRESS_BEYOND);
    decides(up_to(15), 16, 0, 1, POLICY_ADDRESS_BEYOND);
    decides(everything, UINT64_MAX, 0, 1, POLICY_ADMITTED);
    decides(everything, 0, UINT64_MAX, 1, POLICY_ADMITTED);
    decides(everything, 1, UINT64_MAX, 1, POLICY_ADDRESS_BEYOND);
    decides(everything, UINT64_MAX, UINT64_MAX, 1, POLICY_ADDRESS_BEYOND);
}
END_TEST

/* Free: 25 bytes of 100. */
static void refuses_21_of_25(struct policy_space space, uint64_t offset,
                             uint64_t alignment)
{
    struct policy_verdict verdict =
        decides(space, offset, 21, alignment, POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(verdict.asked_bytes, 21);
    ck_assert_uint_eq(verdict.reserved_bytes, 30);
    ck_assert_uint_eq(policy_space_left(&verdict), 25);
    ck_assert_uint_eq(verdict.limit_bytes, 100);
    ck_assert_uint_eq(verdict.held_bytes, 75);
    ck_assert_uint_eq(verdict.short_bytes, 5);
    ck_assert_str_eq(policy_space_limit_source(verdict.kind), "capacity");
}

START_TEST(a_request_of_21_in_tens_does_not_fit_25_free_bytes)
{
    struct policy_space space = storage_of(100);
    refuses_21_of_25(space, 75, 10);
    space.external_peak_bytes = 75;
    refuses_21_of_25(space, 0, 10);
    space.unit_bytes = 10;
    refuses_21_of_25(space, 0, 1);
    space.capacity_bytes = 105;
    decides(space, 0, 21, 10, POLICY_ADMITTED);
}
END_TEST

START_TEST(storage_in_use_beyond_the_capacity_leaves_nothing)
{
    struct policy_space space = storage_of(100);
    space.external_peak_bytes = 101;
    struct policy_verdict verdict = decides(space, 0, 0, 1, POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(policy_space_left(&verdict), 0);
    ck_assert_uint_eq(verdict.short_bytes, 1);
}
END_TEST

START_TEST(a_base_and_an_offset_beyond_64_bits_are_refused)
{
    struct policy_space space = everything;
    space.base = UINT64_MAX - 9;
    decides(space, 10, 0, 1, POLICY_SIZE_OVERFLOW);
    decides(space, 9, 0, 1, POLICY_ADMITTED);
    decides(space, 0, 9, 1, POLICY_ADMITTED);
    decides(space, 0, 10, 1, POLICY_ADDRESS_BEYOND);
    space.largest_address = UINT64_MAX - 5;
    decides(space, 0, 4, 1, POLICY_ADMITTED);
    decides(space, 0, 5, 1, POLICY_ADDRESS_BEYOND);
    decides(space, 5, 0, 1, POLICY_ADDRESS_BEYOND);
}
END_TEST

START_TEST(a_space_without_capacity_is_still_held_to_its_addresses)
{
    decides(up_to(100), 0, 101, 1, POLICY_ADDRESS_BEYOND);
    decides(up_to(100), 0, UINT64_MAX, 2, POLICY_SIZE_OVERFLOW);
    decides(up_to(100), 0, 1, 0, POLICY_MALFORMED);
}
END_TEST

START_TEST(a_recorded_peak_that_overflows_is_refused)
{
    struct policy_space space = everything;
    space.external_peak_bytes = UINT64_MAX - 9;
    decides(space, 0, 9, 1, POLICY_ADMITTED);
    struct policy_verdict verdict = decides(space, 0, 10, 1, POLICY_SIZE_OVERFLOW);
    ck_assert_uint_eq(verdict.held_bytes, UINT64_MAX - 9);
    ck_assert_uint_eq(verdict.limit_bytes, UINT64_MAX);
    ck_assert_uint_eq(verdict.short_bytes, 1);
}
END_TEST

START_TEST(three_limits_refuse_by_three_names)
{
    struct policy_space space = {
        .largest_address = 1000, .capacity_bytes = 100, .unit_bytes = 1};
    decides(space, 0, 100, 1, POLICY_ADMITTED);
    decides(space, 0, 101, 1, POLICY_OVER_CAPACITY);
    decides(space, 0, 1001, 1, POLICY_ADDRESS_BEYOND);
    decides(space, 0, UINT64_MAX, 2, POLICY_SIZE_OVERFLOW);
    ck_assert_str_eq(policy_space_limit_source(POLICY_OVER_CAPACITY), "capacity");
    ck_assert_str_eq(policy_space_limit_source(POLICY_ADDRESS_BEYOND), "largest_address");
    ck_assert_str_eq(policy_space_limit_source(POLICY_SIZE_OVERFLOW),
                     "64-bit arithmetic");
    ck_assert_str_eq(policy_space_limit_source(POLICY_MALFORMED), "");
}
END_TEST

START_TEST(a_size_that_64_bits_cannot_round_up_is_asked_for_and_short)
{
    struct policy_verdict verdict =
        decides(everything, 0, UINT64_MAX - 2, 4096, POLICY_SIZE_OVERFLOW);
    ck_assert_uint_eq(verdict.reserved_bytes, UINT64_MAX - 2);
    ck_assert_uint_eq(verdict.short_bytes, 1);
}
END_TEST

START_TEST(the_last_unit_is_reserved_whole_and_must_be_addressable)
{
    struct policy_space space = up_to(29);
    space.unit_bytes = 10;
    ck_assert_uint_eq(decides(space, 0, 20, 1, POLICY_ADMITTED).reserved_bytes, 20);
    ck_assert_uint_eq(decides(space, 5, 15, 1, POLICY_ADMITTED).reserved_bytes, 15);
    ck_assert_uint_eq(decides(space, 5, 16, 1, POLICY_ADDRESS_BEYOND).reserved_bytes, 25);
}
END_TEST

START_TEST(small_spaces_agree_with_unbounded_arithmetic)
{
    enum { WIDTHS = 7 * 7 * 7 * 4 };
    for (uint64_t i = 0; i < WIDTHS; i++) {
        struct policy_space space = {.base = i % 7 / 2,
                                     .largest_address = i / 7 % 7 * 2,
                                     .capacity_bytes = i / 49 % 7 * 2,
                                     .unit_bytes = i / 343,
                                     .external_peak_bytes = i % 3};
        for (uint64_t offset = 0; offset < 12; offset++)
            for (uint64_t bytes = 0; bytes < 12; bytes++)
                for (uint64_t alignment = 0; alignment < 6; alignment++)
                    if (!agrees(&space, offset, bytes, alignment))
                        ck_abort_msg("space %d: %d, %d, %d", (int)i, (int)offset,
                                     (int)bytes, (int)alignment);
    }
}
END_TEST

/* Near 0, near 2^64, near a power of two, or anywhere: where the sums are close. */
static uint64_t interesting(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t random = *seed >> 8, little = random % 16;
    switch (*seed >> 62) {
    case 0:
        return little;
    case 1:
        return UINT64_MAX - little;
    case 2:
        return (UINT64_C(1) << (random / 16 % 64)) - 8 + little;
    default:
        return random * random;
    }
}

START_TEST(random_64_bit_triples_agree_with_unbounded_arithmetic)
{
    uint64_t seed = 5;
    unsigned counts[POLICY_DRIVER_REFUSED + 1] = {0};
    for (int i = 0; i < 1000000; i++) {
        struct policy_space space = {interesting(&seed), interesting(&seed),
                                     interesting(&seed), interesting(&seed),
                                     interesting(&seed)};
        uint64_t offset = interesting(&seed), bytes = interesting(&seed);
        uint64_t alignment = interesting(&seed);
        if (!agrees(&space, offset, bytes, alignment))
            ck_abort_msg("round %d", i);
        counts[expected(&space, offset, bytes, alignment)]++;
    }
    ck_assert_uint_gt(counts[POLICY_ADMITTED], 1000);
    ck_assert_uint_gt(counts[POLICY_SIZE_OVERFLOW], 1000);
    ck_assert_uint_gt(counts[POLICY_ADDRESS_BEYOND], 1000);
    ck_assert_uint_gt(counts[POLICY_OVER_CAPACITY], 1000);
}
END_TEST

START_TEST(a_place_is_the_first_aligned_address)
{
    struct policy_space space = storage_of(100);
    uint64_t offset = 5;
    space.base = 7;
    ck_assert_int_eq(policy_space_place(&space, 20, 10, 10, &offset).kind,
                     POLICY_ADMITTED);
    ck_assert_uint_eq(offset, 23);
    ck_assert_int_eq(policy_space_place(&space, 23, 10, 10, &offset).kind,
                     POLICY_ADMITTED);
    ck_assert_uint_eq(offset, 23);
    ck_assert_int_eq(policy_space_place(&space, 90, 10, 10, &offset).kind,
                     POLICY_OVER_CAPACITY);
    ck_assert_uint_eq(offset, 23);
}
END_TEST

START_TEST(an_aligned_address_beyond_64_bits_is_refused)
{
    struct policy_space space = everything;
    uint64_t offset = 5;
    space.base = UINT64_MAX - 4;
    ck_assert_int_eq(policy_space_place(&space, 0, 0, 16, &offset).kind,
                     POLICY_SIZE_OVERFLOW);
    ck_assert_int_eq(policy_space_place(&space, 0, 1, 16, &offset).kind,
                     POLICY_ADDRESS_BEYOND);
    ck_assert_int_eq(policy_space_place(&space, 0, 1, 0, &offset).kind, POLICY_MALFORMED);
    ck_assert_uint_eq(offset, 5);
}
END_TEST

SUITE_MAIN("policy/space", an_11_KiB_region_fits_storage_of_20_KiB,
           a_size_of_27_in_tens_fits_up_to_30_and_not_up_to_29,
           the_end_may_be_the_largest_address_and_no_more,
           a_request_of_21_in_tens_does_not_fit_25_free_bytes,
           storage_in_use_beyond_the_capacity_leaves_nothing,
           a_base_and_an_offset_beyond_64_bits_are_refused,
           a_space_without_capacity_is_still_held_to_its_addresses,
           a_recorded_peak_that_overflows_is_refused, three_limits_refuse_by_three_names,
           a_size_that_64_bits_cannot_round_up_is_asked_for_and_short,
           the_last_unit_is_reserved_whole_and_must_be_addressable,
           small_spaces_agree_with_unbounded_arithmetic,
           random_64_bit_triples_agree_with_unbounded_arithmetic,
           a_place_is_the_first_aligned_address,
           an_aligned_address_beyond_64_bits_is_refused)

/* Defends: what is resident and what is reserved fit the least ceiling of a plan to the
   last byte; what no report can change is refused before one is read; and each refusal has
   the numbers that show why. */
#include "policy/admit.h"

#include "tests/suite.h"

#define GB UINT64_C(1000000000)

static struct policy_ceiling ceiling_of(const char *request_text, const char *headroom,
                                        uint64_t device_limit_bytes)
{
    struct policy_ceiling_request request;
    struct policy_fraction fraction;
    ck_assert(policy_ceiling_parse(request_text, &request));
    ck_assert(policy_quantity_parse_fraction(headroom, &fraction));
    return policy_ceiling_resolve(&request, fraction, device_limit_bytes);
}

/* The ceiling of a plan over devices of these limits. */
static struct policy_ceiling least_of(const char *request_text, const uint64_t *limits,
                                      size_t count)
{
    struct policy_ceiling ceilings[4];
    ck_assert_uint_le(count, 4);
    for (size_t i = 0; i < count; i++)
        ceilings[i] = ceiling_of(request_text, "0.15", limits[i]);
    return ceilings[policy_admit_least(ceilings, count)];
}

static struct policy_verdict admit(uint64_t budget_bytes, uint64_t resident_bytes,
                                   uint64_t reserved_bytes)
{
    struct policy_ceiling ceiling = {.bytes = budget_bytes};
    struct policy_reservation reservation = {.bytes = reserved_bytes, .peak_bytes = 1};
    return policy_admit(&ceiling, resident_bytes, &reservation);
}

static void is_admitted(uint64_t budget_bytes, uint64_t resident_bytes,
                        uint64_t reserved_bytes)
{
    struct policy_verdict verdict = admit(budget_bytes, resident_bytes, reserved_bytes);
    ck_assert_int_eq(verdict.kind, POLICY_ADMITTED);
    ck_assert_uint_eq(verdict.short_bytes, 0);
}

static void is_over(uint64_t budget_bytes, uint64_t resident_bytes,
                    uint64_t reserved_bytes, uint64_t short_bytes)
{
    struct policy_verdict verdict = admit(budget_bytes, resident_bytes, reserved_bytes);
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_eq(verdict.asked_bytes, 1);
    ck_assert_uint_eq(verdict.reserved_bytes, reserved_bytes);
    ck_assert_uint_eq(verdict.held_bytes, resident_bytes);
    ck_assert_uint_eq(verdict.limit_bytes, budget_bytes);
    ck_assert_uint_eq(verdict.short_bytes, short_bytes);
}

START_TEST(a_total_that_equals_the_budget_fits_and_one_byte_more_does_not)
{
    is_admitted(130, 0, 130);
    is_over(129, 0, 130, 1);
}
END_TEST

START_TEST(external_residency_is_added_to_the_reservation)
{
    static const uint64_t residents[] = {0, 17};
    for (size_t i = 0; i < 2; i++) {
        is_over(99 + residents[i], residents[i], 100, 1);
        is_admitted(100 + residents[i], residents[i], 100);
    }
}
END_TEST

START_TEST(a_refusal_has_every_number_to_check_it_by)
{
    is_over(16384, 0, 131130, 114746);
    is_over(40800000000, 40 * GB, GB, 200000000);
}
END_TEST

START_TEST(a_total_beyond_64_bits_is_an_arithmetic_refusal)
{
    struct policy_verdict verdict = admit(1000, 999, UINT64_MAX);
    ck_assert_int_eq(verdict.kind, POLICY_SIZE_OVERFLOW);
    ck_assert_uint_eq(verdict.reserved_bytes, UINT64_MAX);
    ck_assert_uint_eq(verdict.short_bytes, UINT64_MAX - 1);
}
END_TEST

START_TEST(residency_that_leaves_nothing_is_refused_before_any_report)
{
    struct policy_ceiling ceiling = {.bytes = 100};
    ck_assert_int_eq(policy_admit_early(&ceiling, false, 99).kind, POLICY_ADMITTED);
    for (uint64_t resident_bytes = 100; resident_bytes < 103; resident_bytes++) {
        struct policy_verdict verdict =
            policy_admit_early(&ceiling, false, resident_bytes);
        ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
        ck_assert_uint_eq(verdict.reserved_bytes, 0);
        ck_assert_uint_eq(verdict.held_bytes, resident_bytes);
        ck_assert_uint_eq(verdict.limit_bytes, 100);
        ck_assert_uint_eq(verdict.short_bytes, resident_bytes - 99);
    }
    ck_assert_int_eq(policy_admit_early(&ceiling, false, UINT64_MAX).kind,
                     POLICY_OVER_CEILING);
    /* Not even a program that reserves nothing. */
    ck_assert_int_eq(admit(100, 100, 0).kind, POLICY_OVER_CEILING);
    is_admitted(100, 99, 0);
}
END_TEST

START_TEST(a_growing_pool_cannot_be_held_to_what_it_reports_itself)
{
    struct policy_ceiling derived = ceiling_of("device", "0.15", 48 * GB);
    ck_assert_int_eq(policy_admit_early(&derived, true, 0).kind, POLICY_GROWING_POOL);
    ck_assert_int_eq(policy_admit_early(&derived, false, 0).kind, POLICY_ADMITTED);
    struct policy_ceiling named = ceiling_of("40000000000", "0.15", 48 * GB);
    ck_assert_int_eq(policy_admit_early(&named, true, 0).kind, POLICY_ADMITTED);
    struct policy_ceiling share = ceiling_of("50%", "0.15", 48 * GB);
    ck_assert_int_eq(policy_admit_early(&share, true, 0).kind, POLICY_ADMITTED);
    struct policy_ceiling unbudgeted = ceiling_of("device", "0.15", 0);
    ck_assert_int_eq(policy_admit_early(&unbudgeted, true, 0).kind, POLICY_ADMITTED);
}
END_TEST

START_TEST(a_plan_has_the_least_ceiling_of_its_devices)
{
    static const uint64_t limits[] = {48 * GB, 10 * GB};
    ck_assert_uint_eq(least_of("device", limits, 1).bytes, 40800000000);
    ck_assert_uint_eq(least_of("device", limits + 1, 1).bytes, 8500000000);
    ck_assert_uint_eq(least_of("device", limits, 2).bytes, 8500000000);
    ck_assert_uint_eq(least_of("device", limits, 2).requested_bytes, 10 * GB);
    ck_assert_uint_eq(least_of("48000000000", limits, 2).bytes, 8500000000);
    ck_assert_int_eq(least_of("48000000000", limits, 2).source, POLICY_CEILING_FROM_CAP);
    ck_assert_uint_eq(least_of("50%", limits, 2).bytes, 4250000000);
}
END_TEST

START_TEST(a_request_below_every_cap_is_not_reduced_again)
{
    static const uint64_t limits[] = {48 * GB, 10 * GB};
    ck_assert_uint_eq(least_of("1000000", limits, 2).bytes, 1000000);
    ck_assert_int_eq(least_of("1000000", limits, 2).source, POLICY_CEILING_FROM_REQUEST);
}
END_TEST

START_TEST(a_device_without_a_limit_adds_no_cap_to_a_plan)
{
    static const uint64_t limits[] = {0, 10 * GB, 0};
    ck_assert_uint_eq(least_of("device", limits, 3).bytes, 8500000000);
    ck_assert_uint_eq(least_of("9000000000", limits, 3).bytes, 8500000000);
    ck_assert_uint_eq(least_of("9000000000", limits, 1).bytes, 9000000000);
    ck_assert_int_eq(least_of("device", limits, 1).source, POLICY_CEILING_UNBUDGETED);
    ck_assert_int_eq(least_of("none", limits, 3).source, POLICY_CEILING_UNBUDGETED);
}
END_TEST

START_TEST(of_equal_ceilings_the_first_is_named)
{
    static const struct policy_ceiling ceilings[] = {
        {.bytes = 5}, {.bytes = 3}, {.bytes = 3}};
    ck_assert_uint_eq(policy_admit_least(ceilings, 3), 1);
    ck_assert_uint_eq(policy_admit_least(ceilings, 1), 0);
}
END_TEST

static void ask_for_the_least_of_nothing(void)
{
    (void)policy_admit_least(NULL, 0);
}

START_TEST(a_plan_over_no_device_traps)
{
    ck_assert(suite_traps(ask_for_the_least_of_nothing));
}
END_TEST

START_TEST(a_refinement_may_only_raise_what_is_resident)
{
    uint64_t resident_bytes = 17;
    ck_assert(!policy_admit_refine(&resident_bytes, 16));
    ck_assert_uint_eq(resident_bytes, 17);
    ck_assert(policy_admit_refine(&resident_bytes, 17));
    ck_assert(policy_admit_refine(&resident_bytes, 18));
    ck_assert_uint_eq(resident_bytes, 18);
}
END_TEST

START_TEST(a_sum_that_fits_may_still_find_no_block_for_its_largest_request)
{
    struct policy_reservation v100 = {.bytes = 5811906304,
                                      .peak_bytes = 5811906304,
                                      .largest_request_bytes = 5803032576};
    struct policy_ceiling ceiling = {.bytes = 16 * GB};
    ck_assert_int_eq(policy_admit(&ceiling, 0, &v100).kind, POLICY_ADMITTED);
    ck_assert(policy_admit_is_fragile(&v100, 4294967296));
    ck_assert(policy_admit_is_fragile(&v100, 5803032575));
    ck_assert(!policy_admit_is_fragile(&v100, 5803032576));
}
END_TEST

START_TEST(a_request_that_is_not_known_is_no_risk)
{
    struct policy_reservation total = {.bytes = 100, .peak_bytes = 100};
    ck_assert(!policy_admit_is_fragile(&total, 0));
}
END_TEST

SUITE_MAIN("policy/admit", a_total_that_equals_the_budget_fits_and_one_byte_more_does_not,
           external_residency_is_added_to_the_reservation,
           a_refusal_has_every_number_to_check_it_by,
           a_total_beyond_64_bits_is_an_arithmetic_refusal,
           residency_that_leaves_nothing_is_refused_before_any_report,
           a_growing_pool_cannot_be_held_to_what_it_reports_itself,
           a_plan_has_the_least_ceiling_of_its_devices,
           a_request_below_every_cap_is_not_reduced_again,
           a_device_without_a_limit_adds_no_cap_to_a_plan,
           of_equal_ceilings_the_first_is_named, a_plan_over_no_device_traps,
           a_refinement_may_only_raise_what_is_resident,
           a_sum_that_fits_may_still_find_no_block_for_its_largest_request,
           a_request_that_is_not_known_is_no_risk)

/* Defends: the interval is the narrowest that holds the median at 90 % whatever the
   distribution, and a verdict says no more than the interval does. */
#include "policy/estimate.h"

#include "tests/suite.h"

/* 1, 2, ..., count, the largest first. */
static struct policy_estimate estimate_of_ranks(size_t count)
{
    double samples[POLICY_ESTIMATE_SAMPLES_MAX];
    for (size_t i = 0; i < count; i++)
        samples[i] = (double)(count - i);
    return policy_estimate_of(samples, count);
}

static void interval_of_ranks_is(size_t count, double low, double high)
{
    struct policy_estimate estimate = estimate_of_ranks(count);
    ck_assert_double_eq(estimate.low, low);
    ck_assert_double_eq(estimate.high, high);
}

static enum policy_estimate_verdict verdict_on(double low, double median, double high,
                                               double bound)
{
    struct policy_estimate ratio = {.median = median, .low = low, .high = high};
    return policy_estimate_judge(&ratio, bound);
}

START_TEST(the_median_is_the_middle_sample_or_the_mean_of_the_two)
{
    ck_assert_double_eq(estimate_of_ranks(7).median, 4);
    ck_assert_double_eq(estimate_of_ranks(30).median, 15.5);
}
END_TEST

/* From tables of the sign test's critical values, two-sided 10 %. */
START_TEST(the_interval_is_the_tabulated_pair_of_order_statistics)
{
    interval_of_ranks_is(5, 1, 5);
    interval_of_ranks_is(7, 1, 7);
    interval_of_ranks_is(8, 2, 7);
    interval_of_ranks_is(10, 2, 9);
    interval_of_ranks_is(11, 3, 9);
    interval_of_ranks_is(20, 6, 15);
    interval_of_ranks_is(29, 10, 20);
    interval_of_ranks_is(30, 11, 20);
    interval_of_ranks_is(100, 42, 59);
}
END_TEST

START_TEST(the_largest_count_is_computed_without_underflow)
{
    interval_of_ranks_is(POLICY_ESTIMATE_SAMPLES_MAX, 474, 527);
}
END_TEST

START_TEST(one_wild_sample_moves_neither_the_median_nor_the_interval)
{
    double samples[10] = {10, 1, 2, 3, 1e300, 5, 6, 7, 8, 9};
    struct policy_estimate estimate = policy_estimate_of(samples, 10);
    ck_assert_double_eq(estimate.median, 6.5);
    ck_assert_double_eq(estimate.low, 2);
    ck_assert_double_eq(estimate.high, 10);
}
END_TEST

START_TEST(an_interval_that_reaches_down_to_the_bound_is_within_it)
{
    ck_assert_int_eq(verdict_on(0.90, 0.95, 1.00, 1.05), POLICY_ESTIMATE_WITHIN);
    ck_assert_int_eq(verdict_on(1.02, 1.06, 1.10, 1.05), POLICY_ESTIMATE_WITHIN);
    ck_assert_int_eq(verdict_on(1.05, 1.06, 1.10, 1.05), POLICY_ESTIMATE_WITHIN);
    ck_assert_int_eq(verdict_on(1.06, 1.07, 1.10, 1.05), POLICY_ESTIMATE_OVER);
}
END_TEST

START_TEST(an_interval_wider_than_15_percent_on_either_side_resolves_nothing)
{
    ck_assert_int_eq(verdict_on(0.80, 1.00, 1.01, 1.05), POLICY_ESTIMATE_NOT_RESOLVABLE);
    ck_assert_int_eq(verdict_on(0.99, 1.00, 1.20, 1.05), POLICY_ESTIMATE_NOT_RESOLVABLE);
    ck_assert_int_eq(verdict_on(1.80, 2.00, 2.40, 1.05), POLICY_ESTIMATE_NOT_RESOLVABLE);
    ck_assert_int_eq(verdict_on(0.86, 1.00, 1.14, 1.05), POLICY_ESTIMATE_WITHIN);
}
END_TEST

SUITE_MAIN("policy/estimate", the_median_is_the_middle_sample_or_the_mean_of_the_two,
           the_interval_is_the_tabulated_pair_of_order_statistics,
           the_largest_count_is_computed_without_underflow,
           one_wild_sample_moves_neither_the_median_nor_the_interval,
           an_interval_that_reaches_down_to_the_bound_is_within_it,
           an_interval_wider_than_15_percent_on_either_side_resolves_nothing)

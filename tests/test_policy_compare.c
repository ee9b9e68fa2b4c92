/* Defends: a verdict is given only where every repetition says the same, by minimum and median;
   where signs disagree, the answer is that nothing can be said. */
#include "policy/compare.h"

#include "tests/suite.h"

enum { ROUNDS = 12 };

static struct policy_compare compare(const double a[ROUNDS], const double b[ROUNDS])
{
    return policy_compare_of(a, b, ROUNDS);
}

START_TEST(b_is_lower_when_every_repetition_says_so)
{
    const double a[] = {10, 11, 12, 20, 21, 22, 30, 31, 32, 40, 41, 42};
    const double b[] = {9, 10, 11, 19, 20, 21, 29, 30, 31, 39, 40, 41};
    struct policy_compare result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_LOWER);
    ck_assert_uint_eq(result.repetitions, 4);
    ck_assert_uint_eq(result.lower, 4);
    ck_assert_uint_eq(result.higher, 0);
    ck_assert_double_eq(result.difference.median, -1);
    ck_assert_int_eq(compare(b, a).verdict, POLICY_COMPARE_HIGHER);
}
END_TEST

START_TEST(one_repetition_that_disagrees_ends_it)
{
    /* Three of four say lower by far; the last one says higher. */
    const double a[] = {10, 10, 11, 10, 10, 11, 10, 10, 11, 10, 10, 11};
    const double b[] = {5, 5, 6, 5, 5, 6, 5, 5, 6, 11, 11, 12};
    struct policy_compare result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_NOT_RESOLVABLE);
    ck_assert_uint_eq(result.lower, 3);
    ck_assert_uint_eq(result.higher, 1);
    ck_assert_int_eq(compare(b, a).verdict, POLICY_COMPARE_NOT_RESOLVABLE);
}
END_TEST

START_TEST(minimum_and_median_have_to_agree_in_each_repetition)
{
    /* The median of b is lower in each, the minimum is higher in the second. */
    const double a[] = {10, 12, 12, 1, 12, 12, 10, 12, 12, 10, 12, 12};
    const double b[] = {9, 11, 11, 9, 11, 11, 9, 11, 11, 9, 11, 11};
    struct policy_compare result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_NOT_RESOLVABLE);
    ck_assert_uint_eq(result.lower, 3);
    ck_assert_uint_eq(result.higher, 0);
}
END_TEST

START_TEST(a_drift_of_the_machine_is_no_difference)
{
    double a[ROUNDS], b[ROUNDS];
    /* Everything gets slower by far more than a and b differ, now one way, now the other. */
    for (int i = 0; i < ROUNDS; i++) {
        a[i] = 100 + 50 * i + (i / 3 % 2 == 0 ? 1 : 0);
        b[i] = 100 + 50 * i + (i / 3 % 2 == 0 ? 0 : 1);
    }
    ck_assert_int_eq(compare(a, b).verdict, POLICY_COMPARE_NOT_RESOLVABLE);
    /* And a small difference is still seen through it. */
    for (int i = 0; i < ROUNDS; i++)
        b[i] = a[i] + 1;
    ck_assert_int_eq(compare(a, b).verdict, POLICY_COMPARE_HIGHER);
}
END_TEST

START_TEST(an_interval_that_reaches_zero_is_no_difference)
{
    /* By repetitions lower, each by its minimum and its median; round by round a toss-up. */
    const double a[] = {4, 9, 1, 4, 9, 1, 4, 9, 1, 4, 9, 1};
    const double b[] = {3, 0, 10, 3, 0, 10, 3, 0, 10, 3, 0, 10};
    struct policy_compare result = compare(a, b);
    ck_assert_uint_eq(result.lower, 4);
    ck_assert_double_ge(result.difference.high, 0);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_NOT_RESOLVABLE);
}
END_TEST

START_TEST(counts_that_never_change_are_equal_or_differ_exactly)
{
    double a[ROUNDS], b[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        a[i] = b[i] = 0;
    struct policy_compare result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_EQUAL);
    ck_assert(!result.has_ratio);
    for (int i = 0; i < ROUNDS; i++)
        b[i] = 1;
    result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_HIGHER);
    ck_assert(!result.has_ratio);
    b[ROUNDS - 1] = 0; /* the minimum of a repetition is as low as that of a */
    ck_assert_int_eq(compare(a, b).verdict, POLICY_COMPARE_NOT_RESOLVABLE);
    for (int i = 0; i < ROUNDS; i++)
        a[i] = 2720, b[i] = i == 5 ? 2720 : 2719;
    result = compare(a, b);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_LOWER);
    ck_assert(result.has_ratio);
    ck_assert_double_lt(result.ratio.median, 1);
}
END_TEST

START_TEST(what_is_left_over_belongs_to_the_last_repetition)
{
    const double a[] = {2, 2, 2, 2, 2, 2, 2, 2};
    const double b[] = {1, 1, 1, 1, 1, 1, 9, 9};
    struct policy_compare result = policy_compare_of(a, b, 8);
    ck_assert_uint_eq(result.repetitions, 2);
    ck_assert_uint_eq(result.lower, 2);
    const double c[] = {1, 1, 1, 1, 1, 9, 9, 9};
    result = policy_compare_of(a, c, 8);
    ck_assert_uint_eq(result.lower, 1);
    ck_assert_int_eq(result.verdict, POLICY_COMPARE_NOT_RESOLVABLE);
}
END_TEST

START_TEST(every_verdict_has_a_text)
{
    ck_assert_str_eq(policy_compare_text(POLICY_COMPARE_LOWER), "B is lower");
    ck_assert_str_eq(policy_compare_text(POLICY_COMPARE_HIGHER), "B is higher");
    ck_assert_str_eq(policy_compare_text(POLICY_COMPARE_EQUAL), "equal");
    ck_assert_str_eq(policy_compare_text(POLICY_COMPARE_NOT_RESOLVABLE),
                     "not resolvable");
}
END_TEST

SUITE_MAIN("policy/compare", b_is_lower_when_every_repetition_says_so,
           one_repetition_that_disagrees_ends_it,
           minimum_and_median_have_to_agree_in_each_repetition,
           a_drift_of_the_machine_is_no_difference,
           an_interval_that_reaches_zero_is_no_difference,
           counts_that_never_change_are_equal_or_differ_exactly,
           what_is_left_over_belongs_to_the_last_repetition, every_verdict_has_a_text)

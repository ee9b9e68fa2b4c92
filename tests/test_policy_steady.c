/* Defends: what still moves is not called steady, and the first round never is. */
#include "policy/steady.h"

#include "tests/suite.h"

#define FIRST(...)                                                                       \
    policy_steady_first((const uint64_t[]){__VA_ARGS__},                                 \
                        sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

START_TEST(rounds_are_steady_once_their_counts_agree)
{
    ck_assert_uint_eq(FIRST(3006, 0, 0, 0, 0, 0), 1);
    ck_assert_uint_eq(FIRST(992, 165, 130, 54, 3, 2, 2, 1, 1), 4);
    ck_assert_uint_eq(FIRST(931, 112, 216, 164, 10, 2, 1, 1, 2), 5);
}
END_TEST

START_TEST(the_first_round_is_cold_even_where_it_agrees)
{
    ck_assert_uint_eq(FIRST(7, 7, 7, 7, 7), 1);
    ck_assert_uint_eq(FIRST(7, 7, 7, 7), 4);
}
END_TEST

START_TEST(four_rounds_within_two_are_needed)
{
    ck_assert_uint_eq(FIRST(9, 0, 0, 0), 4);
    ck_assert_uint_eq(FIRST(9, 0, 0, 0, 0), 1);
    ck_assert_uint_eq(FIRST(9, 0, 2, 0, 2), 1);
    ck_assert_uint_eq(FIRST(9, 0, 3, 0, 3), 5);
    ck_assert_uint_eq(FIRST(9, 0, 0, 0, 0, 0, 0, 57), 8);
    /* A slow slope is no plateau: the ends lie too far apart. */
    ck_assert_uint_eq(FIRST(9, 7, 6, 5, 4, 3, 2, 1), 8);
}
END_TEST

START_TEST(few_rounds_and_none_are_not_steady)
{
    ck_assert_uint_eq(policy_steady_first(NULL, 0), 0);
    ck_assert_uint_eq(FIRST(3), 1);
    ck_assert_uint_eq(FIRST(3, 3), 2);
}
END_TEST

SUITE_MAIN("policy/steady", rounds_are_steady_once_their_counts_agree,
           the_first_round_is_cold_even_where_it_agrees,
           four_rounds_within_two_are_needed, few_rounds_and_none_are_not_steady)

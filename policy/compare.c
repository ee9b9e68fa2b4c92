#include "policy/compare.h"

#include <assert.h>
#include <string.h>

static double least(const double *values, size_t count)
{
    double result = values[0];
    for (size_t i = 1; i < count; i++)
        result = values[i] < result ? values[i] : result;
    return result;
}

static double most(const double *values, size_t count)
{
    double result = values[0];
    for (size_t i = 1; i < count; i++)
        result = values[i] > result ? values[i] : result;
    return result;
}

static struct policy_estimate estimate(const double *values, size_t count)
{
    double sorted[POLICY_COMPARE_ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    return policy_estimate_of(sorted, count);
}

/* The middle one of a few, or the mean of the two. */
static double median(const double *values, size_t count)
{
    double sorted[2 * POLICY_COMPARE_EACH];
    assert(count <= sizeof sorted / sizeof sorted[0]);
    memcpy(sorted, values, count * sizeof *values);
    policy_estimate_sort(sorted, count);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static int sign(double difference)
{
    return (difference > 0) - (difference < 0);
}

/* -1: B is lower in this repetition by either statistic, 1: higher, 0: they do not agree. */
static int direction(const double *a, const double *b, size_t count)
{
    int of_minimum = sign(least(b, count) - least(a, count));
    int of_median = sign(median(b, count) - median(a, count));
    return of_minimum == of_median ? of_minimum : 0;
}

static void count_directions(struct policy_compare *result, const double *a,
                             const double *b, size_t rounds)
{
    result->repetitions = rounds / POLICY_COMPARE_EACH;
    for (size_t i = 0; i < result->repetitions; i++) {
        size_t first = i * POLICY_COMPARE_EACH;
        /* The last one has what is left over, too. */
        size_t count = i + 1 < result->repetitions ? POLICY_COMPARE_EACH : rounds - first;
        int towards = direction(a + first, b + first, count);
        result->lower += towards < 0;
        result->higher += towards > 0;
    }
}

static enum policy_compare_verdict judge(const struct policy_compare *result)
{
    bool is_one_number = result->a_min == result->a_max &&
                         result->b_min == result->b_max && result->a_min == result->b_min;
    if (is_one_number)
        return POLICY_COMPARE_EQUAL;
    if (result->lower == result->repetitions && result->difference.high < 0)
        return POLICY_COMPARE_LOWER;
    if (result->higher == result->repetitions && result->difference.low > 0)
        return POLICY_COMPARE_HIGHER;
    return POLICY_COMPARE_NOT_RESOLVABLE;
}

struct policy_compare policy_compare_of(const double *a, const double *b, size_t rounds)
{
    double in_round[POLICY_COMPARE_ROUNDS_MAX];
    assert(rounds >= POLICY_COMPARE_ROUNDS_MIN && rounds <= POLICY_COMPARE_ROUNDS_MAX);
    struct policy_compare result = {
        .a = estimate(a, rounds),
        .b = estimate(b, rounds),
        .a_min = least(a, rounds),
        .a_max = most(a, rounds),
        .b_min = least(b, rounds),
        .b_max = most(b, rounds),
    };
    for (size_t i = 0; i < rounds; i++)
        in_round[i] = b[i] - a[i];
    result.difference = policy_estimate_of(in_round, rounds);
    result.has_ratio = result.a_min > 0;
    for (size_t i = 0; result.has_ratio && i < rounds; i++)
        in_round[i] = b[i] / a[i];
    if (result.has_ratio)
        result.ratio = policy_estimate_of(in_round, rounds);
    count_directions(&result, a, b, rounds);
    result.verdict = judge(&result);
    return result;
}

const char *policy_compare_text(enum policy_compare_verdict verdict)
{
    switch (verdict) {
    case POLICY_COMPARE_EQUAL:
        return "equal";
    case POLICY_COMPARE_LOWER:
        return "B is lower";
    case POLICY_COMPARE_HIGHER:
        return "B is higher";
    case POLICY_COMPARE_NOT_RESOLVABLE:
        break;
    }
    return "not resolvable";
}

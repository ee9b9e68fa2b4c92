/* Turns lines "KEY<tab>BOUND<tab>VALUE VALUE..." into lines of KEY, MEDIAN, LOW, HIGH, BOUND
   and VERDICT with tabs between them. The interval is that of policy/estimate, or all values
   where they are too few for it. A bound that ends in x is one on a ratio of times, and judged
   with its interval; any other one is on a count, and the median is held against it. "-" is
   none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/estimate.h"

enum { LINE_BYTES = 64 << 10 };

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static struct policy_estimate estimate_of(double *values, size_t count)
{
    if (count >= POLICY_ESTIMATE_SAMPLES_MIN)
        return policy_estimate_of(values, count);
    qsort(values, count, sizeof *values, ascending);
    return (struct policy_estimate){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .low = values[0],
        .high = values[count - 1],
    };
}

static const char *verdict_on_ratio(const struct policy_estimate *ratio, double bound,
                                    size_t count)
{
    if (count < POLICY_ESTIMATE_SAMPLES_MIN)
        return "not resolvable";
    switch (policy_estimate_judge(ratio, bound)) {
    case POLICY_ESTIMATE_WITHIN:
        return "within";
    case POLICY_ESTIMATE_OVER:
        return "over";
    case POLICY_ESTIMATE_NOT_RESOLVABLE:
        break;
    }
    return "not resolvable";
}

static const char *verdict(const struct policy_estimate *value, const char *bound,
                           size_t count)
{
    char *end;
    double number = strtod(bound, &end);
    if (end == bound)
        return "-";
    if (*end == 'x')
        return verdict_on_ratio(value, number, count);
    return value->median <= number ? "within" : "over";
}

static size_t read_values(const char *text, double values[POLICY_ESTIMATE_SAMPLES_MAX])
{
    size_t count = 0;
    char *end;
    for (double value = strtod(text, &end);
         end != text && count < POLICY_ESTIMATE_SAMPLES_MAX; value = strtod(text, &end)) {
        values[count++] = value;
        text = end;
    }
    return count;
}

int main(void)
{
    static char line[LINE_BYTES];
    double values[POLICY_ESTIMATE_SAMPLES_MAX];
    while (fgets(line, sizeof line, stdin)) {
        const char *key = strtok(line, "\t");
        const char *bound = strtok(NULL, "\t");
        const char *text = strtok(NULL, "\t");
        size_t count = text ? read_values(text, values) : 0;
        if (count == 0) {
            fputs("judge: a line without values\n", stderr);
            return EXIT_FAILURE;
        }
        struct policy_estimate value = estimate_of(values, count);
        printf("%s\t%.6g\t%.6g\t%.6g\t%s\t%s\n", key, value.median, value.low, value.high,
               bound, verdict(&value, bound, count));
    }
    return EXIT_SUCCESS;
}

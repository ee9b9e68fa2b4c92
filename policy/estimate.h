/* The median of a few samples and how well it is known. Assumes nothing about how the
   samples are distributed, only that they are independent. */
#ifndef POLICY_ESTIMATE_H
#define POLICY_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    POLICY_ESTIMATE_SAMPLES_MIN = 5, /* of fewer not even all cover the median at 90 % */
    POLICY_ESTIMATE_SAMPLES_MAX = 1000,
};

struct policy_estimate {
    double median;
    double low, high; /* contain the median of the population at a confidence of 90 % */
};

enum policy_estimate_verdict {
    POLICY_ESTIMATE_WITHIN,
    POLICY_ESTIMATE_OVER,
    POLICY_ESTIMATE_NOT_RESOLVABLE, /* an end of the interval is over 15 % away from the median */
};

/* Sorts any number of samples, the least first. */
void policy_estimate_sort(double *samples, size_t count);

/* Sorts the samples, whose count lies within the limits above. */
struct policy_estimate policy_estimate_of(double *samples, size_t count);

/* Whether the median may be at or below the bound for all that the samples tell. */
enum policy_estimate_verdict policy_estimate_judge(const struct policy_estimate *ratio,
                                                   double bound);

#endif

/* The median of a few samples and how well it is known. Assumes nothing about how the
   samples are distributed, only that they are independent. */
#ifndef BENCH_ESTIMATE_H
#define BENCH_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BENCH_ESTIMATE_SAMPLES_MIN = 5, /* of fewer not even all cover the median at 90 % */
    BENCH_ESTIMATE_SAMPLES_MAX = 1000,
};

struct bench_estimate {
    double median;
    double low, high; /* contain the median of the population at a confidence of 90 % */
};

enum bench_verdict {
    BENCH_WITHIN,
    BENCH_OVER,
    BENCH_NOT_RESOLVABLE, /* an end of the interval is over 15 % away from the median */
};

/* Sorts the samples, whose count lies within the limits above. */
struct bench_estimate bench_estimate_of(double *samples, size_t count);

/* Whether the median may be at or below the bound for all that the samples tell. */
enum bench_verdict bench_estimate_judge(const struct bench_estimate *ratio, double bound);

#endif

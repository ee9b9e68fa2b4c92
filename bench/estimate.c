#include "bench/estimate.h"

#include <assert.h>
#include <stdlib.h>

static const double tail_probability = 0.05;
static const double resolvable = 0.15;

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How many of the sorted samples can be cut off at either end. A sample lies below the
   true median with probability 1/2, so the number of those that do is binomial; the interval
   misses the median on one side when at most that many do. */
static size_t samples_outside(size_t count)
{
    double probability = 1; /* that exactly `outside` samples lie below */
    for (size_t i = 0; i < count; i++)
        probability /= 2;
    double cumulative = probability;
    size_t outside = 0;
    while (cumulative <= tail_probability) {
        probability *= (double)(count - outside) / (double)(outside + 1);
        outside++;
        cumulative += probability;
    }
    assert(outside > 0);
    return outside - 1;
}

struct bench_estimate bench_estimate_of(double *samples, size_t count)
{
    assert(count >= BENCH_ESTIMATE_SAMPLES_MIN);
    assert(count <= BENCH_ESTIMATE_SAMPLES_MAX);
    qsort(samples, count, sizeof *samples, ascending);
    size_t outside = samples_outside(count);
    return (struct bench_estimate){
        .median = (samples[(count - 1) / 2] + samples[count / 2]) / 2,
        .low = samples[outside],
        .high = samples[count - 1 - outside],
    };
}

enum bench_verdict bench_estimate_judge(const struct bench_estimate *ratio, double bound)
{
    if (ratio->low < ratio->median * (1 - resolvable) ||
        ratio->high > ratio->median * (1 + resolvable))
        return BENCH_NOT_RESOLVABLE;
    return ratio->low <= bound ? BENCH_WITHIN : BENCH_OVER;
}

#include "policy/estimate.h"

#include <assert.h>

static const double tail_probability = 0.05;
static const double resolvable = 0.15;

/* By insertion: there are few, and qsort may allocate. */
void policy_estimate_sort(double *samples, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double moving = samples[i];
        size_t place = i;
        for (; place > 0 && samples[place - 1] > moving; place--)
            samples[place] = samples[place - 1];
        samples[place] = moving;
    }
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

struct policy_estimate policy_estimate_of(double *samples, size_t count)
{
    assert(count >= POLICY_ESTIMATE_SAMPLES_MIN);
    assert(count <= POLICY_ESTIMATE_SAMPLES_MAX);
    policy_estimate_sort(samples, count);
    size_t outside = samples_outside(count);
    return (struct policy_estimate){
        .median = (samples[(count - 1) / 2] + samples[count / 2]) / 2,
        .low = samples[outside],
        .high = samples[count - 1 - outside],
    };
}

enum policy_estimate_verdict policy_estimate_judge(const struct policy_estimate *ratio,
                                                   double bound)
{
    if (ratio->low < ratio->median * (1 - resolvable) ||
        ratio->high > ratio->median * (1 + resolvable))
        return POLICY_ESTIMATE_NOT_RESOLVABLE;
    return ratio->low <= bound ? POLICY_ESTIMATE_WITHIN : POLICY_ESTIMATE_OVER;
}

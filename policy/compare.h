/* Whether B is lower or higher than A, by values that were measured in turns, A and B once in
   each round. Says so only when the rounds agree: times of one machine drift by more than most
   changes are worth, and a mean over all of them would follow the drift. */
#ifndef POLICY_COMPARE_H
#define POLICY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/estimate.h"

enum {
    POLICY_COMPARE_EACH = 3,       /* rounds of a repetition, the last one up to 5 */
    POLICY_COMPARE_ROUNDS_MIN = 6, /* two repetitions */
    POLICY_COMPARE_ROUNDS_MAX = POLICY_ESTIMATE_SAMPLES_MAX,
};

enum policy_compare_verdict {
    POLICY_COMPARE_EQUAL,  /* every value of A and of B is the same number */
    POLICY_COMPARE_LOWER,  /* B */
    POLICY_COMPARE_HIGHER, /* B */
    POLICY_COMPARE_NOT_RESOLVABLE,
};

struct policy_compare {
    enum policy_compare_verdict verdict;
    struct policy_estimate a, b;       /* over all rounds */
    double a_min, a_max, b_min, b_max; /* of all values */
    struct policy_estimate difference; /* B - A in a round */
    bool has_ratio;                    /* no value of A is 0 */
    struct policy_estimate ratio;      /* B / A in a round */
    size_t repetitions;
    size_t lower, higher; /* repetitions whose minimum and median of B both are */
};

/* B is lower, or higher, when in every repetition both its minimum and its median are, and the
   90 % interval of the difference in a round does not reach 0. `rounds` within the limits. */
struct policy_compare policy_compare_of(const double *a, const double *b, size_t rounds);

/* "B is lower" and so on. */
const char *policy_compare_text(enum policy_compare_verdict verdict);

#endif

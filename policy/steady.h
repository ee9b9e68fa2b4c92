/* When counts of a workload that repeats itself have become flat. The first round is cold; the
   rounds are steady from the start of the longest run of last ones, the cold one excepted, that
   is long enough and whose counts all lie close together; what lies between is decay. */
#ifndef POLICY_STEADY_H
#define POLICY_STEADY_H

#include <stddef.h>
#include <stdint.h>

enum {
    POLICY_STEADY_ROUNDS_MIN = 4,
    POLICY_STEADY_SPREAD = 2, /* how far the counts of steady rounds may lie apart */
};

/* The first steady one of `count` rounds; `count` itself when the last ones do not agree. */
size_t policy_steady_first(const uint64_t *counts, size_t count);

#endif

/* Sorting without memory of its own: heapsort, which libc's qsort is not. No two ranks are
   equal, since the index decides last, so an order is the same on every machine. */
#ifndef POLICY_RANK_H
#define POLICY_RANK_H

#include <stddef.h>
#include <stdint.h>

/* Lower comes first: by major, then minor, then index. */
struct policy_rank {
    uint64_t major;
    uint64_t minor;
    size_t index;
};

void policy_rank_sort(struct policy_rank *ranks, size_t count);

#endif

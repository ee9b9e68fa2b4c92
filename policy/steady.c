#include "policy/steady.h"

size_t policy_steady_first(const uint64_t *counts, size_t count)
{
    if (count == 0)
        return 0;
    uint64_t low = counts[count - 1], high = low;
    size_t first = count;
    while (first > 1) {
        uint64_t next = counts[first - 1];
        low = next < low ? next : low;
        high = next > high ? next : high;
        if (high - low > POLICY_STEADY_SPREAD)
            break;
        first--;
    }
    return count - first < POLICY_STEADY_ROUNDS_MIN ? count : first;
}

#include "policy/rank.h"

#include <stdbool.h>

static bool precedes(const struct policy_rank *a, const struct policy_rank *b)
{
    if (a->major != b->major)
        return a->major < b->major;
    if (a->minor != b->minor)
        return a->minor < b->minor;
    return a->index < b->index;
}

/* Lets what is at `root` sink to where nothing below it comes later. */
static void sink(struct policy_rank *ranks, size_t root, size_t count)
{
    struct policy_rank sinking = ranks[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && precedes(&ranks[child], &ranks[child + 1]))
            child++;
        if (!precedes(&sinking, &ranks[child]))
            break;
        ranks[root] = ranks[child];
    }
    ranks[root] = sinking;
}

void policy_rank_sort(struct policy_rank *ranks, size_t count)
{
    for (size_t root = count / 2; root > 0; root--)
        sink(ranks, root - 1, count);
    for (size_t last = count; last > 1; last--) {
        struct policy_rank greatest = ranks[0];
        ranks[0] = ranks[last - 1];
        ranks[last - 1] = greatest;
        sink(ranks, 0, last - 1);
    }
}

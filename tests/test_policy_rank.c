/* Defends: ranks come out in order, none lost, and equal ones by index. */
#include "policy/rank.h"

#include "tests/suite.h"

enum { MOST = 1000 };

static bool follows(const struct policy_rank *before, const struct policy_rank *after)
{
    if (before->major != after->major)
        return before->major < after->major;
    if (before->minor != after->minor)
        return before->minor < after->minor;
    return before->index < after->index;
}

/* Sorts `count` ranks whose majors and minors are digits of `seed`, and looks at them. */
static void sorts(size_t count, uint64_t seed, uint64_t base)
{
    static struct policy_rank ranks[MOST];
    static bool is_seen[MOST];
    for (size_t i = 0; i < count; i++) {
        is_seen[i] = false;
        ranks[i] = (struct policy_rank){seed % base, seed / base % base, count - 1 - i};
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    policy_rank_sort(ranks, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || follows(&ranks[i - 1], &ranks[i]));
        ck_assert(!is_seen[ranks[i].index]);
        is_seen[ranks[i].index] = true;
    }
}

START_TEST(any_number_of_ranks_is_sorted)
{
    for (size_t count = 0; count <= 20; count++)
        for (uint64_t seed = 0; seed < 200; seed++)
            sorts(count, seed, UINT64_MAX);
    sorts(MOST, 7, UINT64_MAX);
}
END_TEST

START_TEST(equal_majors_are_sorted_by_minor_and_equal_minors_by_index)
{
    for (size_t count = 0; count <= 20; count++)
        for (uint64_t seed = 0; seed < 200; seed++)
            sorts(count, seed, 2);
    sorts(MOST, 7, 3);
    sorts(MOST, 7, 1);
}
END_TEST

SUITE_MAIN("policy/rank", any_number_of_ranks_is_sorted,
           equal_majors_are_sorted_by_minor_and_equal_minors_by_index)

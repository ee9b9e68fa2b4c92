/* What every stress program shares: one test that runs for TIDEMARK_STRESS_SECONDS (5),
   with numbers drawn from TIDEMARK_STRESS_SEED (the clock), which is printed. Threads race,
   so that a seed gives the same requests again, not the same run. */
#ifndef TESTS_STRESS_H
#define TESTS_STRESS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "tests/suite.h"

enum { STRESS_SECONDS = 5 };

static uint64_t stress_seed;
static uint64_t stress_end; /* on stress_clock */

static inline uint64_t stress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline bool stress_is_over(void)
{
    return stress_clock() >= stress_end;
}

/* Xorshift over splitmix: sequences of threads with neighbouring seeds differ at once. */
static inline uint64_t stress_start(unsigned thread)
{
    uint64_t mixed = stress_seed + (thread + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ? mixed : 1;
}

static inline uint64_t stress_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline uint64_t stress_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Runs the one test, giving it a minute more than it is meant to take. */
static inline int stress_run(const char *name, const TTest *test)
{
    uint64_t seconds = stress_number("TIDEMARK_STRESS_SECONDS", STRESS_SECONDS);
    stress_seed = stress_number("TIDEMARK_STRESS_SEED", stress_clock());
    stress_end = stress_clock() + seconds * 1000000000;
    printf("%s: %" PRIu64 " s, TIDEMARK_STRESS_SEED=%" PRIu64 "\n", name, seconds,
           stress_seed);
    fflush(stdout);
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    tcase_set_timeout(all, (double)(seconds + SUITE_TEST_SECONDS));
    tcase_add_test(all, test);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

#define STRESS_MAIN(name, test)                                                          \
    int main(void)                                                                       \
    {                                                                                    \
        return stress_run(name, test);                                                   \
    }

#endif

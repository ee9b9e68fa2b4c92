/* What the files of `tidemark compare` share: two arms, A and B, that take turns, and what is
   measured of each turn, from outside. */
#ifndef TIDEMARK_COMPARE_H
#define TIDEMARK_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/compare.h"

/* Key of a log, heading of a table. Of the process and those descendants that it waited for. */
#define COMPARE_MEASURES(MEASURE)                                                        \
    MEASURE(wall_us, "wall us")                                                          \
    MEASURE(cpu_us, "cpu us")                                                            \
    MEASURE(minor_faults, "minor faults")                                                \
    MEASURE(major_faults, "major faults")                                                \
    MEASURE(voluntary_switches, "waits")                                                 \
    MEASURE(involuntary_switches, "preemptions")                                         \
    MEASURE(peak_rss_kib, "peak RSS KiB")

enum compare_measure {
#define MEASURE(key, heading) COMPARE_##key,
    COMPARE_MEASURES(MEASURE)
#undef MEASURE
        COMPARE_MEASURE_COUNT
};

extern const char *const compare_keys[COMPARE_MEASURE_COUNT];
extern const char *const compare_headings[COMPARE_MEASURE_COUNT];

enum { COMPARE_A, COMPARE_B, COMPARE_ARMS, COMPARE_SETTINGS_MAX = 16 };

#define COMPARE_ARM_NAMES "AB"

struct compare_arm {
    char *const *command;                       /* name and arguments, NULL at the end */
    const char *settings[COMPARE_SETTINGS_MAX]; /* NAME=VALUE, beside the environment */
    size_t setting_count;
};

struct compare_sample {
    double values[COMPARE_MEASURE_COUNT];
};

/* Everything that a verdict rests on. */
struct compare_rounds {
    size_t count; /* whole rounds so far */
    struct compare_sample samples[COMPARE_ARMS][POLICY_COMPARE_ROUNDS_MAX];
};

/* Runs an arm's command to its end, without input; what it prints is dropped. False, and said
   with the end of its standard error, when it cannot be executed or does not exit with 0;
   *code is then what the command exits with. */
bool compare_run(const struct compare_arm *arm, struct compare_sample *sample, int *code);

/* One measure of an arm, round by round. */
void compare_values(const struct compare_rounds *rounds, int arm,
                    enum compare_measure measure,
                    double values[POLICY_COMPARE_ROUNDS_MAX]);

#endif

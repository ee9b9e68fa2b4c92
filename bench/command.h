/* One run of a command in an environment of its own, and what it came to. */
#ifndef BENCH_COMMAND_H
#define BENCH_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BENCH_SETTINGS_MAX = 8,
    BENCH_OUTPUT_BYTES_MAX = 256, /* of which the rest is dropped */
};

/* Environment variables that are set for a command. */
struct bench_settings {
    size_t count;
    struct bench_setting {
        const char *name;
        const char *value;
    } at[BENCH_SETTINGS_MAX];
};

struct bench_run {
    char output[BENCH_OUTPUT_BYTES_MAX]; /* a string */
    double wall_us;                      /* from before its start to its end */
    double minor_faults;
};

/* Takes the variables out of our own environment, which commands inherit. */
void bench_settings_clear(const struct bench_settings *settings);

/* Runs the command to its end. False when it cannot be started or does not succeed. */
bool bench_command_run(char *const command[], const struct bench_settings *settings,
                       struct bench_run *run);

#endif

/* Starts the program in a child process and stays beside it until it has ended: passes on
   signals, stops when it stops, has it continue when this process is continued. */
#ifndef TIDEMARK_LAUNCH_H
#define TIDEMARK_LAUNCH_H

#include <stdbool.h>

#include "policy/options.h"

struct launch {
    char *const *program; /* name and arguments, NULL at the end */
    const char *option_texts[POLICY_OPTION_COUNT]; /* those given to `run`, else NULL */
    bool strict;                                   /* the library has to answer */
    const char *counts; /* where the library also writes its report as JSON; or NULL */
};

enum launch_outcome {
    LAUNCH_ENDED,      /* `code` is the status that waitpid gave */
    LAUNCH_NOT_BEGUN,  /* `code` is the error that kept it from being executed */
    LAUNCH_UNANSWERED, /* the library did not; said */
};

struct launch_end {
    enum launch_outcome outcome;
    int code;
};

/* Returns once the program has ended. */
struct launch_end launch_program(const struct launch *launch);

#endif

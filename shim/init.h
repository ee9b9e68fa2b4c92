/* Bring-up: what the program's environment asks for is decided once, at the first call of
   anything of ours, and never again. */
#ifndef SHIM_INIT_H
#define SHIM_INIT_H

#include <stdbool.h>
#include <sys/types.h>

#include "policy/options.h"

struct shim_settings {
    struct policy_options options;
    struct policy_option_value values[POLICY_OPTION_COUNT];
    bool is_recorded;  /* what binds cost is (shim/recorder.h) */
    pid_t run_process; /* the process that `tidemark run` started; 0: there is none */
    int run_ack;       /* a descriptor to acknowledge on; -1: there is none */
    const char
        *run_counts; /* where that process also writes its report as JSON; or NULL */
};

/* The settings. The first call reads them. Safe from any thread, signal handlers and
   constructors of other libraries included; allocates nothing. */
const struct shim_settings *shim_settings(void);

#endif

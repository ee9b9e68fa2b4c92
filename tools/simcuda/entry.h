/* What surrounds the work of every exported function: one lock around all of it, so that
   workers are plain sequential code; the count of calls; what must hold first; the log. */
#ifndef SIMCUDA_ENTRY_H
#define SIMCUDA_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver_abi.h"

enum sim_call {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    SIM_CALL_##symbol,
#define REFUSED(symbol, base, since, stream) SIM_CALL_##symbol,
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
    SIM_CALL_COUNT
};

enum sim_need {
    SIM_NEED_NOTHING,
    SIM_NEED_DRIVER,  /* cuInit succeeded in this process */
    SIM_NEED_SOUND,   /* and the current context, if there is one, is not broken */
    SIM_NEED_CONTEXT, /* and there is one */
    SIM_NEED_KERNELS, /* and SIMCUDA_KERNELS=skip */
};

/* Takes the lock, counts the call, and says what is missing, if anything. */
CUresult sim_entry_begin(enum sim_call call, enum sim_need need);

/* Logs the call, gives the lock back, lets pass what the call takes, and returns
   `result`. */
CUresult sim_entry_end(enum sim_call call, CUresult result);

/* How often a function was called, calls in progress included. */
uint64_t sim_entry_count(enum sim_call call);

const char *sim_entry_symbol(enum sim_call call);

/* The call whose symbol is the first `length` bytes of `text`; false when none is. */
bool sim_entry_find(const char *text, size_t length, enum sim_call *call);

/* For the few who look at the state from outside a call. */
void sim_entry_lock(void);
void sim_entry_unlock(void);

#endif

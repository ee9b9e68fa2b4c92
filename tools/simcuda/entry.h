/* What surrounds the work of every exported function: one lock around all of it, so that
   workers are plain sequential code; the count of calls; what must hold first; the log. */
#ifndef SIMCUDA_ENTRY_H
#define SIMCUDA_ENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

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

/* Which stream NULL names, as the rows say it. */
enum sim_default_stream { SIM_COMMON, SIM_PER_THREAD };

/* Takes the lock, counts the call, and says what is missing, if anything. */
CUresult sim_entry_begin(enum sim_call call, enum sim_need need,
                         enum sim_default_stream stream);

/* Of the call that the calling thread is in. */
enum sim_default_stream sim_entry_default_stream(void);

/* Logs the call, gives the lock back, lets pass what the call takes, and returns
   `result`. */
CUresult sim_entry_end(enum sim_call call, CUresult result);

/* How often a function was called, calls in progress included. */
uint64_t sim_entry_count(enum sim_call call);

const char *sim_entry_symbol(enum sim_call call);

/* The call whose symbol is the first `length` bytes of `text`; false when none is. */
bool sim_entry_find(const char *text, size_t length, enum sim_call *call);

/* How often it returned, whoever called it. */
uint64_t sim_entry_return_count(enum sim_call call);

/* For the few who look at the state from outside a call. */
void sim_entry_lock(void);
void sim_entry_unlock(void);

/* Gives the lock back until something has changed, and takes it again: every call that
   returns and every work that is done is a change, and whoever else changes what others
   wait for wakes them. Looks again and again: nothing else is promised. */
void sim_entry_wait(void);
void sim_entry_wake(void);

/* The same for a condition of the caller's, until it is signalled or, if `due` is given,
   the monotonic clock is there. */
void sim_entry_wait_on(pthread_cond_t *condition, const struct timespec *due);
void sim_entry_init_condition(pthread_cond_t *condition);

/* Calls the program's function of SIM_OP_HOST or SIM_OP_CALLBACK without the lock. It must
   not call the driver, and is told so. */
struct sim_op;
void sim_entry_call_back(const struct sim_op *op, CUresult result);

#endif

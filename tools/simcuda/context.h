/* Contexts: what each owns, and which is current to the calling thread. */
#ifndef SIMCUDA_CONTEXT_H
#define SIMCUDA_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/simcuda/block.h"
#include "tools/simcuda/object.h"
#include "tools/simcuda/queue.h"

enum { SIM_LIMIT_COUNT = CU_LIMIT_MALLOC_HEAP_SIZE + 1 }; /* of cuCtxSetLimit */

/* Never freed, so that a handle that outlives its context is known for what it is. */
struct CUctx_st {
    struct sim_object object;
    LIST_HEAD(, sim_object) objects; /* streams, events, modules, functions */
    LIST_HEAD(, sim_block) blocks;   /* memory; stream-ordered memory has no owner */
    struct sim_queues queues;        /* of its streams, also of those that ended */
    struct sim_works gates;          /* what all work that is still to come waits for */
    LIST_ENTRY(CUctx_st) all;        /* among all contexts there ever were */
    CUdevice device;
    bool live;
    bool ending; /* not live any more, but not over: its work is waited for */
    bool primary;
    CUresult broken; /* what every call in it answers; CUDA_SUCCESS: none */
    unsigned flags;
    uint64_t id;
    size_t limits[SIM_LIMIT_COUNT];
    int cache_preference;
    int bank_size;
};

/* A context that is current to nobody and not yet alive; NULL when memory is out. */
CUcontext sim_context_new(CUdevice device, bool primary);

/* Brings one to life, new or ended before: with a new id, at its defaults, owning nothing.
   Out of memory when the device has not left what a context takes. */
CUresult sim_context_begin(CUcontext context, unsigned flags);

/* Waits for all that the context has to do, and ends what it owns, and the context. */
void sim_context_end(CUcontext context);

/* Every context that there ever was, one after another: the first after NULL; NULL after
   the last. */
CUcontext sim_context_next(CUcontext context);

/* Waits for all that live contexts have to do. */
CUresult sim_context_drain_all(void);

/* The top of the calling thread's stack, live or not; NULL when it is empty. */
CUcontext sim_context_current(void);

/* CUDA_SUCCESS for a live context, else what the driver calls that kind of mistake. */
CUresult sim_context_check(CUcontext context);

#endif

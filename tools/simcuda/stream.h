/* Streams: handles of queues, and which queue a handle means. */
#ifndef SIMCUDA_STREAM_H
#define SIMCUDA_STREAM_H

#include <stdbool.h>

#include "tools/simcuda/names.h"
#include "tools/simcuda/object.h"
#include "tools/simcuda/queue.h"

struct CUstream_st {
    struct sim_object object;
    struct sim_queue *queue;
    unsigned flags;
    int priority;
};

/* The context that a usable stream belongs to: for the ones that nobody creates, the
   current context. */
CUcontext sim_stream_owner(CUstream stream);

/* CUDA_SUCCESS for a stream that can be used, else what is wrong with the handle. */
CUresult sim_stream_check(CUstream stream);

/* The queue of a usable stream: NULL means the default stream of the call in progress.
   NULL when memory is out. */
struct sim_queue *sim_stream_queue(CUstream stream);

/* For calls that are done with when they return, on the default stream: what forbids them
   while there are captures. */
CUresult sim_stream_forbid_capture(void);

/* Has the operation done in a stream that is checked here; `wait`: before the call returns. */
CUresult sim_stream_run(CUstream stream, const struct sim_op *op, bool wait);

#endif

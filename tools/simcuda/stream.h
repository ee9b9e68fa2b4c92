/* Streams. Work is done when it is asked for, so that a stream is never busy. */
#ifndef SIMCUDA_STREAM_H
#define SIMCUDA_STREAM_H

#include "tools/simcuda/names.h"
#include "tools/simcuda/object.h"

struct CUstream_st {
    struct sim_object object;
    unsigned flags;
    int priority;
};

/* The context that a usable stream belongs to: for the ones that nobody creates, the
   current context. */
CUcontext sim_stream_owner(CUstream stream);

#endif

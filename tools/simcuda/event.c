/* Events: since no work is ever pending, an event has happened when it is recorded. */
#include "tools/simcuda/names.h"

#include <time.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/stream.h"

enum { EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING };

struct CUevent_st {
    struct sim_object object;
    unsigned flags;
    bool recorded;
    struct timespec recorded_at;
};

/* Also what waits for an event and what asks whether it has happened. */
CUresult sim_event_check(CUevent event)
{
    return sim_object_is(event, SIM_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_event_create(CUevent *event, unsigned flags)
{
    /* Only of use to other processes, which are not simulated. */
    if ((flags & CU_EVENT_INTERPROCESS) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (event == NULL || (flags & ~(unsigned)EVENT_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUevent created =
        sim_object_create(SIM_EVENT, sizeof *created, sim_context_current());
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->flags = flags;
    *event = created;
    return CUDA_SUCCESS;
}

CUresult sim_event_destroy(CUevent event)
{
    CUresult result = sim_event_check(event);
    if (result == CUDA_SUCCESS)
        sim_object_destroy(&event->object);
    return result;
}

static CUresult record(CUevent event)
{
    CUresult result = sim_event_check(event);
    if (result != CUDA_SUCCESS)
        return result;
    event->recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &event->recorded_at);
    return CUDA_SUCCESS;
}

CUresult sim_event_record(CUevent event, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? record(event) : result;
}

/* The one flag makes a node of a graph out of it, and graphs are not simulated. */
CUresult sim_event_record_flags(CUevent event, CUstream stream, unsigned flags)
{
    return flags == 0 ? sim_event_record(event, stream) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_event_record_context(CUcontext context, CUevent event)
{
    CUresult result = sim_context_check(context);
    return result == CUDA_SUCCESS ? record(event) : result;
}

CUresult sim_event_wait_context(CUcontext context, CUevent event)
{
    CUresult result = sim_context_check(context);
    return result == CUDA_SUCCESS ? sim_event_check(event) : result;
}

CUresult sim_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_event_check(event) : result;
}

static bool is_timed(CUevent event)
{
    return sim_event_check(event) == CUDA_SUCCESS && event->recorded &&
           (event->flags & CU_EVENT_DISABLE_TIMING) == 0;
}

CUresult sim_event_elapsed(float *milliseconds, CUevent start, CUevent end)
{
    if (milliseconds == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_timed(start) || !is_timed(end))
        return CUDA_ERROR_INVALID_HANDLE;
    double seconds = (double)(end->recorded_at.tv_sec - start->recorded_at.tv_sec);
    double nanoseconds = (double)(end->recorded_at.tv_nsec - start->recorded_at.tv_nsec);
    *milliseconds = (float)(seconds * 1e3 + nanoseconds * 1e-6);
    return CUDA_SUCCESS;
}

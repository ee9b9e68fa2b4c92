#include "tools/simcuda/stream.h"

#include "tools/simcuda/context.h"

static bool is_created(CUstream stream)
{
    return stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

CUcontext sim_stream_owner(CUstream stream)
{
    return is_created(stream) ? stream->object.owner : sim_context_current();
}

/* Also what waits for a stream and what asks whether it is idle: it always is. */
CUresult sim_stream_check(CUstream stream)
{
    return !is_created(stream) || sim_object_is(stream, SIM_STREAM)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_stream_create_priority(CUstream *stream, unsigned flags, int priority)
{
    if (stream == NULL || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    CUstream created =
        sim_object_create(SIM_STREAM, sizeof *created, sim_context_current());
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int least;
    int greatest;
    sim_context_priorities(&least, &greatest);
    created->flags = flags;
    created->priority = priority > least      ? least
                        : priority < greatest ? greatest
                                              : priority;
    *stream = created;
    return CUDA_SUCCESS;
}

CUresult sim_stream_create(CUstream *stream, unsigned flags)
{
    return sim_stream_create_priority(stream, flags, 0);
}

CUresult sim_stream_destroy(CUstream stream)
{
    if (!sim_object_is(stream, SIM_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    sim_object_destroy(&stream->object);
    return CUDA_SUCCESS;
}

/* What every question about a stream needs: somewhere to answer, and the stream. */
static CUresult askable(const void *answer, CUstream stream)
{
    return answer == NULL ? CUDA_ERROR_INVALID_VALUE : sim_stream_check(stream);
}

CUresult sim_stream_flags(CUstream stream, unsigned *flags)
{
    CUresult result = askable(flags, stream);
    if (result == CUDA_SUCCESS)
        *flags = is_created(stream) ? stream->flags : CU_STREAM_DEFAULT;
    return result;
}

CUresult sim_stream_priority(CUstream stream, int *priority)
{
    CUresult result = askable(priority, stream);
    if (result == CUDA_SUCCESS)
        *priority = is_created(stream) ? stream->priority : 0;
    return result;
}

CUresult sim_stream_context(CUstream stream, CUcontext *context)
{
    CUresult result = askable(context, stream);
    if (result == CUDA_SUCCESS)
        *context = sim_stream_owner(stream);
    return result;
}

CUresult sim_stream_device(CUstream stream, CUdevice *device)
{
    CUresult result = askable(device, stream);
    if (result == CUDA_SUCCESS)
        *device = sim_stream_owner(stream)->device;
    return result;
}

/* Capture cannot begin here: it is refused. */
CUresult sim_stream_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    CUresult result = askable(status, stream);
    if (result == CUDA_SUCCESS)
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
}

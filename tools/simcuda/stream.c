#include "tools/simcuda/stream.h"

#include "tools/simcuda/context.h"
#include "tools/simcuda/pool.h"

static bool is_created(CUstream stream)
{
    return stream != NULL && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

CUcontext sim_stream_owner(CUstream stream)
{
    return is_created(stream) ? stream->object.owner : sim_context_current();
}

CUresult sim_stream_check(CUstream stream)
{
    if (!is_created(stream))
        return CUDA_SUCCESS;
    return sim_object_is(stream, SIM_STREAM) && stream->object.owner->live
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

struct sim_queue *sim_stream_queue(CUstream stream)
{
    if (is_created(stream))
        return stream->queue;
    bool legacy = stream == CU_STREAM_LEGACY ||
                  (stream == NULL && sim_entry_default_stream() == SIM_COMMON);
    return sim_queue_open(sim_context_current(),
                          legacy ? SIM_QUEUE_LEGACY : SIM_QUEUE_PER_THREAD);
}

/* The result of work belongs to its context, which may have broken meanwhile. */
static CUresult wait_for(struct sim_works *works, CUcontext context)
{
    CUresult result = sim_works_wait(works);
    sim_works_drop(works);
    return result == CUDA_SUCCESS ? context->broken : result;
}

CUresult sim_stream_run(CUstream stream, const struct sim_op *op, bool wait)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool captured;
    result = sim_capture_take(queue, op, &captured);
    if (captured || result != CUDA_SUCCESS)
        return result;
    CUcontext context = queue->context;
    struct sim_work *work;
    struct sim_works works = {0};
    result = sim_queue_submit(queue, op, &work);
    if (result != CUDA_SUCCESS || work == NULL)
        return result;
    bool added = sim_works_add(&works, work);
    sim_work_drop(work);
    if (!added)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (wait)
        return wait_for(&works, context);
    sim_works_drop(&works);
    return CUDA_SUCCESS;
}

CUresult sim_stream_synchronize(CUstream stream)
{
    struct sim_works works = {0};
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    result = queue != NULL ? sim_capture_forbid_queue(queue) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    if (sim_queue_gather(queue, &works)) {
        CUcontext context = queue->context;
        result = wait_for(&works, context);
        sim_pool_synchronized(context->device);
        return result;
    }
    sim_works_drop(&works);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_stream_forbid_capture(void)
{
    CUresult result = sim_capture_forbid();
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(NULL);
    return queue != NULL ? sim_capture_forbid_queue(queue) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_stream_query(CUstream stream)
{
    struct sim_works works = {0};
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    result = queue != NULL ? sim_capture_forbid_queue(queue) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_queue_gather(queue, &works))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else if (works.count > 0)
        result = CUDA_ERROR_NOT_READY;
    else
        result = queue->context->broken;
    sim_works_drop(&works);
    return result;
}

CUresult sim_stream_host_function(CUstream stream, void (*function)(void *), void *data)
{
    const struct sim_op op = {.kind = SIM_OP_HOST, .host = {function, data}};
    return function == NULL ? CUDA_ERROR_INVALID_VALUE
                            : sim_stream_run(stream, &op, false);
}

CUresult sim_stream_callback(CUstream stream,
                             void (*function)(CUstream, CUresult, void *), void *data,
                             unsigned flags)
{
    const struct sim_op op = {.kind = SIM_OP_CALLBACK,
                              .callback = {function, stream, data}};
    if (function == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_stream_run(stream, &op, false);
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
    created->queue = sim_queue_open(created->object.owner, flags == CU_STREAM_NON_BLOCKING
                                                               ? SIM_QUEUE_NON_BLOCKING
                                                               : SIM_QUEUE_BLOCKING);
    if (created->queue == NULL) {
        sim_object_destroy(&created->object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
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
    if (!is_created(stream) || sim_stream_check(stream) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_queue_close(stream->queue);
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

/* Events: a point in the work of a stream, or of all streams of a context. What was done at
   once has happened when it is recorded. */
#include "tools/simcuda/names.h"

#include "tools/simcuda/context.h"
#include "tools/simcuda/pool.h"
#include "tools/simcuda/stream.h"

enum { EVENT_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING };

struct CUevent_st {
    struct sim_object object;
    unsigned flags;
    bool recorded;
    uint64_t recorded_ns;
    struct sim_works works;        /* when these are done, it has happened */
    struct sim_capture_end marked; /* where it was recorded, if that was captured */
};

static CUresult check(CUevent event)
{
    return sim_object_is(event, SIM_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Who waits for the work that the event stood for goes on waiting. */
static void dispose(struct sim_object *object)
{
    sim_works_drop(&((CUevent)object)->works);
    sim_capture_unmark(&((CUevent)object)->marked);
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
    created->object.dispose = dispose;
    created->flags = flags;
    *event = created;
    return CUDA_SUCCESS;
}

CUresult sim_event_destroy(CUevent event)
{
    CUresult result = check(event);
    if (result != CUDA_SUCCESS)
        return result;
    sim_object_destroy(&event->object);
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, struct sim_works *works, bool complete)
{
    if (!complete) {
        sim_works_drop(works);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_capture_unmark(&event->marked);
    sim_works_drop(&event->works);
    event->works = *works;
    event->recorded = true;
    event->recorded_ns = sim_work_now_ns();
    return CUDA_SUCCESS;
}

/* A recording that is captured is no point in time: it only orders what is captured. */
static CUresult mark(CUevent event, const struct sim_queue *queue)
{
    struct sim_capture_end marked;
    if (queue->capturing.capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!sim_capture_mark(queue, &marked))
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_works_drop(&event->works);
    sim_capture_unmark(&event->marked);
    event->marked = marked;
    event->recorded = false;
    return CUDA_SUCCESS;
}

/* Nothing can be asked of such an event, and who asks spoils its capture. */
static CUresult check_marked(CUevent event)
{
    if (event->marked.capture == NULL)
        return CUDA_SUCCESS;
    sim_capture_invalidate(event->marked.capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult sim_event_record(CUevent event, CUstream stream)
{
    const struct sim_op point = {.kind = SIM_OP_NOTHING};
    struct sim_work *work;
    struct sim_works works = {0};
    CUresult result = check(event);
    if (result == CUDA_SUCCESS)
        result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (sim_stream_owner(stream) != event->object.owner)
        return CUDA_ERROR_INVALID_HANDLE;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (queue->capturing.capture != NULL)
        return mark(event, queue);
    result =
        queue->kind == SIM_QUEUE_LEGACY ? sim_capture_forbid_queue(queue) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = sim_queue_submit(queue, &point, &work);
    if (result != CUDA_SUCCESS)
        return result;
    bool complete = sim_works_add(&works, work);
    if (work != NULL)
        sim_work_drop(work);
    return record(event, &works, complete);
}

/* The one flag makes a node of a graph out of it, which is not simulated. */
CUresult sim_event_record_flags(CUevent event, CUstream stream, unsigned flags)
{
    return flags == 0 ? sim_event_record(event, stream) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_both(CUcontext context, CUevent event)
{
    CUresult result = sim_context_check(context);
    if (result == CUDA_SUCCESS)
        result = context->broken;
    if (result == CUDA_SUCCESS)
        result = check(event);
    return result == CUDA_SUCCESS ? sim_capture_forbid_context(context) : result;
}

CUresult sim_event_record_context(CUcontext context, CUevent event)
{
    struct sim_works works = {0};
    CUresult result = check_both(context, event);
    if (result != CUDA_SUCCESS)
        return result;
    if (event->object.owner != context)
        return CUDA_ERROR_INVALID_HANDLE;
    return record(event, &works, sim_queue_gather_all(context, &works));
}

static CUresult let_wait(struct sim_queue *queue, const struct sim_works *works)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; i < works->count && result == CUDA_SUCCESS; i++)
        result = sim_queue_wait_for(queue, works->items[i]);
    return result;
}

/* Gates that are open are taken away, so that they do not pile up. */
static bool add_gates(CUcontext context, const struct sim_works *works)
{
    struct sim_works gates = {0};
    bool complete = true;
    for (unsigned i = 0; i < context->gates.count && complete; i++)
        complete = sim_works_add(&gates, context->gates.items[i]);
    for (unsigned i = 0; i < works->count && complete; i++)
        complete = sim_works_add(&gates, works->items[i]);
    if (!complete) {
        sim_works_drop(&gates);
        return false;
    }
    sim_works_drop(&context->gates);
    context->gates = gates;
    return true;
}

CUresult sim_event_wait_context(CUcontext context, CUevent event)
{
    struct sim_queue *queue;
    CUresult result = check_both(context, event);
    if (result == CUDA_SUCCESS)
        result = check_marked(event);
    if (result != CUDA_SUCCESS)
        return result;
    if (!add_gates(context, &event->works))
        return CUDA_ERROR_OUT_OF_MEMORY;
    LIST_FOREACH(queue, &context->queues, siblings)
    {
        if (!queue->closed)
            result = let_wait(queue, &event->works);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult sim_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    if (flags != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = sim_stream_check(stream);
    if (result == CUDA_SUCCESS)
        result = check(event);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (event->marked.capture != NULL)
        return sim_capture_follow(queue, &event->marked);
    /* Of a capture nothing may wait that is not captured. */
    if (queue->capturing.capture != NULL && event->recorded) {
        sim_capture_invalidate(queue->capturing.capture);
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (queue->capturing.capture != NULL)
        return CUDA_SUCCESS;
    result =
        queue->kind == SIM_QUEUE_LEGACY ? sim_capture_forbid_queue(queue) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? let_wait(queue, &event->works) : result;
}

static CUresult check_askable(CUevent event)
{
    CUresult result = check(event);
    if (result == CUDA_SUCCESS)
        result = check_marked(event);
    return result == CUDA_SUCCESS ? sim_capture_forbid() : result;
}

CUresult sim_event_query(CUevent event)
{
    CUresult result = check_askable(event);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_works_done(&event->works))
        return CUDA_ERROR_NOT_READY;
    return event->object.owner->broken;
}

CUresult sim_event_synchronize(CUevent event)
{
    CUresult result = check_askable(event);
    if (result != CUDA_SUCCESS)
        return result;
    CUcontext owner = event->object.owner;
    result = sim_works_wait(&event->works);
    sim_pool_synchronized(owner->device);
    return result == CUDA_SUCCESS ? owner->broken : result;
}

static bool is_timed(CUevent event)
{
    return check(event) == CUDA_SUCCESS && event->recorded &&
           (event->flags & CU_EVENT_DISABLE_TIMING) == 0;
}

/* Work that was done at once was done when the event was recorded. */
static uint64_t happened_ns(CUevent event)
{
    return event->works.count > 0 ? sim_works_done_ns(&event->works) : event->recorded_ns;
}

CUresult sim_event_elapsed(float *milliseconds, CUevent start, CUevent end)
{
    if (milliseconds == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_timed(start) || !is_timed(end))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!sim_works_done(&start->works) || !sim_works_done(&end->works))
        return CUDA_ERROR_NOT_READY;
    int64_t elapsed_ns = (int64_t)(happened_ns(end) - happened_ns(start));
    *milliseconds = (float)((double)elapsed_ns * 1e-6);
    return CUDA_SUCCESS;
}

#include "tools/simcuda/capture.h"

#include <stdlib.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/stream.h"

static LIST_HEAD(, sim_capture) going_on = LIST_HEAD_INITIALIZER(going_on);

static _Thread_local CUstreamCaptureMode thread_mode; /* 0 is GLOBAL, the default */

void sim_capture_hold(struct sim_capture *capture)
{
    capture->hold_count++;
}

void sim_capture_drop(struct sim_capture *capture)
{
    if (--capture->hold_count == 0)
        free(capture);
}

void sim_capture_invalidate(struct sim_capture *capture)
{
    capture->invalidated = true;
}

static bool is_own(const struct sim_capture *capture)
{
    return pthread_equal(capture->thread, pthread_self());
}

/* The rule of cuThreadExchangeStreamCaptureMode. */
static bool forbids(const struct sim_capture *capture)
{
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (is_own(capture))
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_forbid(void)
{
    struct sim_capture *capture;
    CUresult result = CUDA_SUCCESS;
    LIST_FOREACH(capture, &going_on, siblings)
    {
        if (!forbids(capture))
            continue;
        sim_capture_invalidate(capture);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult sim_capture_forbid_context(CUcontext context)
{
    const struct sim_queue *queue;
    CUresult result = CUDA_SUCCESS;
    LIST_FOREACH(queue, &context->queues, siblings)
    {
        if (queue->capturing.capture == NULL)
            continue;
        sim_capture_invalidate(queue->capturing.capture);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

/* What the default stream of the context would wait for. */
static bool blocks_default(const struct sim_queue *queue)
{
    return queue->capturing.capture != NULL && queue->kind != SIM_QUEUE_NON_BLOCKING;
}

bool sim_capture_blocks_default(CUcontext context)
{
    const struct sim_queue *queue;
    LIST_FOREACH(queue, &context->queues, siblings)
    if (blocks_default(queue))
        return true;
    return false;
}

static CUresult forbid_default(CUcontext context)
{
    const struct sim_queue *queue;
    CUresult result = CUDA_SUCCESS;
    LIST_FOREACH(queue, &context->queues, siblings)
    {
        if (!blocks_default(queue))
            continue;
        sim_capture_invalidate(queue->capturing.capture);
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

CUresult sim_capture_forbid_queue(struct sim_queue *queue)
{
    if (queue->kind == SIM_QUEUE_LEGACY)
        return forbid_default(queue->context);
    if (queue->capturing.capture == NULL)
        return CUDA_SUCCESS;
    sim_capture_invalidate(queue->capturing.capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static bool is_capturable(const struct sim_op *op)
{
    return op->kind != SIM_OP_CALLBACK && op->kind != SIM_OP_FREE;
}

CUresult sim_capture_take(struct sim_queue *queue, const struct sim_op *op,
                          bool *captured)
{
    struct sim_capture *capture = queue->capturing.capture;
    *captured = false;
    if (queue->kind == SIM_QUEUE_LEGACY)
        return forbid_default(queue->context);
    if (capture == NULL)
        return CUDA_SUCCESS;
    *captured = true;
    if (capture->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!is_capturable(op)) {
        sim_capture_invalidate(capture);
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return sim_graph_append(capture->graph, op, &queue->capturing.frontier)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

bool sim_capture_mark(const struct sim_queue *queue, struct sim_capture_end *mark)
{
    *mark = (struct sim_capture_end){0};
    if (queue->capturing.capture == NULL)
        return true;
    if (!sim_frontier_add(&mark->frontier, &queue->capturing.frontier))
        return false;
    mark->capture = queue->capturing.capture;
    sim_capture_hold(mark->capture);
    return true;
}

void sim_capture_unmark(struct sim_capture_end *mark)
{
    if (mark->capture != NULL)
        sim_capture_drop(mark->capture);
    mark->capture = NULL;
    sim_frontier_drop(&mark->frontier);
}

static void leave(struct sim_queue *queue)
{
    sim_capture_unmark(&queue->capturing);
}

CUresult sim_capture_follow(struct sim_queue *queue, const struct sim_capture_end *other)
{
    struct sim_capture_end *own = &queue->capturing;
    if (queue->kind == SIM_QUEUE_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (other->capture->over)
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    if (own->capture != NULL && own->capture != other->capture) {
        sim_capture_invalidate(own->capture);
        sim_capture_invalidate(other->capture);
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!sim_frontier_add(&own->frontier, &other->frontier))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (own->capture == NULL)
        sim_capture_hold(other->capture);
    own->capture = other->capture;
    return CUDA_SUCCESS;
}

static struct sim_capture *create(CUstreamCaptureMode mode,
                                  const struct sim_queue *origin)
{
    static uint64_t capture_count;
    struct sim_capture *capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        return NULL;
    capture->graph = sim_graph_new();
    if (capture->graph == NULL) {
        free(capture);
        return NULL;
    }
    capture->mode = mode;
    capture->thread = pthread_self();
    capture->origin = origin;
    capture->id = ++capture_count;
    capture->hold_count = 1;
    LIST_INSERT_HEAD(&going_on, capture, siblings);
    return capture;
}

CUresult sim_capture_exchange_mode(CUstreamCaptureMode *mode)
{
    if (mode == NULL || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
        *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode previous = thread_mode;
    thread_mode = *mode;
    *mode = previous;
    return CUDA_SUCCESS;
}

CUresult sim_capture_begin(CUstream stream, CUstreamCaptureMode mode)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (queue->kind == SIM_QUEUE_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (queue->capturing.capture != NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    queue->capturing.capture = create(mode, queue);
    return queue->capturing.capture != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Before 10010 there was one mode. */
CUresult sim_capture_begin_global(CUstream stream)
{
    return sim_capture_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static void leave_all(const struct sim_capture *capture)
{
    struct sim_queue *queue;
    for (CUcontext context = sim_context_next(NULL); context != NULL;
         context = sim_context_next(context))
        LIST_FOREACH(queue, &context->queues, siblings)
    if (queue->capturing.capture == capture)
        leave(queue);
}

/* The graph becomes the program's, or nobody's. */
static CUresult finish(struct sim_capture *capture, CUresult result, CUgraph *graph)
{
    capture->graph->building = false;
    if (result != CUDA_SUCCESS)
        sim_object_destroy(&capture->graph->object);
    *graph = result == CUDA_SUCCESS ? capture->graph : NULL;
    capture->graph = NULL;
    capture->over = true;
    LIST_REMOVE(capture, siblings);
    sim_capture_hold(capture);
    leave_all(capture);
    sim_capture_drop(capture);
    return result;
}

void sim_capture_abandon(struct sim_queue *queue)
{
    CUgraph none;
    struct sim_capture *capture = queue->capturing.capture;
    if (capture == NULL)
        return;
    sim_capture_invalidate(capture);
    if (capture->origin == queue)
        finish(capture, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, &none);
    else
        leave(queue);
}

CUresult sim_capture_finish(CUstream stream, CUgraph *graph)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_capture *capture = queue->capturing.capture;
    if (graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture == NULL)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != queue)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !is_own(capture))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalidated)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!sim_graph_is_joined(capture->graph, &queue->capturing.frontier))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return finish(capture, result, graph);
}

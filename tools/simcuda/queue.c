#include "tools/simcuda/queue.h"

#include <stdlib.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/worker.h"

static bool is_blocking(const struct sim_queue *queue)
{
    return queue->kind == SIM_QUEUE_PER_THREAD || queue->kind == SIM_QUEUE_BLOCKING;
}

static struct sim_queue *find(CUcontext context, enum sim_queue_kind kind)
{
    struct sim_queue *queue;
    LIST_FOREACH(queue, &context->queues, siblings)
    if (queue->kind == kind &&
        (kind != SIM_QUEUE_PER_THREAD || pthread_equal(queue->thread, pthread_self())))
        return queue;
    return NULL;
}

static void destroy(struct sim_queue *queue)
{
    LIST_REMOVE(queue, siblings);
    if (queue->has_worker)
        pthread_join(queue->worker, NULL);
    pthread_cond_destroy(&queue->more);
    free(queue);
}

/* A worker that has finished needs the lock no more: it is joined under it. */
static void reap(CUcontext context)
{
    struct sim_queue *queue = LIST_FIRST(&context->queues);
    while (queue != NULL) {
        struct sim_queue *next = LIST_NEXT(queue, siblings);
        if (queue->finished)
            destroy(queue);
        queue = next;
    }
}

static struct sim_queue *create(CUcontext context, enum sim_queue_kind kind)
{
    static uint64_t queue_count;
    struct sim_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return NULL;
    reap(context);
    queue->context = context;
    queue->kind = kind;
    queue->thread = pthread_self();
    queue->delay_state = ++queue_count * UINT64_C(0x9e3779b97f4a7c15);
    STAILQ_INIT(&queue->works);
    sim_entry_init_condition(&queue->more);
    LIST_INSERT_HEAD(&context->queues, queue, siblings);
    return queue;
}

struct sim_queue *sim_queue_open(CUcontext context, enum sim_queue_kind kind)
{
    bool shared = kind == SIM_QUEUE_LEGACY || kind == SIM_QUEUE_PER_THREAD;
    struct sim_queue *queue = shared ? find(context, kind) : NULL;
    if (queue != NULL)
        return queue;
    queue = create(context, kind);
    if (queue == NULL)
        return NULL;
    for (unsigned i = 0; i < context->gates.count; i++) {
        if (sim_queue_wait_for(queue, context->gates.items[i]) != CUDA_SUCCESS) {
            sim_queue_close(queue);
            return NULL;
        }
    }
    return queue;
}

void sim_queue_close(struct sim_queue *queue)
{
    sim_capture_abandon(queue);
    queue->closed = true;
    if (queue->has_worker)
        pthread_cond_signal(&queue->more);
    else
        destroy(queue);
}

/* The next of the queue's own row of pseudo-random delays: runs can be repeated. */
static uint64_t next_delay_ns(struct sim_queue *queue)
{
    const struct sim_delay *delay = &sim_knobs->stream_delay;
    queue->delay_state ^= queue->delay_state << 13;
    queue->delay_state ^= queue->delay_state >> 7;
    queue->delay_state ^= queue->delay_state << 17;
    uint64_t spread_us = delay->high_us - delay->low_us + 1;
    return (delay->low_us + queue->delay_state % spread_us) * 1000;
}

static CUresult push(struct sim_queue *queue, const struct sim_op *op, uint64_t due_ns,
                     struct sim_work **work)
{
    struct sim_work *pushed =
        sim_worker_start(queue) ? sim_work_create(op, due_ns) : NULL;
    if (pushed == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    STAILQ_INSERT_TAIL(&queue->works, pushed, next);
    queue->last = pushed;
    pthread_cond_signal(&queue->more);
    if (work != NULL) {
        sim_work_hold(pushed);
        *work = pushed;
    }
    return CUDA_SUCCESS;
}

CUresult sim_queue_wait_for(struct sim_queue *queue, struct sim_work *work)
{
    if (work == NULL || work->done_ns != 0)
        return CUDA_SUCCESS;
    const struct sim_op op = {.kind = SIM_OP_WAIT, .awaited = work};
    return push(queue, &op, 0, NULL);
}

static bool waits_for(const struct sim_queue *queue, const struct sim_queue *other)
{
    return other == queue || (queue->kind == SIM_QUEUE_LEGACY && is_blocking(other)) ||
           (is_blocking(queue) && other->kind == SIM_QUEUE_LEGACY);
}

bool sim_queue_gather(const struct sim_queue *queue, struct sim_works *works)
{
    const struct sim_queue *other;
    LIST_FOREACH(other, &queue->context->queues, siblings)
    if (waits_for(queue, other) && !sim_works_add(works, other->last))
        return false;
    return true;
}

bool sim_queue_gather_all(CUcontext context, struct sim_works *works)
{
    const struct sim_queue *queue;
    LIST_FOREACH(queue, &context->queues, siblings)
    if (!sim_works_add(works, queue->last))
        return false;
    return true;
}

static bool is_idle(const struct sim_queue *queue)
{
    const struct sim_queue *other;
    LIST_FOREACH(other, &queue->context->queues, siblings)
    if (other->last != NULL && waits_for(queue, other))
        return false;
    return true;
}

/* Puts a wait for each other queue that this one waits for. */
static CUresult follow_others(struct sim_queue *queue)
{
    struct sim_queue *other;
    LIST_FOREACH(other, &queue->context->queues, siblings)
    {
        CUresult result = other != queue && waits_for(queue, other)
                              ? sim_queue_wait_for(queue, other->last)
                              : CUDA_SUCCESS;
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult sim_queue_submit(struct sim_queue *queue, const struct sim_op *op,
                          struct sim_work **work)
{
    if (work != NULL)
        *work = NULL;
    if (sim_knobs->stream_delay.high_us == 0 && sim_op_is_quick(op) && is_idle(queue)) {
        queue->context->broken = sim_op_run(op);
        return queue->context->broken;
    }
    CUresult result = follow_others(queue);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t due_ns = sim_op_is_quick(op) ? sim_work_now_ns() + next_delay_ns(queue) : 0;
    return push(queue, op, due_ns, work);
}

CUresult sim_queue_drain(CUcontext context)
{
    struct sim_works works = {0};
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (sim_queue_gather_all(context, &works))
        result = sim_works_wait(&works);
    sim_works_drop(&works);
    return result;
}

static bool all_finished(CUcontext context)
{
    const struct sim_queue *queue;
    LIST_FOREACH(queue, &context->queues, siblings)
    if (queue->has_worker && !queue->finished)
        return false;
    return true;
}

void sim_queue_end_all(CUcontext context)
{
    struct sim_queue *queue;
    LIST_FOREACH(queue, &context->queues, siblings)
    {
        sim_capture_abandon(queue);
        queue->closed = true;
        pthread_cond_signal(&queue->more);
    }
    while (!all_finished(context))
        sim_entry_wait();
    while (!LIST_EMPTY(&context->queues))
        destroy(LIST_FIRST(&context->queues));
}

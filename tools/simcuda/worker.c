#include "tools/simcuda/worker.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "tools/simcuda/context.h"

enum {
    STACK_BYTES = 1 << 20,
    TICKET_COUNT = 64,
};

static uint64_t released[TICKET_COUNT]; /* tickets whose kernels have not started */
static unsigned released_count;

bool sim_queue_release(uint64_t ticket)
{
    if (released_count == TICKET_COUNT)
        return false;
    released[released_count++] = ticket;
    sim_entry_wake();
    return true;
}

static bool take_ticket(uint64_t ticket)
{
    for (unsigned i = 0; i < released_count; i++) {
        if (released[i] != ticket)
            continue;
        released[i] = released[--released_count];
        return true;
    }
    return false;
}

static bool is_held(const struct sim_op *op)
{
    if (op->kind == SIM_OP_WAIT)
        return op->awaited->done_ns == 0;
    if (op->kind == SIM_OP_HOLD)
        return !take_ticket(op->ticket);
    if (op->kind == SIM_OP_UNTIL)
        return sim_entry_return_count(op->until.call) <= op->until.begun_count;
    return false;
}

static void wait_until_due(struct sim_queue *queue, uint64_t due_ns)
{
    const struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000),
                                 .tv_nsec = (long)(due_ns % 1000000000)};
    while (queue->context->broken == CUDA_SUCCESS && sim_work_now_ns() < due_ns)
        sim_entry_wait_on(&queue->more, &due);
}

/* A broken context does nothing more, but what was freed is free, and callbacks are
   told. */
static void perform(CUcontext context, const struct sim_op *op)
{
    CUresult result = context->broken;
    if (op->kind == SIM_OP_FREE)
        sim_op_run(op);
    else if (op->kind == SIM_OP_CALLBACK)
        sim_entry_call_back(op, result);
    else if (op->kind == SIM_OP_HOST && result == CUDA_SUCCESS)
        sim_entry_call_back(op, result);
    else if (result == CUDA_SUCCESS)
        context->broken = sim_op_run(op);
}

static void finish(struct sim_queue *queue, struct sim_work *work)
{
    STAILQ_REMOVE_HEAD(&queue->works, next);
    work->done_ns = sim_work_now_ns();
    if (work->op.kind == SIM_OP_WAIT)
        sim_work_drop(work->op.awaited);
    if (queue->last == work)
        queue->last = NULL;
    sim_work_drop(work);
    sim_entry_wake();
}

static void *work_off(void *argument)
{
    struct sim_queue *queue = argument;
    sim_entry_lock();
    while (!queue->closed || !STAILQ_EMPTY(&queue->works)) {
        struct sim_work *work = STAILQ_FIRST(&queue->works);
        if (work == NULL) {
            sim_entry_wait_on(&queue->more, NULL);
            continue;
        }
        wait_until_due(queue, work->due_ns);
        while (queue->context->broken == CUDA_SUCCESS && is_held(&work->op))
            sim_entry_wait();
        perform(queue->context, &work->op);
        finish(queue, work);
    }
    queue->finished = true;
    sim_entry_wake();
    sim_entry_unlock();
    return NULL;
}

bool sim_worker_start(struct sim_queue *queue)
{
    if (queue->has_worker)
        return true;
    sigset_t all;
    sigset_t saved;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    /* The program's handlers run on the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    queue->has_worker = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                        pthread_create(&queue->worker, &attributes, work_off, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    pthread_attr_destroy(&attributes);
    return queue->has_worker;
}

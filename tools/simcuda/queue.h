/* Queues of work in order. What can be done at once is done by the call that asks for it;
   other work waits for its turn and its time, SIMCUDA_STREAM_DELAY_US after it was asked
   for, and a thread of the queue does it then. */
#ifndef SIMCUDA_QUEUE_H
#define SIMCUDA_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/work.h"

enum sim_queue_kind {
    SIM_QUEUE_LEGACY,     /* waits for the blocking ones, which wait for it */
    SIM_QUEUE_PER_THREAD, /* blocking; one for each thread */
    SIM_QUEUE_BLOCKING,
    SIM_QUEUE_NON_BLOCKING, /* waits for nobody */
};

struct sim_queue {
    LIST_ENTRY(sim_queue) siblings; /* among its context's */
    CUcontext context;
    enum sim_queue_kind kind;
    pthread_t thread; /* whose it is, if SIM_QUEUE_PER_THREAD */
    STAILQ_HEAD(, sim_work) works;
    struct sim_capture_end capturing;
    struct sim_work *last; /* the newest that is not done; NULL: none */
    pthread_cond_t more;   /* for the worker: work came, or the end */
    pthread_t worker;
    uint64_t delay_state;
    bool has_worker;
    bool closed;   /* no work comes any more */
    bool finished; /* and the worker has ended */
};

LIST_HEAD(sim_queues, sim_queue);

/* The context's one queue of that kind and thread, made if there was none; for the other
   kinds a new one. NULL when memory is out. */
struct sim_queue *sim_queue_open(CUcontext context, enum sim_queue_kind kind);

/* Ends the queue after the work that it has; the pointer is no longer the caller's. */
void sim_queue_close(struct sim_queue *queue);

/* Does the operation, now or later, after all that its kind of queue waits for. *work is
   the work, held for the caller, or NULL when it is done already; `work` may be NULL. */
CUresult sim_queue_submit(struct sim_queue *queue, const struct sim_op *op,
                          struct sim_work **work);

/* Lets all later work of the queue wait for `work`, which may be NULL. */
CUresult sim_queue_wait_for(struct sim_queue *queue, struct sim_work *work);

/* Adds what work submitted to the queue now would wait for. False when memory is out. */
bool sim_queue_gather(const struct sim_queue *queue, struct sim_works *works);

/* And what a context has to do in all its queues. */
bool sim_queue_gather_all(CUcontext context, struct sim_works *works);

/* Lets the calling thread wait for that. */
CUresult sim_queue_drain(CUcontext context);

/* Closes every queue of a context that has nothing left to do, and waits for their
   threads. */
void sim_queue_end_all(CUcontext context);

/* Ends the kernel that holds `ticket`, now or as soon as it starts. False when too many
   tickets wait for their kernels. */
bool sim_queue_release(uint64_t ticket);

#endif

/* Stream capture: what streams are given between its begin and its end goes into a graph
   instead of being done, and what could not be repeated is forbidden meanwhile. */
#ifndef SIMCUDA_CAPTURE_H
#define SIMCUDA_CAPTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/simcuda/graph.h"
#include "tools/simcuda/op.h"

struct sim_queue;

/* Held by every queue that takes part, and by every event recorded in it. */
struct sim_capture {
    LIST_ENTRY(sim_capture) siblings; /* among those that are not over */
    CUstreamCaptureMode mode;
    pthread_t thread;               /* that began it */
    const struct sim_queue *origin; /* where it began, and has to end */
    CUgraph graph;                  /* NULL once it is the program's, or destroyed */
    uint64_t id;
    unsigned hold_count;
    bool invalidated;
    bool over;
};

/* What a queue has to do with a capture. */
struct sim_capture_end {
    struct sim_capture *capture;  /* NULL: nothing */
    struct sim_frontier frontier; /* the nodes that its next one comes after */
};

void sim_capture_hold(struct sim_capture *capture);
void sim_capture_drop(struct sim_capture *capture);

/* For calls that no graph could repeat: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the
   captures that forbid them to this thread are invalidated. */
CUresult sim_capture_forbid(void);

/* For calls about all that a context does: the same when any stream of it is capturing,
   whoever calls. */
CUresult sim_capture_forbid_context(CUcontext context);

/* Whether a stream that the context's default stream would wait for is capturing. */
bool sim_capture_blocks_default(CUcontext context);

/* For use of a queue in any way that is not captured: the same when it is capturing, and
   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT when it is the default stream of a context in which a
   blocking stream is. */
CUresult sim_capture_forbid_queue(struct sim_queue *queue);

/* Puts the operation into the graph if the queue is capturing. *captured: whether it is
   dealt with; if not, there may be a reason not to do it either. */
CUresult sim_capture_take(struct sim_queue *queue, const struct sim_op *op,
                          bool *captured);

/* A queue that is closed leaves its capture invalidated, and ended if it began there. */
void sim_capture_abandon(struct sim_queue *queue);

/* Lets the queue come after `other`: joins its capture, or waits in the same one. */
CUresult sim_capture_follow(struct sim_queue *queue, const struct sim_capture_end *other);

/* Copies where a queue is in its capture, and drops the copy. False when memory is out. */
bool sim_capture_mark(const struct sim_queue *queue, struct sim_capture_end *mark);
void sim_capture_unmark(struct sim_capture_end *mark);

/* Invalidates a capture that is not over. */
void sim_capture_invalidate(struct sim_capture *capture);

#endif

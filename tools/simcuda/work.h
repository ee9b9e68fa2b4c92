/* Work that was not done at once, and groups of it. Whoever keeps a pointer to work holds
   it; all of it is under the entry lock, which nobody holds while he waits. */
#ifndef SIMCUDA_WORK_H
#define SIMCUDA_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/simcuda/op.h"

struct sim_work {
    STAILQ_ENTRY(sim_work) next; /* in its queue */
    struct sim_op op;
    void *stage;      /* what a staged copy reads; freed with the work */
    uint64_t due_ns;  /* not to be done before */
    uint64_t done_ns; /* 0: it is not done */
    unsigned hold_count;
};

/* Held once, for the caller; NULL when memory is out. */
struct sim_work *sim_work_create(const struct sim_op *op, uint64_t due_ns);

void sim_work_hold(struct sim_work *work);
void sim_work_drop(struct sim_work *work);

/* Nanoseconds of the clock that work is timed by; never 0. */
uint64_t sim_work_now_ns(void);

struct sim_works {
    struct sim_work **items;
    unsigned count;
};

/* Adds work that is not done; NULL and done work are nothing to wait for. False when
   memory is out. */
bool sim_works_add(struct sim_works *works, struct sim_work *work);

bool sim_works_done(const struct sim_works *works);

/* When the last of them was done; 0 for none. */
uint64_t sim_works_done_ns(const struct sim_works *works);

/* Lets the calling thread wait. Others may change the group meanwhile. */
CUresult sim_works_wait(const struct sim_works *works);

void sim_works_drop(struct sim_works *works);

#endif

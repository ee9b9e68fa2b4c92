#include "tools/simcuda/work.h"

#include <stdlib.h>
#include <time.h>

struct sim_work *sim_work_create(const struct sim_op *op, uint64_t due_ns)
{
    struct sim_work *work = calloc(1, sizeof *work);
    if (work == NULL)
        return NULL;
    work->op = *op;
    work->due_ns = due_ns;
    work->hold_count = 1;
    if (op->kind == SIM_OP_COPY && op->copy.staged) {
        work->stage = sim_op_stage(&work->op.copy);
        if (work->stage == NULL) {
            free(work);
            return NULL;
        }
    }
    if (op->kind == SIM_OP_WAIT)
        sim_work_hold(op->awaited);
    return work;
}

void sim_work_hold(struct sim_work *work)
{
    work->hold_count++;
}

/* What work waits for is let go when it is done, so that this goes one level deep. */
void sim_work_drop(struct sim_work *work)
{
    if (--work->hold_count > 0)
        return;
    free(work->stage);
    free(work);
}

uint64_t sim_work_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + 1;
}

bool sim_works_add(struct sim_works *works, struct sim_work *work)
{
    if (work == NULL || work->done_ns != 0)
        return true;
    struct sim_work **items =
        realloc(works->items, (works->count + 1) * sizeof *works->items);
    if (items == NULL)
        return false;
    works->items = items;
    works->items[works->count++] = work;
    sim_work_hold(work);
    return true;
}

bool sim_works_done(const struct sim_works *works)
{
    for (unsigned i = 0; i < works->count; i++)
        if (works->items[i]->done_ns == 0)
            return false;
    return true;
}

uint64_t sim_works_done_ns(const struct sim_works *works)
{
    uint64_t latest_ns = 0;
    for (unsigned i = 0; i < works->count; i++)
        if (works->items[i]->done_ns > latest_ns)
            latest_ns = works->items[i]->done_ns;
    return latest_ns;
}

CUresult sim_works_wait(const struct sim_works *works)
{
    struct sim_works waited = {0};
    for (unsigned i = 0; i < works->count; i++) {
        if (!sim_works_add(&waited, works->items[i])) {
            sim_works_drop(&waited);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    while (!sim_works_done(&waited))
        sim_entry_wait();
    sim_works_drop(&waited);
    return CUDA_SUCCESS;
}

void sim_works_drop(struct sim_works *works)
{
    for (unsigned i = 0; i < works->count; i++)
        sim_work_drop(works->items[i]);
    free(works->items);
    *works = (struct sim_works){0};
}

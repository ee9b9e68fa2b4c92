#include "tools/simcuda/op.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simcuda/block.h"

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void *row_of(const struct sim_walk *walk, uint64_t z, uint64_t y)
{
    return pointer(walk->first + z * walk->slice_bytes + y * walk->row_bytes);
}

static void move_rows(const struct sim_copy *copy)
{
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++)
            memmove(row_of(&copy->to, z, y), row_of(&copy->from, z, y),
                    copy->width_bytes);
}

/* No product overflows: the copy was checked when it was asked for. */
static bool is_there(const struct sim_walk *walk, const struct sim_copy *copy)
{
    uint64_t span = (copy->depth - 1) * walk->slice_bytes +
                    (copy->height - 1) * walk->row_bytes + copy->width_bytes;
    return !walk->known || sim_block_covers(walk->first, span);
}

static CUresult run_copy(const struct sim_copy *copy)
{
    if (copy->width_bytes == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    if (!is_there(&copy->to, copy) || !is_there(&copy->from, copy))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    move_rows(copy);
    return CUDA_SUCCESS;
}

static CUresult run_fill(const struct sim_fill *fill)
{
    if (fill->row_bytes == 0 || fill->height == 0)
        return CUDA_SUCCESS;
    if (!sim_block_covers(fill->address,
                          (fill->height - 1) * fill->pitch_bytes + fill->row_bytes))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t y = 0; y < fill->height; y++) {
        char *row = pointer(fill->address + y * fill->pitch_bytes);
        if (fill->value_bytes == 1)
            memset(row, fill->value[0], fill->row_bytes);
        else
            for (uint64_t x = 0; x < fill->row_bytes; x += fill->value_bytes)
                memcpy(row + x, fill->value, fill->value_bytes);
    }
    return CUDA_SUCCESS;
}

/* Memory that the stream has got back meanwhile is another block. */
static CUresult run_free(uint64_t address, unsigned long long id)
{
    struct sim_block *block = sim_block_find(address);
    if (block != NULL && block->id == id)
        sim_block_destroy(block);
    return CUDA_SUCCESS;
}

bool sim_op_is_quick(const struct sim_op *op)
{
    return op->kind <= SIM_OP_FREE;
}

CUresult sim_op_run(const struct sim_op *op)
{
    if (op->kind == SIM_OP_COPY)
        return run_copy(&op->copy);
    if (op->kind == SIM_OP_FILL)
        return run_fill(&op->fill);
    if (op->kind == SIM_OP_FREE)
        return run_free(op->freed.address, op->freed.id);
    return CUDA_SUCCESS;
}

void *sim_op_stage(struct sim_copy *copy)
{
    uint64_t slice_bytes = copy->width_bytes * copy->height;
    void *stage = malloc(slice_bytes * copy->depth);
    if (stage == NULL)
        return NULL;
    struct sim_copy gather = *copy;
    gather.to = (struct sim_walk){.first = (uintptr_t)stage,
                                  .row_bytes = copy->width_bytes,
                                  .slice_bytes = slice_bytes};
    move_rows(&gather);
    copy->from = gather.to;
    return stage;
}

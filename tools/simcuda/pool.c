#include "tools/simcuda/pool.h"

#include <stddef.h>
#include <stdlib.h>

#include "policy/checked.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/cost.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/knobs.h"

enum {
    CHUNK_BYTES = 32 << 20,
    LEAST_CHUNK_BYTES = 2 << 20, /* what the device's memory is mapped in */
};

struct sim_chunk {
    LIST_ENTRY(sim_chunk) siblings; /* among its pool's */
    CUmemoryPool pool;
    uint64_t bytes;
    uint64_t used_bytes;
};

static LIST_HEAD(, CUmemPoolHandle_st) every = LIST_HEAD_INITIALIZER(every);
static CUmemoryPool defaults[SIM_DEVICE_LIMIT];
static CUmemoryPool currents[SIM_DEVICE_LIMIT];

bool sim_pool_is(CUmemoryPool pool)
{
    return sim_object_is(pool, SIM_POOL) && !pool->destroyed;
}

CUmemoryPool sim_pool_create(CUdevice device, uint64_t limit_bytes)
{
    CUmemoryPool pool = sim_object_create(SIM_POOL, sizeof *pool, NULL);
    if (pool == NULL)
        return NULL;
    LIST_INIT(&pool->chunks);
    LIST_INIT(&pool->retired);
    pool->device = device;
    pool->limit_bytes = limit_bytes;
    for (size_t k = 0; k < sizeof pool->reuse / sizeof *pool->reuse; k++)
        pool->reuse[k] = 1;
    LIST_INSERT_HEAD(&every, pool, all);
    return pool;
}

CUmemoryPool sim_pool_default(CUdevice device)
{
    if (defaults[device] == NULL)
        defaults[device] = sim_pool_create(device, UINT64_MAX);
    if (defaults[device] != NULL)
        defaults[device]->is_default = true;
    return defaults[device];
}

CUmemoryPool sim_pool_current(CUdevice device)
{
    return currents[device] != NULL ? currents[device] : sim_pool_default(device);
}

void sim_pool_set_current(CUdevice device, CUmemoryPool pool)
{
    currents[device] = pool;
}

static void release(struct sim_chunk *chunk)
{
    LIST_REMOVE(chunk, siblings);
    sim_block_give(chunk->pool->device, chunk->bytes);
    chunk->pool->reserved_bytes -= chunk->bytes;
    sim_cost_owe_us(sim_knobs->free_us);
    free(chunk);
}

/* Whether a chunk was given back: an idle one, with at least so much left after it. */
static bool release_one(CUmemoryPool pool, uint64_t kept_bytes)
{
    struct sim_chunk *chunk;
    LIST_FOREACH(chunk, &pool->chunks, siblings)
    {
        if (chunk->used_bytes > 0 || pool->reserved_bytes - chunk->bytes < kept_bytes)
            continue;
        release(chunk);
        return true;
    }
    return false;
}

void sim_pool_trim(CUmemoryPool pool, uint64_t kept_bytes)
{
    while (release_one(pool, kept_bytes))
        continue;
}

/* A destroyed pool is over when all its memory is back. */
static void bury(CUmemoryPool pool)
{
    if (!pool->destroyed || pool->used_bytes > 0)
        return;
    sim_pool_trim(pool, 0);
    LIST_REMOVE(pool, all);
    sim_object_destroy(&pool->object);
}

void sim_pool_destroy(CUmemoryPool pool)
{
    if (currents[pool->device] == pool)
        currents[pool->device] = NULL;
    pool->destroyed = true;
    bury(pool);
}

static struct sim_chunk *find_room(CUmemoryPool pool, uint64_t bytes)
{
    struct sim_chunk *chunk;
    LIST_FOREACH(chunk, &pool->chunks, siblings)
    if (chunk->bytes - chunk->used_bytes >= bytes)
        return chunk;
    return NULL;
}

/* How much the pool grows by for `bytes` more; 0 when it cannot. */
static uint64_t growth(CUmemoryPool pool, uint64_t bytes)
{
    const uint64_t units[] = {CHUNK_BYTES, LEAST_CHUNK_BYTES, SIM_BLOCK_UNIT_BYTES};
    uint64_t left_bytes = sim_block_free_bytes(pool->device);
    if (pool->limit_bytes - pool->reserved_bytes < left_bytes)
        left_bytes = pool->limit_bytes - pool->reserved_bytes;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        uint64_t grown_bytes;
        if (policy_checked_align_up(bytes, units[i], left_bytes, &grown_bytes))
            return grown_bytes;
    }
    return 0;
}

static struct sim_chunk *grow(CUmemoryPool pool, uint64_t bytes)
{
    uint64_t grown_bytes = growth(pool, bytes);
    if (grown_bytes == 0 && sim_pool_reclaim(pool->device))
        grown_bytes = growth(pool, bytes);
    struct sim_chunk *chunk = grown_bytes > 0 ? calloc(1, sizeof *chunk) : NULL;
    if (chunk == NULL || !sim_block_take(pool->device, grown_bytes)) {
        free(chunk);
        return NULL;
    }
    chunk->pool = pool;
    chunk->bytes = grown_bytes;
    LIST_INSERT_HEAD(&pool->chunks, chunk, siblings);
    pool->reserved_bytes += grown_bytes;
    if (pool->reserved_bytes > pool->reserved_high_bytes)
        pool->reserved_high_bytes = pool->reserved_bytes;
    sim_cost_owe_us(sim_knobs->allocate_us);
    return chunk;
}

static uint64_t whole_units(uint64_t bytes)
{
    return (bytes + SIM_BLOCK_UNIT_BYTES - 1) / SIM_BLOCK_UNIT_BYTES *
           SIM_BLOCK_UNIT_BYTES;
}

/* What was freed in a stream can be used by its later work, though the free is to come. */
static struct sim_block *revive(CUmemoryPool pool, uint64_t bytes,
                                const struct sim_queue *queue)
{
    struct sim_block *block;
    LIST_FOREACH(block, &pool->retired, siblings)
    {
        if (block->retired_in != queue || whole_units(block->bytes) != whole_units(bytes))
            continue;
        LIST_REMOVE(block, siblings);
        sim_block_revive(block, bytes);
        return block;
    }
    return NULL;
}

CUresult sim_pool_allocate(CUmemoryPool pool, uint64_t bytes,
                           const struct sim_queue *queue, struct sim_block **block)
{
    *block = revive(pool, bytes, queue);
    if (*block != NULL)
        return CUDA_SUCCESS;
    if (bytes > UINT64_MAX - SIM_BLOCK_UNIT_BYTES)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t taken_bytes = whole_units(bytes);
    struct sim_chunk *chunk = find_room(pool, taken_bytes);
    if (chunk == NULL)
        chunk = grow(pool, taken_bytes);
    if (chunk == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const struct sim_block_request request = {
        .memory = SIM_DEVICE, .bytes = bytes, .device = pool->device, .chunk = chunk};
    CUresult result = sim_block_create(&request, block);
    if (result != CUDA_SUCCESS)
        return result;
    chunk->used_bytes += taken_bytes;
    pool->used_bytes += taken_bytes;
    if (pool->used_bytes > pool->used_high_bytes)
        pool->used_high_bytes = pool->used_bytes;
    return CUDA_SUCCESS;
}

void sim_pool_retire(struct sim_block *block, const struct sim_queue *queue)
{
    sim_block_retire(block, queue);
    if (block->chunk != NULL)
        LIST_INSERT_HEAD(&block->chunk->pool->retired, block, siblings);
}

void sim_pool_forget(struct sim_block *block)
{
    struct sim_chunk *chunk = block->chunk;
    if (block->retired)
        LIST_REMOVE(block, siblings);
    chunk->used_bytes -= whole_units(block->bytes);
    chunk->pool->used_bytes -= whole_units(block->bytes);
    bury(chunk->pool);
}

CUmemoryPool sim_pool_of(const struct sim_block *block)
{
    return block->chunk != NULL ? block->chunk->pool : NULL;
}

void sim_pool_synchronized(CUdevice device)
{
    CUmemoryPool pool;
    LIST_FOREACH(pool, &every, all)
    if (pool->device == device)
        sim_pool_trim(pool, pool->release_threshold_bytes);
}

bool sim_pool_reclaim(CUdevice device)
{
    bool reclaimed = false;
    CUmemoryPool pool;
    LIST_FOREACH(pool, &every, all)
    while (pool->device == device && release_one(pool, 0))
        reclaimed = true;
    return reclaimed;
}

uint64_t sim_pool_reserved_bytes(CUdevice device)
{
    uint64_t bytes = 0;
    CUmemoryPool pool;
    LIST_FOREACH(pool, &every, all)
    if (pool->device == device)
        bytes += pool->reserved_bytes;
    return bytes;
}

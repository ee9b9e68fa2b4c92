/* Calls about pools, and stream-ordered memory by them. */
#include "tools/simcuda/pool.h"

#include <stddef.h>
#include <string.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/log.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/stream.h"

/* Only memory of a device that no other process shares is simulated. */
CUresult sim_pool_make(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    if (pool == NULL || props == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || props->handleTypes != 0 ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!sim_device_exists(props->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    CUmemoryPool created = sim_pool_create(
        props->location.id, props->maxSize > 0 ? props->maxSize : UINT64_MAX);
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = created;
    return CUDA_SUCCESS;
}

CUresult sim_pool_end(CUmemoryPool pool)
{
    if (!sim_pool_is(pool) || pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    sim_pool_destroy(pool);
    return CUDA_SUCCESS;
}

CUresult sim_pool_trim_to(CUmemoryPool pool, size_t kept_bytes)
{
    if (!sim_pool_is(pool))
        return CUDA_ERROR_INVALID_VALUE;
    sim_pool_trim(pool, kept_bytes);
    return CUDA_SUCCESS;
}

/* Where an attribute of 64 bits is kept; NULL for the others. */
static uint64_t *wide(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->release_threshold_bytes;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved_bytes;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high_bytes;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used_bytes;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high_bytes;
    default:
        return NULL;
    }
}

static bool is_reuse(CUmemPool_attribute attribute)
{
    return attribute >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult sim_pool_get_attribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                void *value)
{
    if (!sim_pool_is(pool) || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_reuse(attribute)) {
        memcpy(value, &pool->reuse[attribute - 1], sizeof *pool->reuse);
        return CUDA_SUCCESS;
    }
    const uint64_t *kept = wide(pool, attribute);
    if (kept == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(value, kept, sizeof *kept);
    return CUDA_SUCCESS;
}

/* A high mark can only be set to zero, which is the current value. */
static CUresult lower_mark(CUmemoryPool pool, CUmemPool_attribute attribute,
                           uint64_t value)
{
    if (value != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool->reserved_high_bytes = pool->reserved_bytes;
    else
        pool->used_high_bytes = pool->used_bytes;
    return CUDA_SUCCESS;
}

CUresult sim_pool_set_attribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                void *value)
{
    uint64_t asked;
    if (!sim_pool_is(pool) || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_reuse(attribute)) {
        memcpy(&pool->reuse[attribute - 1], value, sizeof *pool->reuse);
        return CUDA_SUCCESS;
    }
    if (wide(pool, attribute) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&asked, value, sizeof asked);
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
        attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return lower_mark(pool, attribute, asked);
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        return CUDA_ERROR_INVALID_VALUE;
    pool->release_threshold_bytes = asked;
    return CUDA_SUCCESS;
}

static CUresult answer(CUmemoryPool *pool, CUdevice device,
                       CUmemoryPool (*ask)(CUdevice device))
{
    if (pool == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    CUmemoryPool found = ask(device);
    if (found == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = found;
    return CUDA_SUCCESS;
}

CUresult sim_pool_default_of(CUmemoryPool *pool, CUdevice device)
{
    return answer(pool, device, sim_pool_default);
}

CUresult sim_pool_current_of(CUmemoryPool *pool, CUdevice device)
{
    return answer(pool, device, sim_pool_current);
}

CUresult sim_pool_choose(CUdevice device, CUmemoryPool pool)
{
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!sim_pool_is(pool) || pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    sim_pool_set_current(device, pool);
    return CUDA_SUCCESS;
}

/* Since 13000 there are pools of other places and kinds. */
static CUresult check_place(const CUmemLocation *location, CUmemAllocationType type)
{
    if (location == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
                   type == CU_MEM_ALLOCATION_TYPE_PINNED
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_pool_default_at(CUmemoryPool *pool, CUmemLocation *location,
                             CUmemAllocationType type)
{
    CUresult result = check_place(location, type);
    return result == CUDA_SUCCESS ? sim_pool_default_of(pool, location->id) : result;
}

CUresult sim_pool_current_at(CUmemoryPool *pool, CUmemLocation *location,
                             CUmemAllocationType type)
{
    CUresult result = check_place(location, type);
    return result == CUDA_SUCCESS ? sim_pool_current_of(pool, location->id) : result;
}

CUresult sim_pool_choose_at(CUmemLocation *location, CUmemAllocationType type,
                            CUmemoryPool pool)
{
    CUresult result = check_place(location, type);
    return result == CUDA_SUCCESS ? sim_pool_choose(location->id, pool) : result;
}

/* In a capture both would be nodes that own memory, which is not simulated. */
static CUresult look_up(CUstream stream, struct sim_queue **queue)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    *queue = sim_stream_queue(stream);
    result = *queue != NULL ? sim_capture_forbid_queue(*queue) : CUDA_ERROR_OUT_OF_MEMORY;
    return result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? CUDA_ERROR_NOT_SUPPORTED
                                                           : result;
}

CUresult sim_pool_allocate_from(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                CUstream stream)
{
    struct sim_queue *queue;
    struct sim_block *block;
    sim_log_note(0, bytes);
    CUresult result = look_up(stream, &queue);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || bytes == 0 || !sim_pool_is(pool))
        return CUDA_ERROR_INVALID_VALUE;
    result = sim_pool_allocate(pool, bytes, queue, &block);
    if (result != CUDA_SUCCESS)
        return result;
    sim_log_note(block->address, bytes);
    *address = block->address;
    return CUDA_SUCCESS;
}

/* From the current pool of the stream's device. */
CUresult sim_pool_allocate_ordered(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    CUmemoryPool pool = sim_pool_current(sim_stream_owner(stream)->device);
    return pool != NULL ? sim_pool_allocate_from(address, bytes, pool, stream)
                        : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Freed when the stream comes to it, and only once; memory of cuMemAlloc, too. */
CUresult sim_pool_free_ordered(CUdeviceptr address, CUstream stream)
{
    struct sim_queue *queue;
    CUresult result = look_up(stream, &queue);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_block *block = sim_block_find(address);
    if (block == NULL || block->address != address || block->retired ||
        (block->memory != SIM_DEVICE && block->memory != SIM_MANAGED)) {
        sim_log_note(address, 0);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_log_note(address, block->bytes);
    const struct sim_op op = {.kind = SIM_OP_FREE, .freed = {address, block->id}};
    sim_pool_retire(block, queue);
    return sim_stream_run(stream, &op, false);
}

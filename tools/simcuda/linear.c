/* Device memory: linear, pitched and managed, and how much is left. */
#include "tools/simcuda/block.h"

#include <limits.h>
#include <stddef.h>

#include "policy/checked.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/cost.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/log.h"
#include "tools/simcuda/names.h"

/* Memory on the current context's device. */
static CUresult allocate(CUdeviceptr *address, uint64_t bytes, enum sim_memory memory,
                         unsigned flags)
{
    sim_log_note(0, bytes);
    if (address == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_capture_forbid();
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_block *block;
    struct sim_block_request request = {
        .memory = memory,
        .bytes = bytes,
        .flags = flags,
        .device = sim_context_current()->device,
        .owner = sim_context_current(),
    };
    result = sim_block_create(&request, &block);
    if (result != CUDA_SUCCESS)
        return result;
    sim_log_note(block->address, bytes);
    sim_cost_owe_us(sim_knobs->allocate_us);
    *address = block->address;
    return CUDA_SUCCESS;
}

CUresult sim_linear_allocate(CUdeviceptr *address, size_t bytes)
{
    return allocate(address, bytes, SIM_DEVICE, 0);
}

CUresult sim_linear_allocate_pitched(CUdeviceptr *address, size_t *pitch, size_t width,
                                     size_t height, unsigned element_bytes)
{
    uint64_t row_bytes;
    uint64_t bytes;
    if (pitch == NULL ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (!policy_checked_align_up(width, SIM_BLOCK_UNIT_BYTES, UINT64_MAX, &row_bytes) ||
        !policy_checked_multiply(row_bytes, height, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_linear_allocate(address, bytes);
    if (result == CUDA_SUCCESS)
        *pitch = row_bytes;
    return result;
}

CUresult sim_linear_allocate_managed(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate(address, bytes, SIM_MANAGED, flags);
}

/* The block of device memory that begins at `address`, or NULL. */
static struct sim_block *find(CUdeviceptr address)
{
    struct sim_block *block = sim_block_find(address);
    if (block == NULL || block->address != address || block->retired ||
        (block->memory != SIM_DEVICE && block->memory != SIM_MANAGED))
        block = NULL;
    sim_log_note(address, block != NULL ? block->bytes : 0);
    return block;
}

/* Waits for all work of the block's context, as the driver does, but not for
   stream-ordered memory, which belongs to none. */
CUresult sim_linear_free(CUdeviceptr address)
{
    CUresult result = sim_capture_forbid();
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_block *block = find(address);
    if (block == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (block->owner != NULL) {
        CUcontext owner = block->owner;
        unsigned long long id = block->id;
        result = sim_queue_drain(owner);
        if (result == CUDA_SUCCESS)
            result = owner->broken;
        if (result != CUDA_SUCCESS)
            return result;
        block = find(address);
        if (block == NULL || block->id != id)
            return CUDA_ERROR_INVALID_VALUE;
    }
    sim_cost_owe_us(sim_knobs->free_us);
    sim_block_destroy(block);
    return CUDA_SUCCESS;
}

CUresult sim_linear_info(size_t *free, size_t *total)
{
    if (free != NULL)
        *free = sim_block_free_bytes(sim_context_current()->device);
    if (total != NULL)
        *total = sim_knobs->device_bytes;
    return CUDA_SUCCESS;
}

/* Before 3020 sizes had 32 bits; what does not fit is the most that does. */
static unsigned clamp(size_t bytes)
{
    return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

CUresult sim_linear_info_32(unsigned *free, unsigned *total)
{
    size_t free_bytes;
    size_t total_bytes;
    CUresult result = sim_linear_info(&free_bytes, &total_bytes);
    if (free != NULL)
        *free = clamp(free_bytes);
    if (total != NULL)
        *total = clamp(total_bytes);
    return result;
}

/* Page-locked host memory: ours, and the program's own after it was registered. Nothing
   is locked: what matters to a program is the bookkeeping. */
#include "tools/simcuda/block.h"

#include <stddef.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/cost.h"
#include "tools/simcuda/log.h"
#include "tools/simcuda/names.h"

enum {
    ALLOCATE_FLAGS = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                     CU_MEMHOSTALLOC_WRITECOMBINED,
    REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP,
    REGISTER_REFUSED = CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY,
};

/* The block of `memory` that begins at `address`, or NULL. */
static struct sim_block *find(const void *address, enum sim_memory memory)
{
    struct sim_block *block = sim_block_find((uintptr_t)address);
    if (block == NULL || block->address != (uintptr_t)address || block->memory != memory)
        return NULL;
    return block;
}

static CUresult create(enum sim_memory memory, void *address, size_t bytes,
                       unsigned flags, struct sim_block **block)
{
    struct sim_block_request request = {
        .memory = memory,
        .address = address,
        .bytes = bytes,
        .flags = flags,
        .device = sim_context_current()->device,
        .owner = sim_context_current(),
    };
    sim_log_note((uintptr_t)address, bytes);
    CUresult result = sim_capture_forbid();
    if (result == CUDA_SUCCESS)
        result = sim_block_create(&request, block);
    if (result != CUDA_SUCCESS)
        return result;
    sim_log_note((*block)->address, bytes);
    sim_cost_owe_pin(bytes);
    return CUDA_SUCCESS;
}

CUresult sim_pinned_allocate_flags(void **address, size_t bytes, unsigned flags)
{
    struct sim_block *block;
    if (address == NULL || bytes == 0 || (flags & ~(unsigned)ALLOCATE_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = create(SIM_PINNED, NULL, bytes, flags, &block);
    if (result == CUDA_SUCCESS)
        *address = (void *)(uintptr_t)block->address;
    return result;
}

CUresult sim_pinned_allocate(void **address, size_t bytes)
{
    return sim_pinned_allocate_flags(address, bytes, 0);
}

CUresult sim_pinned_allocate_32(void **address, unsigned bytes)
{
    return sim_pinned_allocate_flags(address, bytes, 0);
}

/* Any context may be using it: waits for the work of all of them. `unknown` is what there
   is to say when no such block begins there. */
static CUresult destroy(void *address, enum sim_memory memory, CUresult unknown)
{
    CUresult result = sim_capture_forbid();
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_block *block = find(address, memory);
    sim_log_note((uintptr_t)address, block != NULL ? block->bytes : 0);
    if (block == NULL)
        return unknown;
    unsigned long long id = block->id;
    result = sim_context_drain_all();
    if (result != CUDA_SUCCESS)
        return result;
    block = find(address, memory);
    if (block == NULL || block->id != id)
        return unknown;
    sim_cost_owe_unpin(block->bytes);
    sim_block_destroy(block);
    return CUDA_SUCCESS;
}

CUresult sim_pinned_free(void *address)
{
    return destroy(address, SIM_PINNED, CUDA_ERROR_INVALID_VALUE);
}

CUresult sim_pinned_register(void *address, size_t bytes, unsigned flags)
{
    struct sim_block *block;
    if ((flags & REGISTER_REFUSED) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (address == NULL || bytes == 0 || bytes > UINTPTR_MAX - (uintptr_t)address ||
        (flags & ~(unsigned)REGISTER_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return create(SIM_REGISTERED, address, bytes, flags, &block);
}

CUresult sim_pinned_unregister(void *address)
{
    return destroy(address, SIM_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult sim_pinned_flags(unsigned *flags, void *address)
{
    const struct sim_block *block = sim_block_find((uintptr_t)address);
    if (flags == NULL || block == NULL || block->memory != SIM_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = block->flags;
    return CUDA_SUCCESS;
}

/* With unified addressing the device uses the host's own address. */
CUresult sim_pinned_device_pointer(CUdeviceptr *mapped, void *address, unsigned flags)
{
    const struct sim_block *block = sim_block_find((uintptr_t)address);
    if (mapped == NULL || flags != 0 || block == NULL ||
        (block->memory != SIM_PINNED && block->memory != SIM_REGISTERED))
        return CUDA_ERROR_INVALID_VALUE;
    *mapped = (uintptr_t)address;
    return CUDA_SUCCESS;
}

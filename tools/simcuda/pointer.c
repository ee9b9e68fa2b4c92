/* Questions about an address. */
#include "tools/simcuda/block.h"

#include <stddef.h>
#include <string.h>

#include "tools/simcuda/names.h"
#include "tools/simcuda/pool.h"

/* An answer as the driver writes it: so many bytes of one of these. */
struct answer {
    union {
        CUcontext context;
        unsigned word;
        int ordinal;
        uint64_t address;
        size_t bytes;
        unsigned long long id;
        CUmemoryPool pool;
        CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    } value;
    size_t width;
};

#define ANSWER(member, expression)                                                       \
    ((struct answer){.value.member = (expression),                                       \
                     .width = sizeof((struct answer *)NULL)->value.member})

static bool on_host(const struct sim_block *block)
{
    return block->memory == SIM_PINNED || block->memory == SIM_REGISTERED;
}

/* A width of 0: not simulated. */
static struct answer ask(const struct sim_block *block, CUpointer_attribute attribute,
                         CUdeviceptr address)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return ANSWER(context, block->owner);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return ANSWER(word, on_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return ANSWER(address, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return ANSWER(address, block->memory == SIM_DEVICE ? 0 : address);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return ANSWER(word, block->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return ANSWER(id, block->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return ANSWER(word, block->memory == SIM_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return ANSWER(ordinal, block->device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return ANSWER(address, block->address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return ANSWER(bytes, block->bytes);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return ANSWER(pool, sim_pool_of(block));
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return ANSWER(tokens, ((CUDA_POINTER_ATTRIBUTE_P2P_TOKENS){block->id, 1}));
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return ANSWER(word, 1);
    default:
        return (struct answer){.width = 0};
    }
}

CUresult sim_pointer_attribute(void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    struct sim_block *block = sim_block_find(address);
    if (value == NULL || block == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    /* As a side effect, which the driver's manual tells of. */
    if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
        block->sync_memops = 1;
    struct answer answer = ask(block, attribute, address);
    if (answer.width == 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    /* Device memory has no host pointer, and the driver says so. */
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && answer.value.address == 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(value, &answer.value, answer.width);
    return CUDA_SUCCESS;
}

/* An address that nobody knows gets zeros here, and no error. */
CUresult sim_pointer_attributes(unsigned count, CUpointer_attribute *attributes,
                                void **values, CUdeviceptr address)
{
    static const struct sim_block nothing;
    if (count == 0 || attributes == NULL || values == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_block *block = sim_block_find(address);
    for (unsigned i = 0; i < count; i++) {
        struct answer answer =
            ask(block != NULL ? block : &nothing, attributes[i], address);
        if (answer.width == 0)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (block == NULL)
            memset(values[i], 0, answer.width);
        else
            memcpy(values[i], &answer.value, answer.width);
    }
    return CUDA_SUCCESS;
}

CUresult sim_pointer_set_attribute(const void *value, CUpointer_attribute attribute,
                                   CUdeviceptr address)
{
    struct sim_block *block = sim_block_find(address);
    if (value == NULL || block == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_NOT_SUPPORTED;
    memcpy(&block->sync_memops, value, sizeof block->sync_memops);
    return CUDA_SUCCESS;
}

CUresult sim_pointer_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    const struct sim_block *block = sim_block_find(address);
    if (block == NULL)
        return CUDA_ERROR_NOT_FOUND;
    if (base != NULL)
        *base = block->address;
    if (bytes != NULL)
        *bytes = block->bytes;
    return CUDA_SUCCESS;
}

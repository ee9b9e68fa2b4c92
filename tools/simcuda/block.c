#include "tools/simcuda/block.h"

#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "policy/checked.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/knobs.h"

static void *live; /* a tree of blocks, by range; ranges never meet */

static struct {
    uint64_t charged_bytes; /* at most sim_knobs->device_bytes */
    uint64_t held_bytes;
} usage[SIM_DEVICE_LIMIT];

static uint64_t host_bytes[SIM_MEMORY_COUNT]; /* the device's own kinds stay 0 */

/* Two ranges that meet compare equal, so a lookup by one address finds its block. */
static int by_range(const void *left, const void *right)
{
    const struct sim_block *a = left;
    const struct sim_block *b = right;
    if (a->address < b->address)
        return b->address - a->address < a->bytes ? 0 : -1;
    return a->address - b->address < b->bytes ? 0 : 1;
}

static bool on_device(enum sim_memory memory)
{
    return memory == SIM_DEVICE || memory == SIM_MANAGED;
}

static void *map_memory(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* The bytes that a request takes from its device; false when it has not so many left. */
static bool price(const struct sim_block_request *request, uint64_t *charged_bytes)
{
    *charged_bytes = 0;
    if (!on_device(request->memory))
        return true;
    return policy_checked_align_up(request->bytes, SIM_BLOCK_UNIT_BYTES,
                                   sim_block_free_bytes(request->device), charged_bytes);
}

/* Puts the block where it is found, and on its owner's list. */
static CUresult enter(struct sim_block *block)
{
    struct sim_block **entered = tsearch(block, &live, by_range);
    if (entered == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (*entered != block)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (block->owner != NULL)
        LIST_INSERT_HEAD(&block->owner->blocks, block, siblings);
    if (on_device(block->memory)) {
        usage[block->device].charged_bytes += block->charged_bytes;
        usage[block->device].held_bytes += block->bytes;
    } else {
        host_bytes[block->memory] += block->bytes;
    }
    return CUDA_SUCCESS;
}

CUresult sim_block_create(const struct sim_block_request *request,
                          struct sim_block **block)
{
    static unsigned long long block_count;
    uint64_t charged_bytes;
    if (!price(request, &charged_bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;

    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    bool ours = request->memory != SIM_REGISTERED;
    void *memory = ours ? map_memory(request->bytes) : request->address;
    if (memory == NULL)
        return result;
    struct sim_block *created = malloc(sizeof *created);
    if (created == NULL)
        goto unmap;
    *created = (struct sim_block){
        .address = (uintptr_t)memory,
        .bytes = request->bytes,
        .charged_bytes = charged_bytes,
        .memory = request->memory,
        .flags = request->flags,
        .device = request->device,
        .owner = request->owner,
        .id = ++block_count,
    };
    result = enter(created);
    if (result != CUDA_SUCCESS)
        goto discard;
    *block = created;
    return CUDA_SUCCESS;

discard:
    free(created);
unmap:
    if (ours)
        munmap(memory, request->bytes);
    return result;
}

void sim_block_destroy(struct sim_block *block)
{
    if (block->owner != NULL)
        LIST_REMOVE(block, siblings);
    tdelete(block, &live, by_range);
    if (on_device(block->memory)) {
        usage[block->device].charged_bytes -= block->charged_bytes;
        usage[block->device].held_bytes -= block->bytes;
    } else {
        host_bytes[block->memory] -= block->bytes;
    }
    if (block->memory != SIM_REGISTERED)
        munmap((void *)(uintptr_t)block->address, block->bytes);
    free(block);
}

struct sim_block *sim_block_find(uint64_t address)
{
    struct sim_block key = {.address = address, .bytes = 1};
    struct sim_block *const *found = tfind(&key, &live, by_range);
    return found != NULL ? *found : NULL;
}

bool sim_block_covers(uint64_t address, uint64_t bytes)
{
    if (bytes == 0)
        return true;
    const struct sim_block *block = sim_block_find(address);
    return block != NULL &&
           policy_checked_range(address - block->address, bytes, block->bytes);
}

uint64_t sim_block_free_bytes(CUdevice device)
{
    return sim_knobs->device_bytes - usage[device].charged_bytes;
}

uint64_t sim_block_held_bytes(CUdevice device)
{
    return sim_device_exists(device) ? usage[device].held_bytes : 0;
}

uint64_t sim_block_host_bytes(enum sim_memory memory)
{
    return host_bytes[memory];
}

uint64_t sim_block_taken_bytes(CUdevice device)
{
    return sim_device_exists(device) ? usage[device].charged_bytes : 0;
}

bool sim_block_take(CUdevice device, uint64_t bytes)
{
    if (bytes > sim_block_free_bytes(device))
        return false;
    usage[device].charged_bytes += bytes;
    return true;
}

void sim_block_give(CUdevice device, uint64_t bytes)
{
    usage[device].charged_bytes -= bytes;
}

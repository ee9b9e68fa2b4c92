#include "tools/simcuda/block.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "policy/checked.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/mappings.h"
#include "tools/simcuda/pool.h"
#include "tools/simcuda/slots.h"

enum {
    PAGE_BYTES = 4096,
    FRESH_POISON = 0xd1, /* what SIMCUDA_POISON=on fills new memory with */
    FREED_POISON = 0xf3, /* and freed memory that stays */
};

static void *alone; /* a tree of the blocks that lie in no slot; ranges never meet */

static struct {
    uint64_t charged_bytes; /* at most sim_knobs->device_bytes */
    uint64_t held_bytes;
} usage[SIM_DEVICE_LIMIT];

static unsigned long long block_count;

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

static void *pointer(const struct sim_block *block)
{
    return (void *)(uintptr_t)block->address;
}

static void poison(const struct sim_block *block, int value)
{
    if (sim_knobs->poison && block->memory != SIM_REGISTERED)
        memset(pointer(block), value, block->bytes);
}

static bool on_device(enum sim_memory memory)
{
    return memory == SIM_DEVICE || memory == SIM_MANAGED;
}

/* The bytes that a request takes from its device; false when it has not so many left. */
static bool price(const struct sim_block_request *request, uint64_t *charged_bytes)
{
    *charged_bytes = 0;
    if (!on_device(request->memory) || request->chunk != NULL)
        return true;
    return policy_checked_align_up(request->bytes, SIM_BLOCK_UNIT_BYTES,
                                   sim_block_free_bytes(request->device), charged_bytes);
}

/* Counts a block that becomes live, and one that ends. */
static void count(const struct sim_block *block)
{
    if (on_device(block->memory)) {
        usage[block->device].charged_bytes += block->charged_bytes;
        usage[block->device].held_bytes += block->bytes;
    } else {
        host_bytes[block->memory] += block->bytes;
    }
}

static void discount(const struct sim_block *block)
{
    if (on_device(block->memory)) {
        usage[block->device].charged_bytes -= block->charged_bytes;
        usage[block->device].held_bytes -= block->retired ? 0 : block->bytes;
    } else {
        host_bytes[block->memory] -= block->bytes;
    }
}

/* A small block shares its pages with others, which stay when it is freed. */
static bool is_small(const struct sim_block_request *request)
{
    uint64_t limit_bytes =
        sim_knobs->unmap_freed ? PAGE_BYTES - 1 : (uint64_t)SIM_SLOT_BYTES_MAX;
    return request->memory != SIM_REGISTERED && request->bytes <= limit_bytes;
}

/* A record of a block that lies alone in its mapping, or is the program's. */
static CUresult create_alone(const struct sim_block_request *request,
                             struct sim_block **block)
{
    bool ours = request->memory != SIM_REGISTERED;
    void *memory = ours ? sim_mappings_claim(request->bytes) : request->address;
    struct sim_block *created = malloc(sizeof *created);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (memory == NULL || created == NULL)
        goto discard;
    *created = (struct sim_block){.address = (uintptr_t)memory, .bytes = request->bytes};
    /* What lies in slots is not in the tree. */
    struct sim_block **entered =
        sim_block_find(created->address) != NULL ||
                sim_block_find(created->address + created->bytes - 1) != NULL
            ? NULL
            : tsearch(created, &alone, by_range);
    if (entered == NULL || *entered != created) {
        result = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        goto discard;
    }
    *block = created;
    return CUDA_SUCCESS;

discard:
    free(created);
    if (ours && memory != NULL)
        sim_mappings_return(memory, request->bytes);
    return result;
}

static CUresult create_small(const struct sim_block_request *request,
                             struct sim_block **block)
{
    *block = sim_slots_claim(request->bytes, request->memory == SIM_PINNED);
    return *block != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_block_create(const struct sim_block_request *request,
                          struct sim_block **block)
{
    uint64_t charged_bytes;
    struct sim_block *created;
    if (!price(request, &charged_bytes) &&
        !(sim_pool_reclaim(request->device) && price(request, &charged_bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = is_small(request) ? create_small(request, &created)
                                        : create_alone(request, &created);
    if (result != CUDA_SUCCESS)
        return result;
    *created = (struct sim_block){
        .address = created->address,
        .bytes = request->bytes,
        .charged_bytes = charged_bytes,
        .memory = request->memory,
        .slot_class = created->slot_class,
        .flags = request->flags,
        .device = request->device,
        .owner = request->owner,
        .chunk = request->chunk,
        .id = ++block_count,
    };
    if (created->owner != NULL)
        LIST_INSERT_HEAD(&created->owner->blocks, created, siblings);
    count(created);
    poison(created, FRESH_POISON);
    *block = created;
    return CUDA_SUCCESS;
}

void sim_block_destroy(struct sim_block *block)
{
    if (block->owner != NULL)
        LIST_REMOVE(block, siblings);
    discount(block);
    poison(block, FREED_POISON);
    if (block->chunk != NULL)
        sim_pool_forget(block);
    if (block->slot_class != 0) {
        sim_slots_return(block);
        return;
    }
    tdelete(block, &alone, by_range);
    if (block->memory != SIM_REGISTERED)
        sim_mappings_return(pointer(block), block->bytes);
    free(block);
}

void sim_block_retire(struct sim_block *block, const struct sim_queue *queue)
{
    usage[block->device].held_bytes -= block->bytes;
    block->retired = true;
    block->retired_in = queue;
}

void sim_block_revive(struct sim_block *block, uint64_t bytes)
{
    block->bytes = bytes;
    block->id = ++block_count;
    block->retired = false;
    usage[block->device].held_bytes += bytes;
}

struct sim_block *sim_block_find(uint64_t address)
{
    struct sim_block *block = sim_slots_find(address);
    if (block != NULL)
        return block;
    struct sim_block key = {.address = address, .bytes = 1};
    struct sim_block *const *found = tfind(&key, &alone, by_range);
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

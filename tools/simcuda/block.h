/* Live memory: every range that a program holds from the simulator, found by any address
   within it in logarithmic time, and how much of each device that is. */
#ifndef SIMCUDA_BLOCK_H
#define SIMCUDA_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/driver_abi.h"

struct sim_chunk;
struct sim_queue;

enum { SIM_BLOCK_UNIT_BYTES = 512 }; /* alignment of a block, and what it is charged in */

enum sim_memory {
    SIM_DEVICE,     /* takes memory of a device */
    SIM_MANAGED,    /* as well: simulated as if it were always on the device */
    SIM_PINNED,     /* host memory of ours */
    SIM_REGISTERED, /* host memory of the program's */
    SIM_MEMORY_COUNT
};

struct sim_block {
    uint64_t address;
    uint64_t bytes;         /* as asked for; no access goes past it */
    uint64_t charged_bytes; /* taken from the device; 0 for host memory */
    enum sim_memory memory;
    unsigned slot_class;                /* of the slot it lies in; 0: it lies alone */
    bool retired;                       /* freed in a stream that has not come to it */
    const struct sim_queue *retired_in; /* that stream's queue */
    struct sim_chunk *chunk;            /* of a pool; NULL: memory of its own */
    unsigned open_count;                /* by handles that were exported */
    unsigned flags;                     /* of the call that made it */
    CUdevice device;
    CUcontext owner; /* with whose end it ends; NULL for stream-ordered memory */
    unsigned long long id;
    unsigned sync_memops;
    LIST_ENTRY(sim_block) siblings; /* among the owner's blocks */
};

/* What a new block is to be. `address` is the program's for SIM_REGISTERED, else unused. */
struct sim_block_request {
    enum sim_memory memory;
    void *address;
    uint64_t bytes; /* above 0 */
    unsigned flags;
    CUdevice device;
    CUcontext owner;
    struct sim_chunk *chunk;
};

/* CUDA_ERROR_OUT_OF_MEMORY past the device's memory or the host's;
   CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED when the range meets a live one. */
CUresult sim_block_create(const struct sim_block_request *request,
                          struct sim_block **block);

void sim_block_destroy(struct sim_block *block);

/* The program holds the block no more, though it is still there, and again, as a new block
   of so many bytes at the same place. */
void sim_block_retire(struct sim_block *block, const struct sim_queue *queue);
void sim_block_revive(struct sim_block *block, uint64_t bytes);

/* The block that holds `address`, or NULL. */
struct sim_block *sim_block_find(uint64_t address);

/* Whether one block holds all of [address, address + bytes); true for no bytes at all. */
bool sim_block_covers(uint64_t address, uint64_t bytes);

/* Of one device: what is left of it, what programs asked for and hold, and what is gone. */
uint64_t sim_block_free_bytes(CUdevice device);
uint64_t sim_block_held_bytes(CUdevice device);
uint64_t sim_block_taken_bytes(CUdevice device);

/* Takes memory of a device without a block, and gives it back; false when there is not so
   much left. */
bool sim_block_take(CUdevice device, uint64_t bytes);
void sim_block_give(CUdevice device, uint64_t bytes);

/* Of SIM_PINNED or SIM_REGISTERED: what programs asked for and hold. */
uint64_t sim_block_host_bytes(enum sim_memory memory);

#endif

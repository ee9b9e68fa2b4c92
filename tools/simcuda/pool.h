/* Pools of stream-ordered memory. A pool takes memory of its device in chunks of 32 MiB (less
   where the device or the pool's limit has not so much left, more for a larger request)
   and gives a chunk back when nothing lies in it: at the next synchronisation as far as
   the pool holds more than its release threshold, when it is trimmed, and before any other
   request for the device's memory is refused. */
#ifndef SIMCUDA_POOL_H
#define SIMCUDA_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/simcuda/block.h"
#include "tools/simcuda/object.h"

struct sim_queue;
struct sim_chunk;

/* The counters are of the attributes of their names. */
struct CUmemPoolHandle_st {
    struct sim_object object;
    LIST_ENTRY(CUmemPoolHandle_st)
    all; /* among all, destroyed ones with memory out too */
    CUdevice device;
    LIST_HEAD(, sim_chunk) chunks;
    LIST_HEAD(, sim_block) retired; /* freed in a stream that has not come to it */
    uint64_t limit_bytes;           /* of reserved_bytes; UINT64_MAX: none */
    uint64_t reserved_bytes;
    uint64_t reserved_high_bytes;
    uint64_t used_bytes;
    uint64_t used_high_bytes;
    uint64_t release_threshold_bytes;
    int reuse[3]; /* kept and given back, no more */
    bool is_default;
    bool destroyed; /* a handle no more, but memory of it is out */
};

/* The device's own pool, and the one that cuMemAllocAsync uses; NULL when memory is out. */
CUmemoryPool sim_pool_default(CUdevice device);
CUmemoryPool sim_pool_current(CUdevice device);
void sim_pool_set_current(CUdevice device, CUmemoryPool pool);

CUmemoryPool sim_pool_create(CUdevice device, uint64_t limit_bytes);
bool sim_pool_is(CUmemoryPool pool);

/* Ends the handle; memory that is out stays. */
void sim_pool_destroy(CUmemoryPool pool);

/* Memory for work that `queue` gets from now on: memory that was freed in it may be had
   again at once. */
CUresult sim_pool_allocate(CUmemoryPool pool, uint64_t bytes,
                           const struct sim_queue *queue, struct sim_block **block);

/* The program has freed the block, of a pool or not, in `queue`, which will destroy it. */
void sim_pool_retire(struct sim_block *block, const struct sim_queue *queue);

/* For a block of a pool that ends. */
void sim_pool_forget(struct sim_block *block);

/* The pool of a block; NULL for memory of another kind. */
CUmemoryPool sim_pool_of(const struct sim_block *block);

/* Gives idle chunks back while the pool holds more than so much, and no less after. */
void sim_pool_trim(CUmemoryPool pool, uint64_t kept_bytes);

/* What a synchronisation does to the pools of a device. */
void sim_pool_synchronized(CUdevice device);

/* Gives back all chunks of the device that are idle; false when there was none. */
bool sim_pool_reclaim(CUdevice device);

/* Of a device. */
uint64_t sim_pool_reserved_bytes(CUdevice device);

#endif

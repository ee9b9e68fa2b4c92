/* The records of whole driver allocations that may be retained: one from the driver's
   allocation to its free, however often the block is handed out between. Never calls a
   driver; memory of its own comes from a source.

   take and give run in any number of threads at once; a record belongs to one thread at a
   time, or waits in a bin. */
#ifndef POOL_DEVICE_BLOCKS_H
#define POOL_DEVICE_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/lock.h"
#include "pool/record.h"
#include "pool/source.h"

enum {
    POOL_DEVICE_BLOCKS_MOST = 1 << 18, /* further allocations are never retained */
    POOL_DEVICE_BLOCKS_STEP = 1 << 10, /* records become writable so many at a time */
};

/* Atomic only so that a report may read them, and a thread that lost a race. */
struct pool_device_block {
    _Alignas(64) _Atomic uint64_t address; /* as the driver gave it */
    _Atomic uint64_t bytes;                /* capacity: what the driver was asked for */
    _Atomic uint64_t requested;            /* LIVE: what the program asked for */
    _Atomic uint64_t stamp;                /* IDLE: of its free */
    _Atomic uint64_t key;                  /* which requests it may serve */
    _Atomic uint16_t domain;               /* where it waits for them */
    _Atomic uint16_t account;              /* where its bytes count */
    _Atomic uint32_t exposed; /* not ours alone: it is not kept or handed out */
};

struct pool_device_blocks {
    const struct pool_source *source;
    struct pool_record *records; /* `next` and `state` of each block, in step with it */
    struct pool_device_block *blocks;
    struct pool_lock lock; /* guards the rest */
    uint32_t free;         /* first record given back; 0: none */
    _Atomic uint32_t
        top; /* records below were taken once; 0 is none. Written under lock */
    uint32_t enabled;
};

/* False when the source has no room: then no record is ever to be had. */
bool pool_device_blocks_open(struct pool_device_blocks *blocks,
                             const struct pool_source *source);

/* A record, POOL_LIVE; 0: none. */
uint32_t pool_device_blocks_take(struct pool_device_blocks *blocks);

/* Gives a record back that nobody else knows. */
void pool_device_blocks_give(struct pool_device_blocks *blocks, uint32_t index);

/* How many records there may be, 0 included. */
static inline uint32_t pool_device_blocks_top(const struct pool_device_blocks *blocks)
{
    return atomic_load_explicit(&blocks->top, memory_order_acquire); /* A */
}

#endif

/* The out-of-line record of one block: nothing of ours lies beside user data. A record is
   written by whoever owns the block; its fields are atomic only so that a report may read
   them while the program runs. */
#ifndef POOL_RECORD_H
#define POOL_RECORD_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    POOL_PAGE_SHIFT =
        12, /* jemalloc's archive is built for 4 KiB pages; checked at start */
    POOL_GRANULE_SHIFT = 16,
    POOL_INDEX_BITS = 20, /* of a record, as far as a bin's head word can name one */
};

enum pool_state {
    POOL_UNBORN, /* address space that never held a block, or the inside of one */
    POOL_LIVE,   /* handed out */
    POOL_IDLE,   /* waits in a bin */
    POOL_WIPED,  /* free, and marked to be wiped in a child, while a fork is under way */
    POOL_CLEAN,  /* idle or free, and its pages given back: reads as zero */
    POOL_FREE,   /* waits among the free spans, under the lock */
    POOL_GONE,   /* free, and its address space given back: not ours any more */
};

struct pool_record {
    _Atomic uint32_t
        next; /* IDLE, FREE: index of the next record in its list; 0 ends it */
    _Atomic uint32_t granules; /* capacity of the block in granules */
    _Atomic uint32_t
        pages; /* LIVE: the request in pages; FREE: the previous in its list */
    _Atomic uint16_t state; /* enum pool_state */
    _Atomic uint16_t
        size_class; /* LIVE, IDLE in the packed area: of the bin it returns to */
};

_Static_assert(sizeof(struct pool_record) == 16, "four records to a cache line");

/* What a claim or a return seldom comes to: kept out of the road that it nearly always takes. */
#define POOL_RARE __attribute__((noinline, cold))

#define POOL_RELAXED memory_order_relaxed

/* Relaxed access: the thread that owns a block is the only one that writes its record,
   and ownership passes through a bin's head or the lock, which order everything before
   it. */
#define POOL_GET(record, field) atomic_load_explicit(&(record)->field, POOL_RELAXED)
#define POOL_SET(record, field, value)                                                   \
    atomic_store_explicit(&(record)->field, (value), POOL_RELAXED)

#endif

/* The packed area: blocks up to 32 MiB, side by side in granules of 64 KiB. Idle blocks
   wait in the lock-free bin of their exact class; only when those miss are they drained,
   coalesced, best-fitted and split under the lock, and only when that misses is the area
   extended. It never gives a granule to two blocks and never writes to user memory.

   claim and return run in any number of threads at once. */
#ifndef POOL_SPANS_H
#define POOL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/bins.h"
#include "pool/lock.h"
#include "pool/source.h"

enum {
    POOL_SPAN_CLASSES = 32, /* 1 2 3 4 granules, then four to an octave up to 512 */
    POOL_SPAN_MOST_GRANULES = 512,  /* 32 MiB */
    POOL_SPAN_CLASSES_UP = 4,       /* how many classes above its own a claim looks */
    POOL_SPAN_ENABLE_GRANULES = 64, /* the area becomes writable in pieces of 4 MiB */
    POOL_SPAN_MOST_INDEX = (1 << POOL_INDEX_BITS) - 1,
};

struct pool_span_figures {
    uint64_t popped; /* claims served by an idle block; derived from the bins */
    uint64_t fitted; /* claims served by best fit from free spans */
    uint64_t born;   /* claims that extended the area */
};

struct pool_spans {
    char *base;                  /* address of granule 0, which is never handed out */
    struct pool_record *records; /* one a granule; a block's is its first granule's */
    const struct pool_source *source;
    struct pool_bin bins[POOL_SPAN_CLASSES];

    struct pool_lock lock;                  /* guards everything below */
    uint32_t free_lists[POOL_SPAN_CLASSES]; /* by the largest class that fits inside */
    _Atomic uint32_t top; /* first granule that was never in a block; read by anybody */
    uint32_t enabled;     /* first granule that is not writable */
    uint32_t limit;       /* granules of the area */
    struct pool_span_figures figures;
};

/* Takes over `granules` granules of reserved address space at `base` and as many zeroed
   records; *spans is zeroed too. */
void pool_spans_open(struct pool_spans *spans, char *base, uint32_t granules,
                     struct pool_record *records, const struct pool_source *source);

/* A block of at least `granules` (1 to POOL_SPAN_MOST_GRANULES), by its index; 0 when the
   area is exhausted or the source refuses. *fresh: never handed out, or trimmed since: it
   reads as zero. */
uint32_t pool_spans_claim(struct pool_spans *spans, uint32_t granules, bool *fresh);

/* Gives a block back that is POOL_LIVE. */
void pool_spans_return(struct pool_spans *spans, uint32_t index);

/* Gives the address space behind the enabled part back: the area grows no further. */
void pool_spans_shed(struct pool_spans *spans);

/* Gives the memory of every block that is not live back to the source; the bytes given. */
size_t pool_spans_trim(struct pool_spans *spans);

/* Holds the lock across a fork, and lets it go on both sides. */
void pool_spans_fork_prepare(struct pool_spans *spans);
void pool_spans_fork_done(struct pool_spans *spans);

/* How many granules a claim of `granules` reserves. */
uint32_t pool_span_class_granules(uint32_t granules);

struct pool_span_figures pool_spans_figures(struct pool_spans *spans);

/* Calls `visit` for every block, live, idle or free, in address order, under the lock. */
void pool_spans_walk(struct pool_spans *spans,
                     void (*visit)(void *context, const struct pool_record *record),
                     void *context);

/* Whether blocks tile the area without gap or overlap, and every list is sound. For tests
   and debug builds; nothing else may run meanwhile. */
bool pool_spans_valid(struct pool_spans *spans);

#endif

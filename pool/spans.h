/* The packed area: blocks up to 32 MiB, side by side in granules of 64 KiB, none larger than
   it was asked to be. Idle blocks wait in the lock-free bin of the largest class that they
   can serve; only when the bins miss are they drained, merged, best-fitted and split under
   the lock, and only when that misses is the area extended. It never gives a granule to two
   blocks and never writes to user memory.

             claim  return  trim, age  fork
     claim     -      -        -        X     (- : may run at the same time;
     return    -      -        -        -      X : waits for the lock, at most
     trim      -      -        X        X      POOL_LOCK_WAIT_MS)
*/
#ifndef POOL_SPANS_H
#define POOL_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/bins.h"
#include "pool/free_spans.h"
#include "pool/huge.h"
#include "pool/lock.h"
#include "pool/source.h"

enum {
    POOL_SPAN_ENABLE_GRANULES = 64, /* the area becomes writable in pieces of 4 MiB */
    POOL_SPAN_HUGE_GRANULES =
        32,                    /* a huge page, and how much of the area stays without */
    POOL_SPAN_LIMIT_SHIFT = 9, /* 512 granules, 32 MiB */
    POOL_SPAN_FORK_GRANULES = 16,   /* a shorter span is not worth a mark around a fork */
    POOL_SPAN_STEP_GRANULES = 4096, /* 256 MiB: what goes back before others are let in */
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
    enum pool_huge huge;
    _Atomic bool
        dense; /* the process stages in earnest: huge pages from the first block on */
    struct pool_bin bins[POOL_SPAN_CLASSES];
    _Atomic uint64_t put_back; /* idle blocks taken that turned out too short */

    struct pool_lock lock; /* guards everything below */
    struct pool_free_spans free;
    _Atomic uint32_t top; /* first granule that was never in a block; read by anybody */
    uint32_t enabled;     /* first granule that is not writable */
    uint32_t limit;       /* granules of the area */
    struct pool_span_figures figures;
};

/* Takes over `granules` granules of reserved address space at `base`, which a huge page may
   begin at, and as many zeroed records; *spans is zeroed too. */
void pool_spans_open(struct pool_spans *spans, char *base, uint32_t granules,
                     struct pool_record *records, const struct pool_source *source);

/* A block of at least `granules` (1 to POOL_SPAN_MOST_GRANULES), by its index; 0 when the
   area is exhausted or the source refuses. *fresh: never handed out, or given back to the
   source since: it reads as zero. *due: it is time to look at the clock. */
uint32_t pool_spans_claim(struct pool_spans *spans, uint32_t granules, bool *fresh,
                          bool *due);

/* Gives a block back; false when no live block begins at this index below the area's granules,
   and nothing has changed. *due: it is time to hold what is idle against its limit, about once
   for each 2^POOL_SPAN_LIMIT_SHIFT granules of this block's class that were claimed and
   returned. */
bool pool_spans_return(struct pool_spans *spans, uint32_t index, bool *due);

/* How often this thread found an area's lock taken when it came to claim; packed.c starts it
   again. */
extern _Thread_local uint32_t pool_spans_waits __attribute__((tls_model("initial-exec")));

/* Whether there is address space for a block of so many granules behind what was born. True with
   the lock lost. */
bool pool_spans_has_room(struct pool_spans *spans, uint32_t granules);

/* Gives the address space behind the enabled part back: the area grows no further. */
void pool_spans_shed(struct pool_spans *spans);

/* Gives everything back that is not live, address space and all, and serves nothing new: what
   comes back later waits for the next call. The bytes of memory. */
size_t pool_spans_close(struct pool_spans *spans);

/* Gives the memory of every block that is not live back to the source; the bytes given. */
size_t pool_spans_trim(struct pool_spans *spans);

/* The same for what nobody needed since the last call. */
size_t pool_spans_age(struct pool_spans *spans);

/* Bytes of blocks that are not live and may hold memory; an estimate while others run. */
size_t pool_spans_idle_bytes(const struct pool_spans *spans);

/* Around a fork: holds the lock, and spares the child the idle memory. */
void pool_spans_fork_prepare(struct pool_spans *spans);
void pool_spans_fork_done(struct pool_spans *spans, bool in_child);

struct pool_span_figures pool_spans_figures(struct pool_spans *spans);

/* Calls `visit` for every block, live, idle or free, in address order, under the lock. */
void pool_spans_walk(struct pool_spans *spans,
                     void (*visit)(void *context, const struct pool_record *record),
                     void *context);

/* Whether blocks tile the area without gap or overlap, and every list is sound. For tests
   and debug builds; nothing else may run meanwhile. */
bool pool_spans_valid(struct pool_spans *spans);

/* Moves every idle block to the free spans. Under the lock; for spans.c and spans_keep.c. */
void pool_spans_drain(struct pool_spans *spans);

#endif

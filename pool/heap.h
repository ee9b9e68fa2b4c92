/* Retained heap blocks: host staging memory that stays in the process when the program
   frees it, and is handed out again by compare-exchange. Blocks up to 32 MiB come from
   a packed area, larger ones and blocks that grow from rows of strides. The heap never
   calls libc's malloc and never fails loudly: NULL means that somebody else must serve.

             claim  return  grow  read
     claim     -      -      -     -     (- : may run at the same time; one block belongs
     return    -      -      -     -      to one caller at a time)
     grow      -      -      -     - */
#ifndef POOL_HEAP_H
#define POOL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/packed.h"
#include "pool/rows.h"
#include "pool/source.h"

/* How long and how much is kept. */
struct pool_heap_tuning {
    uint64_t
        decay_ms; /* a window: what nobody needed for so long goes back; UINT64_MAX: never */
    enum pool_huge huge;
    /* Most idle bytes; asked when there is something to give back, not before. NULL: no limit. */
    uint64_t (*retain_bytes)(void);
};

struct pool_heap {
    char *base;   /* the reservation: packed areas first, then the rows */
    size_t bytes; /* its size; 0: nothing is retained */
    char *rows_base;
    struct pool_packed packed;
    struct pool_rows rows;
    struct pool_heap_tuning tuning;
    _Atomic size_t most_bytes;         /* the largest request served; 0: closed */
    _Atomic uint64_t aged_ms;          /* when the current window began */
    _Atomic uint64_t spilled;          /* requests that were not served */
    _Atomic uint64_t returned_bytes;   /* capacity given back by age or by the limit */
    _Atomic uint64_t high_water_bytes; /* most held before a trim */
};

/* What the heap has done and holds. Bytes are capacity, the unit of blocks. */
struct pool_heap_figures {
    uint64_t claims;           /* requests served */
    uint64_t reused;           /* of these, by memory that was retained */
    uint64_t born;             /* of these, by memory that was new */
    uint64_t spilled;          /* requests not served */
    uint64_t live_bytes;       /* handed out */
    uint64_t idle_bytes;       /* retained */
    uint64_t returned_bytes;   /* given back to the source, by age, limit or request */
    uint64_t blocks;           /* how many hold these bytes */
    uint64_t high_water_bytes; /* most held at once, live and idle */
};

/* What a pointer into the reservation is. */
enum pool_heap_place {
    POOL_PLACE_LIVE,     /* the start of a block that is handed out */
    POOL_PLACE_RETURNED, /* memory that was given back */
    POOL_PLACE_INSIDE,   /* no block starts there, or it was merged with its neighbours */
};

/* Reserves address space and opens the heap, which is zeroed, at the largest scale that
   the source has room for. False when it has none: then nothing is ever ours. */
bool pool_heap_open(struct pool_heap *heap, const struct pool_source *source);

/* Once, after pool_heap_open and before the first claim. Without it nothing ages. */
void pool_heap_tune(struct pool_heap *heap, const struct pool_heap_tuning *tuning);

/* Whether the address lies where a block was ever born; in a closed heap, whether a live block
   begins there. Elsewhere in the reservation another mapping may have come to lie, once
   address space was given back. */
bool pool_heap_owns(const struct pool_heap *heap, const void *address);

/* A block of at least `bytes` > 0, aligned to 64 KiB; NULL when the heap cannot serve
   (counted as spilled). *fresh: the memory reads as zero. */
void *pool_heap_claim(struct pool_heap *heap, size_t bytes, bool *fresh);

/* Gives a block back. Any address will do: false, and nothing changed, when no live block starts
   there. */
bool pool_heap_return(struct pool_heap *heap, void *address);

/* The page-rounded request of a live block. */
size_t pool_heap_usable(const struct pool_heap *heap, const void *address);

/* Changes what a live block was asked for, in place; false when it has not the room. */
bool pool_heap_resize(struct pool_heap *heap, void *address, size_t bytes);

/* A block for contents that outgrew theirs: from the rows, where it can go on growing in
   place, else as pool_heap_claim. */
void *pool_heap_claim_growing(struct pool_heap *heap, size_t bytes);

/* Moves a live block's contents to such a block of at least `bytes`, more than it has, and gives
   the old one back; NULL, and nothing changed, when the heap cannot serve. */
void *pool_heap_grow(struct pool_heap *heap, void *block, size_t bytes);

enum pool_heap_place pool_heap_place(const struct pool_heap *heap, const void *address);

/* Gives the address space back in which no block was born yet, for good. */
void pool_heap_shed(struct pool_heap *heap);

/* Ends retention for good: nothing more is served, and all that is idle, and every block that
   is still returned, gives its address space back. */
void pool_heap_close(struct pool_heap *heap);

/* Gives all memory back that is idle; how many bytes that was. */
size_t pool_heap_trim(struct pool_heap *heap);

/* Takes stock: walks all blocks under the locks. What a lost lock guards is counted as 0. */
struct pool_heap_figures pool_heap_read(struct pool_heap *heap);

/* Around a fork: no other thread is between two states of a lock while the copy is made. */
void pool_heap_fork_prepare(struct pool_heap *heap);
void pool_heap_fork_done(struct pool_heap *heap, bool in_child);

/* For heap.c and heap_keep.c: */

/* Gives back what nobody needed for a window, when one has ended. */
void pool_heap_look_at_clock(struct pool_heap *heap);

/* Gives everything back that is idle, when that is more than the limit. */
void pool_heap_keep_limit(struct pool_heap *heap);

/* In a closed heap: gives back what has come back. A block that another thread returns
   meanwhile waits for the next that is returned. */
void pool_heap_close_idle(struct pool_heap *heap);

#endif

/* Lock-free bins of idle blocks: a claim is one compare-exchange pop, a return one push.
   A bin never owns memory and never waits; a caller that loses too often is told so.

            push  pop  drain  read
     push    -     -     -     -     (- : may run at the same time)
     pop     -     -     -     -
     drain   -     -     X     X     (X : one at a time, the caller holds a lock)
     read    -     -     X     - */
#ifndef POOL_BINS_H
#define POOL_BINS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/record.h"

enum {
    POOL_BIN_COUNT_BITS = 12,
    POOL_BIN_TAG_SHIFT = POOL_INDEX_BITS + POOL_BIN_COUNT_BITS,
    POOL_BIN_MOST = (1 << POOL_BIN_COUNT_BITS) - 1, /* idle blocks of a bin */
    POOL_BIN_LOOK_SHIFT = 4, /* one change in 16 is followed by a look at the clock */
    POOL_BIN_TRIES = 64, /* lost races before a caller takes the road under the lock */
};

/* The head word: index of the first idle record (20 bits, 0: none), how many are idle
   (12 bits), and a tag (32 bits) that every change moves on, so that a head that looks
   the same is the same. The tag also counts: pushes + pops + drained. */
struct pool_bin {
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint32_t low; /* fewest idle since it was last reset: nobody needed those */
    _Atomic uint32_t
        laps;         /* how often the tag's upper half was entered: 2^32 steps each */
    uint64_t drained; /* blocks that left by drain; under the caller's lock */
};

/* Takes an idle block; 0 when there is none or the race was lost POOL_BIN_TRIES times. *head:
   the head word as this change left it, for pool_bin_is_due(); not written when there is none. */
uint32_t pool_bin_pop_head(struct pool_bin *bin, struct pool_record *records,
                           uint64_t *head);

static inline uint32_t pool_bin_pop(struct pool_bin *bin, struct pool_record *records)
{
    uint64_t head;
    return pool_bin_pop_head(bin, records, &head);
}

/* The first idle block that a head word names; 0: none. */
static inline uint32_t pool_bin_first(uint64_t head)
{
    return (uint32_t)head & ((UINT32_C(1) << POOL_INDEX_BITS) - 1);
}

/* The block that the next pop would take, if nobody came before: a hint, so relaxed. 0: none. */
static inline uint32_t pool_bin_peek(const struct pool_bin *bin)
{
    return pool_bin_first(atomic_load_explicit(&bin->head, memory_order_relaxed));
}

/* Makes `index` idle; *head as above. False, and nothing changed, when the bin is full, the race
   was lost POOL_BIN_TRIES times, or the block waits there on top already, which a second owner
   must have put there: *head is then the head word that stood in the way. */
bool pool_bin_push_head(struct pool_bin *bin, struct pool_record *records, uint32_t index,
                        uint64_t *head);

static inline bool pool_bin_push(struct pool_bin *bin, struct pool_record *records,
                                 uint32_t index)
{
    uint64_t head;
    return pool_bin_push_head(bin, records, index, &head);
}

/* Takes all idle blocks at once: the first index, the rest follow through `next`. 0 when
   there is none or the race was lost POOL_BIN_TRIES times. */
uint32_t pool_bin_drain(struct pool_bin *bin);

/* Whether it is time to look: true after one change in 2^shift (shift < 32). Which ones is
   scattered by the golden ratio: a caller that asks after its pops meets a rhythm of changes,
   two blocks out and two back, and would never meet every sixteenth. */
static inline bool pool_bin_is_due(uint64_t head, unsigned shift)
{
    uint32_t scattered =
        (uint32_t)(head >> POOL_BIN_TAG_SHIFT) * UINT32_C(0x9e3779b1); /* 2^32 / 1.618 */
    return (uint64_t)scattered >> (32 - shift) == 0;
}

/* Whether it is time to look at the clock, by the head as it is now: a figure, so relaxed. */
static inline bool pool_bin_due(const struct pool_bin *bin)
{
    return pool_bin_is_due(atomic_load_explicit(&bin->head, memory_order_relaxed),
                           POOL_BIN_LOOK_SHIFT);
}

/* How many blocks nobody needed since the last call; starts the next window. The caller holds
   a lock. */
uint32_t pool_bin_unneeded(struct pool_bin *bin);

/* How many blocks are idle; may run at any time. A figure of the head, so relaxed. */
static inline uint32_t pool_bin_idle(const struct pool_bin *bin)
{
    uint64_t head = atomic_load_explicit(&bin->head, memory_order_relaxed);
    return (uint32_t)(head >> POOL_INDEX_BITS) & POOL_BIN_MOST;
}

/* How many blocks were ever taken by pop. */
uint64_t pool_bin_popped(const struct pool_bin *bin);

#endif

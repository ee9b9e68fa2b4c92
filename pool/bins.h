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
    POOL_BIN_MOST = (1 << POOL_BIN_COUNT_BITS) - 1, /* idle blocks of a bin */
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

/* Takes an idle block; 0 when there is none or the race was lost POOL_BIN_TRIES times. */
uint32_t pool_bin_pop(struct pool_bin *bin, struct pool_record *records);

/* Makes `index` idle. False when the bin is full or the race was lost POOL_BIN_TRIES
   times: the caller still owns the block. */
bool pool_bin_push(struct pool_bin *bin, struct pool_record *records, uint32_t index);

/* Takes all idle blocks at once: the first index, the rest follow through `next`. 0 when
   there is none or the race was lost POOL_BIN_TRIES times. */
uint32_t pool_bin_drain(struct pool_bin *bin);

/* How many blocks are idle; may run at any time. */
uint32_t pool_bin_idle(const struct pool_bin *bin);

/* How many blocks were ever taken by pop. */
uint64_t pool_bin_popped(const struct pool_bin *bin);

#endif

/* The idle blocks of one size class: those that were freed and those that are known to be
   ready. A claim takes what fits and is ready, by compare-exchange; only what became ready
   beneath blocks that are not is sorted out under a lock, once for each synchronisation.

             claim  return  take  count
     claim     -      -      -      -    (- : may run at the same time)
     return    -      -      -      -
     take      -      -      X      -    (X : one at a time, the caller holds the lock) */
#ifndef POOL_DEVICE_BINS_H
#define POOL_DEVICE_BINS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/bins.h"
#include "pool/device_blocks.h"
#include "pool/lock.h"

enum {
    POOL_DEVICE_LOOK = 8, /* blocks that one claim looks at, for one that fits */
    /* A bin takes no more, so that what a claim took and cannot use finds room again: with
       up to 64 threads at once without a wait. */
    POOL_DEVICE_BIN_MOST = POOL_BIN_MOST - 64 * POOL_DEVICE_LOOK,
};

struct pool_device_bin {
    struct pool_bin fresh; /* as they were freed: when one is ready, so are those below */
    struct pool_bin ready;
    _Atomic uint64_t sifted;   /* what had ended when `fresh` was last gone through */
    _Atomic uint64_t unserved; /* pops that served no claim */
    _Atomic bool sifting;
};

/* A block of at least `bytes` and not much more, whose stamp is below `ended`; 0: none. Then
   *unready is the stamp of an idle block that is not ready, if there is one. `lock` is that
   of the bin's owner, and not held. */
uint32_t pool_device_bin_claim(struct pool_device_bin *bin,
                               const struct pool_device_blocks *blocks,
                               struct pool_lock *lock, uint64_t bytes, uint64_t ended,
                               uint64_t *unready);

/* Makes a stamped block idle; *due says whether it is time to look at the clock. False when the
   bin is full, or the race is lost: the caller still owns it. */
bool pool_device_bin_return(struct pool_device_bin *bin,
                            const struct pool_device_blocks *blocks, uint32_t block,
                            bool *due);

/* Moves what is ready to where claims find it. The caller holds the lock. */
void pool_device_bin_sift(struct pool_device_bin *bin,
                          const struct pool_device_blocks *blocks, uint64_t ended);

/* Takes a block that is to go: a small one, ready if there is one. 0: none. The caller holds
   the lock. */
uint32_t pool_device_bin_take(struct pool_device_bin *bin,
                              const struct pool_device_blocks *blocks);

static inline uint32_t pool_device_bin_idle(const struct pool_device_bin *bin)
{
    return pool_bin_idle(&bin->fresh) + pool_bin_idle(&bin->ready);
}

/* How many claims were served. */
uint64_t pool_device_bin_served(const struct pool_device_bin *bin);

#endif

/* One block of memory that a slot keeps from bind to bind. It grows by a new block, made before
   the old one goes, so a failure leaves the old one as it was; it never shrinks. What it
   holds is not initialised unless that is asked for. For one thread at a time. */
#ifndef POOL_RETAINED_H
#define POOL_RETAINED_H

#include <stdbool.h>

#include "pool/bind_memory.h"

enum {
    POOL_RETAINED_STEPS = 8
}; /* of an octave: capacity is rounded up by at most 1/8 */

struct pool_retained_piece {
    uint64_t address; /* as the source gave it, which is what it takes back; 0: none */
    size_t bytes;     /* its capacity, which is charged */
};

/* Zeroed: it holds nothing. */
struct pool_retained {
    struct pool_retained_piece now;
    struct pool_retained_piece
        held;      /* an older one, which the source would not take back */
    uint64_t base; /* in `now`: as aligned as was last asked for */
};

struct pool_retained_need {
    size_t bytes;      /* above 0 */
    size_t align;      /* a power of two, whatever the source aligns to */
    size_t kept_bytes; /* of contents from the base on, carried over; host memory only */
    bool is_cleared;   /* whether a new block is zeroed, all of it */
};

/* The capacity of a block for a request of so many bytes, of which there are at least 1. */
size_t pool_retained_capacity(size_t bytes);

/* Makes sure of `need`; the base is where it begins. TOO_LARGE, OVER_BUDGET or the source's
   refusal: the block is as it was. DEVICE_REFUSED also while an older block is held: at most
   one is, so growth that cannot give back stops at two. */
POLICY_MUST_CHECK enum tidemark_result
pool_retained_acquire(struct pool_retained *block, struct pool_bind_memory *memory,
                      const struct pool_retained_need *need);

/* What there is from the base on; 0 when there is no block. */
size_t pool_retained_room(const struct pool_retained *block);

/* Gives everything back; again, it does nothing. The first refusal, if any, of both pieces:
   what was refused is forgotten, and stays charged. */
enum tidemark_result pool_retained_release(struct pool_retained *block,
                                           struct pool_bind_memory *memory);

/* Forgets everything without a call. What it held is no longer charged. */
void pool_retained_abandon(struct pool_retained *block, struct pool_bind_memory *memory);

#endif

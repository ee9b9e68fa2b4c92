/* Objects that found no room in the arena: each has host memory of its own until its bind ends.

             push  walk  end
     push     -     X     X      (- : may run at the same time, in any number of threads)
     walk     X     -     X */
#ifndef POOL_SPILL_H
#define POOL_SPILL_H

#include "pool/bind_memory.h"

struct pool_spill {
    struct pool_spill *next;
    char *piece; /* aligned as the pieces of the arena are */
    size_t piece_bytes;
    size_t offset;      /* of the piece in the block; written at the upload */
    uint64_t address;   /* as the source gave it */
    size_t taken_bytes; /* from the source */
};

struct pool_spills {
    struct pool_spill *_Atomic first; /* the last one pushed */
};

void pool_spills_open(struct pool_spills *spills);

/* Memory for one more piece. TOO_LARGE, OVER_BUDGET or the source's refusal. */
POLICY_MUST_CHECK enum tidemark_result pool_spill_push(struct pool_spills *spills,
                                                       struct pool_bind_memory *memory,
                                                       size_t piece_bytes, size_t align,
                                                       struct pool_spill **spill);

/* The last one pushed; the rest follow through `next`. */
struct pool_spill *pool_spills_first(const struct pool_spills *spills);

/* Gives all of it back. */
void pool_spills_end(struct pool_spills *spills, struct pool_bind_memory *memory);

#endif

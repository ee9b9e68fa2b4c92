/* The claim arena: pieces from the front of one block, taken by compare-exchange. A claim that
   does not fit fails without moving the cursor, so a smaller one may still fit; there is no
   return. It gives offsets, so the block may move once nobody claims any more, and it never
   touches the block itself.

             open  claim  used
     open      X     X     X      (- : may run at the same time, in any number of threads)
     claim     X     -     -
     used      X     -     - */
#ifndef POOL_ARENA_H
#define POOL_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/checked.h"

/* What pieces of an arena are like. A piece is a prefix, an image, and room up to the next
   multiple of `align`. */
struct pool_arena_shape {
    size_t prefix_bytes;
    size_t align; /* a power of two */
};

struct pool_arena {
    _Alignas(64) _Atomic size_t used_bytes; /* the cursor; never above the capacity */
    size_t capacity_bytes;
    size_t added_bytes; /* to an image before the mask: prefix + align - 1 */
    size_t align_mask;
};

/* Starts an arena over a block of `capacity_bytes` at `block`. Without a block, or with a shape
   that cannot be, it refuses every claim. */
void pool_arena_open(struct pool_arena *arena, const void *block, size_t capacity_bytes,
                     struct pool_arena_shape shape);

/* What a piece for an image of so many bytes takes; false when it cannot be represented, or the
   shape cannot be. */
POLICY_MUST_CHECK bool pool_arena_piece(struct pool_arena_shape shape, size_t image_bytes,
                                        size_t *piece_bytes);

/* Takes a piece; *offset is where its prefix begins. False, and nothing changed, when there is
   not the room. */
POLICY_MUST_CHECK bool pool_arena_claim(struct pool_arena *arena, size_t image_bytes,
                                        size_t *offset);

/* The sum of all pieces taken: they lie in [0, used) without a gap. */
size_t pool_arena_used(const struct pool_arena *arena);

#endif

#include "pool/arena.h"

#include <assert.h>
#include <stdint.h>

/* Memory order
   [A] The cursor hands out disjoint pieces and nothing else: a claim publishes no contents and
       sees none, so relaxed exchanges suffice; coherence of the one location makes pieces
       disjoint. What a thread writes into its piece reaches whoever reads the block by the
       hand-over that says "this thread is done" (a join, a queue), and the same hand-over
       makes its claims visible to pool_arena_used.

   The loop ends: a lost exchange means that another thread's claim succeeded and moved the
   cursor on, at most capacity / align times. */

/* What is added to an image before the mask. */
static bool added_bytes(struct pool_arena_shape shape, uint64_t *added)
{
    return shape.align != 0 && (shape.align & (shape.align - 1)) == 0 &&
           policy_checked_add(shape.prefix_bytes, shape.align - 1, added);
}

void pool_arena_open(struct pool_arena *arena, const void *block, size_t capacity_bytes,
                     struct pool_arena_shape shape)
{
    uint64_t added;
    atomic_store_explicit(&arena->used_bytes, 0, memory_order_relaxed); /* A */
    if (block && added_bytes(shape, &added)) {
        arena->capacity_bytes = capacity_bytes;
        arena->added_bytes = (size_t)added;
        arena->align_mask = ~(shape.align - 1);
    } else {
        /* Added to whatever there may be, it does not fit or cannot be represented. */
        arena->capacity_bytes = 0;
        arena->added_bytes = SIZE_MAX;
        arena->align_mask = SIZE_MAX;
    }
}

bool pool_arena_piece(struct pool_arena_shape shape, size_t image_bytes,
                      size_t *piece_bytes)
{
    uint64_t sum;
    if (!added_bytes(shape, &sum) || !policy_checked_add(image_bytes, sum, &sum))
        return false;
    *piece_bytes = (size_t)sum & ~(shape.align - 1);
    return true;
}

bool pool_arena_claim(struct pool_arena *arena, size_t image_bytes, size_t *offset)
{
    uint64_t sum;
    if (!policy_checked_add(image_bytes, arena->added_bytes, &sum))
        return false;
    size_t piece = (size_t)sum & arena->align_mask;
    size_t used = atomic_load_explicit(&arena->used_bytes, memory_order_relaxed); /* A */
    do {
        assert(used <= arena->capacity_bytes);
        if (piece > arena->capacity_bytes - used)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &arena->used_bytes, &used, used + piece, memory_order_relaxed, /* A */
        memory_order_relaxed));                                        /* A */
    *offset = used;
    return true;
}

size_t pool_arena_used(const struct pool_arena *arena)
{
    return atomic_load_explicit(&arena->used_bytes, memory_order_relaxed); /* A */
}

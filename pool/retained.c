#include "pool/retained.h"

#include <assert.h>
#include <string.h>

size_t pool_retained_capacity(size_t bytes)
{
    uint64_t rounded;
    assert(bytes > 0);
    size_t octave = (size_t)1 << (63 - __builtin_clzll(bytes));
    size_t step = octave >= POOL_RETAINED_STEPS ? octave / POOL_RETAINED_STEPS : 1;
    return policy_checked_align_up(bytes, step, SIZE_MAX, &rounded) ? (size_t)rounded
                                                                    : bytes;
}

/* Where `need` begins in a piece; 0 when it does not fit there. */
static uint64_t base_in(const struct pool_retained_piece *piece,
                        const struct pool_retained_need *need)
{
    uint64_t base, end;
    if (piece->address == 0 || !policy_checked_add(piece->address, piece->bytes, &end) ||
        !policy_checked_align_up(piece->address, need->align, end, &base))
        return 0;
    return need->bytes <= end - base ? base : 0;
}

/* A new piece, of the rounded capacity where that can be had: a request that would fit as it is
   must not fail for the rounding. */
static enum tidemark_result take_piece(struct pool_bind_memory *memory,
                                       const struct pool_retained_need *need,
                                       struct pool_retained_piece *piece)
{
    uint64_t exact;
    if (!policy_checked_add(need->bytes, need->align - 1, &exact))
        return TIDEMARK_TOO_LARGE;
    piece->bytes = pool_retained_capacity((size_t)exact);
    enum tidemark_result result =
        pool_bind_memory_take(memory, piece->bytes, &piece->address);
    if (result == TIDEMARK_DONE || piece->bytes == exact)
        return result;
    piece->bytes = (size_t)exact;
    return pool_bind_memory_take(memory, piece->bytes, &piece->address);
}

static enum tidemark_result give(struct pool_bind_memory *memory,
                                 struct pool_retained_piece piece)
{
    return piece.address ? pool_bind_memory_give(memory, piece.address, piece.bytes)
                         : TIDEMARK_DONE;
}

/* Gives a piece back, or holds it where the source would not have it. */
static enum tidemark_result give_or_hold(struct pool_retained *block,
                                         struct pool_bind_memory *memory,
                                         struct pool_retained_piece piece)
{
    enum tidemark_result result = give(memory, piece);
    block->held =
        result == TIDEMARK_DONE ? (struct pool_retained_piece){.address = 0} : piece;
    return result;
}

static enum tidemark_result grow(struct pool_retained *block,
                                 struct pool_bind_memory *memory,
                                 const struct pool_retained_need *need)
{
    struct pool_retained_piece fresh = {.address = 0};
    enum tidemark_result result = give_or_hold(block, memory, block->held);
    if (result != TIDEMARK_DONE)
        return result;
    result = take_piece(memory, need, &fresh);
    if (result != TIDEMARK_DONE)
        return result;
    uint64_t base = base_in(&fresh, need);
    if (base == 0) /* the source's address and size wrap */
        result = TIDEMARK_DEVICE_REFUSED;
    else if (need->is_cleared)
        result = pool_bind_memory_clear(memory, fresh.address, fresh.bytes);
    if (result != TIDEMARK_DONE) {
        (void)give_or_hold(block, memory, fresh);
        return result;
    }
    if (need->kept_bytes)
        memcpy((void *)(uintptr_t)base, (const void *)(uintptr_t)block->base,
               need->kept_bytes);
    /* The new one serves, whether the old one goes or not. */
    struct pool_retained_piece old = block->now;
    block->now = fresh;
    block->base = base;
    (void)give_or_hold(block, memory, old);
    return TIDEMARK_DONE;
}

enum tidemark_result pool_retained_acquire(struct pool_retained *block,
                                           struct pool_bind_memory *memory,
                                           const struct pool_retained_need *need)
{
    assert(need->bytes > 0 && need->kept_bytes <= need->bytes);
    assert(need->align > 0 && (need->align & (need->align - 1)) == 0);
    uint64_t base = base_in(&block->now, need);
    if (base == 0)
        return grow(block, memory, need);
    /* Contents stay where they are: their owner always asks for one alignment. */
    assert(need->kept_bytes == 0 || base == block->base);
    block->base = base;
    return TIDEMARK_DONE;
}

size_t pool_retained_room(const struct pool_retained *block)
{
    return block->now.address
               ? block->now.bytes - (size_t)(block->base - block->now.address)
               : 0;
}

enum tidemark_result pool_retained_release(struct pool_retained *block,
                                           struct pool_bind_memory *memory)
{
    enum tidemark_result of_now = give(memory, block->now);
    enum tidemark_result of_held = give(memory, block->held);
    *block = (struct pool_retained){.base = 0};
    return of_now != TIDEMARK_DONE ? of_now : of_held;
}

void pool_retained_abandon(struct pool_retained *block, struct pool_bind_memory *memory)
{
    if (block->now.address)
        policy_ledger_refund(&memory->budget->account, block->now.bytes);
    if (block->held.address)
        policy_ledger_refund(&memory->budget->account, block->held.bytes);
    *block = (struct pool_retained){.base = 0};
}

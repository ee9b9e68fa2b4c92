#include "pool/spill.h"

/* Memory order
   [A] The list is only pushed to while there are other threads: nobody follows `next` before
       every pusher is known to be done, and that hand-over publishes nodes and links. A push
       reads the head as a number, so relaxed suffices.

   The loop of a push ends: a lost exchange means that another thread's push succeeded. */

void pool_spills_open(struct pool_spills *spills)
{
    atomic_store_explicit(&spills->first, NULL, memory_order_relaxed); /* A */
}

static void push(struct pool_spills *spills, struct pool_spill *spill)
{
    struct pool_spill *first =
        atomic_load_explicit(&spills->first, memory_order_relaxed); /* A */
    do {
        spill->next = first;
    } while (!atomic_compare_exchange_weak_explicit(&spills->first, &first, spill,
                                                    memory_order_relaxed,   /* A */
                                                    memory_order_relaxed)); /* A */
}

/* The record stands first; the source aligns it at least as malloc does. */
enum tidemark_result pool_spill_push(struct pool_spills *spills,
                                     struct pool_bind_memory *memory, size_t piece_bytes,
                                     size_t align, struct pool_spill **pushed)
{
    uint64_t taken, address;
    if (!policy_checked_add(piece_bytes, sizeof(struct pool_spill), &taken) ||
        !policy_checked_add(taken, align - 1, &taken))
        return TIDEMARK_TOO_LARGE;
    enum tidemark_result result = pool_bind_memory_take(memory, (size_t)taken, &address);
    if (result != TIDEMARK_DONE)
        return result;
    struct pool_spill *spill = (void *)(uintptr_t)address;
    /* Cannot wrap: all of it lies in memory that was taken. */
    uintptr_t piece = (address + sizeof(*spill) + align - 1) & ~((uintptr_t)align - 1);
    *spill = (struct pool_spill){
        .piece = (char *)piece,
        .piece_bytes = piece_bytes,
        .address = address,
        .taken_bytes = (size_t)taken,
    };
    push(spills, spill);
    *pushed = spill;
    return TIDEMARK_DONE;
}

struct pool_spill *pool_spills_first(const struct pool_spills *spills)
{
    return atomic_load_explicit(&spills->first, memory_order_relaxed); /* A */
}

void pool_spills_end(struct pool_spills *spills, struct pool_bind_memory *memory)
{
    struct pool_spill *spill = pool_spills_first(spills);
    pool_spills_open(spills);
    while (spill) {
        struct pool_spill *next = spill->next;
        /* Host memory always goes. */
        (void)pool_bind_memory_give(memory, spill->address, spill->taken_bytes);
        spill = next;
    }
}

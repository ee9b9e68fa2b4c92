#include "pool/bind_memory.h"

/* Memory order
   [A] calls and error are figures that the thread which ends a bind reads; what other threads
       of the bind added reaches it by the hand-over that says they are done. */

void pool_bind_memory_count_call(struct pool_bind_memory *memory)
{
    atomic_fetch_add_explicit(&memory->calls, 1, memory_order_relaxed); /* A */
}

static void keep_error(struct pool_bind_memory *memory, int error)
{
    atomic_store_explicit(&memory->error, error, memory_order_relaxed); /* A */
}

enum tidemark_result pool_bind_memory_take(struct pool_bind_memory *memory, size_t bytes,
                                           uint64_t *address)
{
    struct pool_bind_budget *budget = memory->budget;
    uint64_t taken = 0;
    if (policy_ledger_charge(&budget->account, &budget->ceiling, bytes).kind !=
        POLICY_ADMITTED)
        return TIDEMARK_OVER_BUDGET;
    pool_bind_memory_count_call(memory);
    int error = memory->source->allocate(memory->source->context, bytes, &taken);
    if (error != 0 || taken == 0) {
        keep_error(memory, error);
        policy_ledger_refund(&budget->account, bytes);
        return memory->source->refusal;
    }
    *address = taken;
    return TIDEMARK_DONE;
}

enum tidemark_result pool_bind_memory_give(struct pool_bind_memory *memory,
                                           uint64_t address, size_t bytes)
{
    pool_bind_memory_count_call(memory);
    int error = memory->source->release(memory->source->context, address);
    if (error != 0) {
        keep_error(memory, error);
        return TIDEMARK_DEVICE_REFUSED;
    }
    policy_ledger_refund(&memory->budget->account, bytes);
    return TIDEMARK_DONE;
}

enum tidemark_result pool_bind_memory_clear(struct pool_bind_memory *memory,
                                            uint64_t address, size_t bytes)
{
    if (!memory->source->clear)
        return TIDEMARK_DONE;
    int error = memory->source->clear(memory->source->context, address, bytes);
    if (error == 0)
        return TIDEMARK_DONE;
    keep_error(memory, error);
    return TIDEMARK_DEVICE_REFUSED;
}

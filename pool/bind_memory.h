/* The memory of explicit binds, of one side: the host's or the device's. It comes from a source
   of the caller's and counts against a budget that the slots of a set share.

   take and give may run at the same time in any number of threads. */
#ifndef POOL_BIND_MEMORY_H
#define POOL_BIND_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/checked.h"
#include "policy/ledger.h"
#include "pool/tidemark.h"

/* Each function returns 0 for success, or an error of its own. */
struct pool_bind_source {
    void *context;
    int (*allocate)(void *context, size_t bytes, uint64_t *address);
    int (*release)(void *context, uint64_t address);
    int (*clear)(void *context, uint64_t address, size_t bytes); /* NULL: nothing to do */
    enum tidemark_result refusal; /* what it means when allocate fails */
};

/* What a set holds of one side, and the most it may. */
struct pool_bind_budget {
    struct policy_ledger_account account;
    struct policy_ceiling ceiling;
};

/* One side as one slot uses it. */
struct pool_bind_memory {
    const struct pool_bind_source *source;
    struct pool_bind_budget *budget;
    _Atomic uint64_t calls; /* to allocate and free, since a bind began */
    _Atomic int error;      /* the last that the source gave, since then; 0: none */
};

/* Memory of exactly `bytes`, charged. Otherwise nothing has changed. */
POLICY_MUST_CHECK enum tidemark_result
pool_bind_memory_take(struct pool_bind_memory *memory, size_t bytes, uint64_t *address);

/* Gives it back. DEVICE_REFUSED: the source would not have it; it is still charged. */
enum tidemark_result pool_bind_memory_give(struct pool_bind_memory *memory,
                                           uint64_t address, size_t bytes);

/* Counts a call to the source that was made past these functions: for memory of the caller's,
   which is not charged. */
void pool_bind_memory_count_call(struct pool_bind_memory *memory);

/* Zeroes a part of it. DEVICE_REFUSED. */
POLICY_MUST_CHECK enum tidemark_result
pool_bind_memory_clear(struct pool_bind_memory *memory, uint64_t address, size_t bytes);

#endif

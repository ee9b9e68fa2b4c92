#include "pool/bind_leases.h"

#include <assert.h>

static struct tidemark_lease *array(const struct pool_bind_leases *leases)
{
    return (struct tidemark_lease *)(uintptr_t)leases->block.base;
}

enum tidemark_result pool_bind_leases_reserve(struct pool_bind_leases *leases,
                                              struct pool_bind_memory *memory,
                                              size_t more)
{
    const size_t each = sizeof(struct tidemark_lease);
    uint64_t count, bytes;
    if (!policy_checked_add(leases->count, more, &count) ||
        !policy_checked_multiply(count, each, &bytes))
        return TIDEMARK_TOO_LARGE;
    if (bytes <= pool_retained_room(&leases->block))
        return TIDEMARK_DONE;
    /* Twice as many, since they come one by one. */
    if (count < POOL_BIND_LEASES_FIRST)
        count = POOL_BIND_LEASES_FIRST;
    if (!policy_checked_multiply(count, 2 * each, &bytes))
        return TIDEMARK_TOO_LARGE;
    const struct pool_retained_need need = {
        .bytes = (size_t)bytes,
        .align = _Alignof(struct tidemark_lease),
        .kept_bytes = leases->count * each,
    };
    return pool_retained_acquire(&leases->block, memory, &need);
}

void pool_bind_leases_add(struct pool_bind_leases *leases,
                          const struct tidemark_lease *lease)
{
    assert((leases->count + 1) * sizeof(*lease) <= pool_retained_room(&leases->block));
    array(leases)[leases->count++] = *lease;
}

const struct tidemark_lease *pool_bind_leases_at(const struct pool_bind_leases *leases,
                                                 size_t index)
{
    assert(index < leases->count);
    return &array(leases)[index];
}

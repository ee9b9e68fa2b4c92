/* The leases of one bind, in the order in which they were made. A plain array in a retained
   block of host memory, so that a steady bind allocates nothing for it. For one thread at
   a time. */
#ifndef POOL_BIND_LEASES_H
#define POOL_BIND_LEASES_H

#include "pool/retained.h"

enum { POOL_BIND_LEASES_FIRST = 64 }; /* room that the first lease makes */

struct pool_bind_leases {
    struct pool_retained block;
    size_t count;
};

/* Room for so many more. TOO_LARGE, NO_HOST_MEMORY, OVER_BUDGET: nothing has changed. */
POLICY_MUST_CHECK enum tidemark_result
pool_bind_leases_reserve(struct pool_bind_leases *leases, struct pool_bind_memory *memory,
                         size_t more);

/* Adds one, for which there is room. */
void pool_bind_leases_add(struct pool_bind_leases *leases,
                          const struct tidemark_lease *lease);

/* The lease of this number, below the count. */
const struct tidemark_lease *pool_bind_leases_at(const struct pool_bind_leases *leases,
                                                 size_t index);

#endif

/* Leases over the fake source, for the tests of pool/lease.c. */
#ifndef TESTS_LEASE_FIXTURE_H
#define TESTS_LEASE_FIXTURE_H

#include <string.h>

#include "pool/lease.h"
#include "tests/fake_source.h"
#include "tests/suite.h"

static struct pool_leases leases;

static inline void setup(void)
{
    fake_reset();
    memset(&leases, 0, sizeof(leases));
    pool_leases_open(&leases, &fake_source);
}

static inline struct pool_lease lease_of(uint64_t address, uint64_t bytes, unsigned owner)
{
    return (struct pool_lease){address,
                               bytes,
                               owner + 1,
                               (uint16_t)(owner + 10),
                               (uint16_t)(POOL_LEASE_ORDERED - owner),
                               0};
}

/* Opens a lease where none is. */
static inline void open_new(uint64_t address, uint64_t bytes, unsigned owner)
{
    struct pool_lease lease = lease_of(address, bytes, owner);
    struct pool_lease ended = {.address = 1};
    bool opened = pool_lease_open(&leases, &lease, &ended);
    if (!opened || ended.address != 0)
        ck_abort_msg("no new lease of %#jx", (uintmax_t)address);
}

/* One check and not four: tests here compare some hundred thousand leases. */
static inline void lease_is(const struct pool_lease *lease, uint64_t address,
                            uint64_t bytes, unsigned owner)
{
    if (lease->address != address || lease->bytes != bytes || lease->owner != owner + 1 ||
        lease->device != owner + 10 || lease->kind != POOL_LEASE_ORDERED - owner)
        ck_abort_msg("the lease of %#jx is one of %#jx, %ju bytes", (uintmax_t)address,
                     (uintmax_t)lease->address, (uintmax_t)lease->bytes);
}

static inline void closes(uint64_t address, uint64_t bytes, unsigned owner)
{
    struct pool_lease lease = {0};
    if (!pool_lease_close(&leases, address, &lease))
        ck_abort_msg("no lease of %#jx", (uintmax_t)address);
    lease_is(&lease, address, bytes, owner);
}

static inline void is_not_open(uint64_t address)
{
    struct pool_lease lease = {.bytes = 77};
    if (pool_lease_close(&leases, address, &lease) || lease.bytes != 77)
        ck_abort_msg("a lease of %#jx", (uintmax_t)address);
}

/* What close_owner handed over. */
struct ended {
    unsigned count;
    uint64_t bytes;
    uint32_t owner;
};

static inline void count_ended(void *context, const struct pool_lease *lease)
{
    struct ended *ended = context;
    ended->count++;
    ended->bytes += lease->bytes;
    if (lease->owner != ended->owner)
        ck_abort_msg("a lease of another owner was ended");
}

static inline void close_owner(unsigned owner, unsigned count, uint64_t bytes)
{
    struct ended ended = {.owner = owner + 1};
    pool_leases_close_owner(&leases, owner + 1, count_ended, &ended);
    ck_assert_uint_eq(ended.count, count);
    ck_assert_uint_eq(ended.bytes, bytes);
}

#endif

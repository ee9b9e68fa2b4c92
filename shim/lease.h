/* The leases of this process: every pointer that a driver handed out through us, and the
   account that its bytes are charged to. */
#ifndef SHIM_LEASE_H
#define SHIM_LEASE_H

#include "pool/lease.h"
#include "shim/device.h"

/* Before the first lease. */
void shim_lease_open_all(void);

/* A charged allocation was handed out: remembers it until it ends. Without memory for the
   record the charge is taken off at once, since nobody could do it later. */
void shim_lease_open(const struct pool_lease *lease);

/* Takes the lease of an address out, if we have one. Its bytes stay charged until it is
   settled or opened again. Before the driver is told of the end: once it has the memory back
   another thread may be given the same address. */
bool shim_lease_close(uint64_t address, struct pool_lease *lease);

/* Shows the lease of an address to `look`, under a lock, or copies it; false: we have none. All
   but the address may be changed. */
bool shim_lease_visit(uint64_t address,
                      void (*look)(void *context, struct pool_lease *lease),
                      void *context);
bool shim_lease_find(uint64_t address, struct pool_lease *lease);

/* The memory of a closed lease is free: takes its bytes off the account. */
void shim_lease_settle(const struct pool_lease *lease);

/* An owner has ended, and with it all its leases. */
void shim_lease_end_owner(uint32_t owner);

/* Around a fork. */
void shim_lease_fork_prepare(void);
void shim_lease_fork_done(void);

#endif

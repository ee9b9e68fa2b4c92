/* The record of each pointer handed out: what kind of memory it is, who owns it and what it
   was charged. Keyed by address; sharded, so that threads rarely meet; a lookup does not
   depend on how many leases are open. Never calls a driver.

   open, close and close_owner may run at the same time; close gives a lease to exactly
   one caller. */
#ifndef POOL_LEASE_H
#define POOL_LEASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/source.h"

enum {
    POOL_LEASE_SHARDS = 64,
    POOL_LEASE_FIRST_SLOTS = 256, /* of a shard's table: 8 KiB */
};

/* What was handed out, and with it where its bytes are charged and how it ends. */
enum pool_lease_kind {
    POOL_LEASE_LINEAR,     /* of a device */
    POOL_LEASE_PITCHED,    /* of a device, in rows */
    POOL_LEASE_MANAGED,    /* of a device, as far as it lies there */
    POOL_LEASE_PINNED,     /* page-locked memory of the host */
    POOL_LEASE_REGISTERED, /* memory of the program, page-locked for it */
    POOL_LEASE_ORDERED,    /* of a stream-ordered pool, which is what is charged */
};

struct pool_lease {
    uint64_t address; /* as the program holds it; 0 marks an empty slot */
    uint64_t bytes;   /* charged */
    uint32_t owner;   /* with whose end it ends: an identity of the caller's */
    uint16_t device;  /* ordinal */
    uint16_t kind;    /* enum pool_lease_kind */
    uint32_t block;   /* its record, if it may be retained (pool/devices.h), else 0 */
};

struct pool_lease_shard {
    _Alignas(64) pthread_mutex_t lock;
    struct pool_lease *slots;
    size_t slot_count; /* a power of two, at most half used */
    size_t used;
};

struct pool_leases {
    const struct pool_source *source;
    struct pool_lease_shard shards[POOL_LEASE_SHARDS];
};

void pool_leases_open(struct pool_leases *leases, const struct pool_source *source);

/* Records a lease; its address must not be 0. An open lease of the same address is
   replaced: the driver handed the address out again, so the old one had ended unseen;
   *ended is then that lease, else its address is 0. False when there is no memory for the
   record. */
bool pool_lease_open(struct pool_leases *leases, const struct pool_lease *lease,
                     struct pool_lease *ended);

/* Shows the lease of `address` to `look`, under the shard's lock; false when there is none. All
   but its address may be changed. */
bool pool_lease_visit(struct pool_leases *leases, uint64_t address,
                      void (*look)(void *context, struct pool_lease *lease),
                      void *context);

/* Takes the lease of `address` out; false when there is none. */
bool pool_lease_close(struct pool_leases *leases, uint64_t address,
                      struct pool_lease *lease);

/* Takes out every lease of `owner`, handing each to `ended` (under the shard's lock). */
void pool_leases_close_owner(struct pool_leases *leases, uint32_t owner,
                             void (*ended)(void *context, const struct pool_lease *lease),
                             void *context);

/* Around a fork. */
void pool_leases_fork_prepare(struct pool_leases *leases);
void pool_leases_fork_done(struct pool_leases *leases);

#endif

/* How much is held of one kind in one place, how much of that is needed, and hence how much
   may be kept: the high-water of recent need, and a little. Bytes are capacity.

   Every function may run in any number of threads at once. */
#ifndef POOL_DEVICE_ACCOUNTS_H
#define POOL_DEVICE_ACCOUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/lock.h"

/* The first line changes with every claim and return, the second with none. */
struct pool_device_account {
    _Alignas(64) _Atomic uint64_t idle_bytes;
    _Atomic uint64_t low_bytes; /* least idle since need was last noted; a figure */
    _Alignas(64) _Atomic uint64_t held_bytes; /* live and idle */
    _Atomic uint64_t limit_bytes;             /* above, idle blocks are to go */
    _Atomic uint64_t idle_limit_bytes;        /* above, a freed block is not kept */
    _Atomic uint64_t most_bytes;              /* the most ever held */
    _Atomic bool is_open;
    struct pool_lock lock; /* guards the rest, and changes of the limits */
    uint64_t retain_bytes; /* most idle bytes, whatever was needed */
    uint64_t needed[2];    /* most needed at once, in this window and in the last */
    uint64_t refused[2]; /* least that was too much, likewise; UINT64_MAX: nothing was */
};

/* Once; the account is zeroed, and its lock open. `retain_bytes`: most idle bytes. */
void pool_device_account_open(struct pool_device_account *account, uint64_t retain_bytes);

/* The driver gave a block. `unready_bytes`: idle by now, and still in a device's use. */
void pool_device_account_add(struct pool_device_account *account, uint64_t bytes,
                             uint64_t unready_bytes);

/* How much would be held above the limit, if the driver gave so much more. */
uint64_t pool_device_account_excess(struct pool_device_account *account, uint64_t bytes,
                                    uint64_t unready_bytes);

/* The driver has a live block back, or its context took it along. */
void pool_device_account_drop(struct pool_device_account *account, uint64_t bytes);

/* What was to become idle did not. */
static inline void pool_device_account_unkeep(struct pool_device_account *account,
                                              uint64_t bytes)
{
    atomic_fetch_sub_explicit(&account->idle_bytes, bytes, memory_order_relaxed); /* A */
}

/* A live block becomes idle; false, and nothing changed, when too much would be. */
static inline bool pool_device_account_keep(struct pool_device_account *account,
                                            uint64_t bytes)
{
    uint64_t idle = bytes + atomic_fetch_add_explicit(&account->idle_bytes, bytes,
                                                      memory_order_relaxed); /* A */
    if (idle <=
        atomic_load_explicit(&account->idle_limit_bytes, memory_order_relaxed)) /* A */
        return true;
    pool_device_account_unkeep(account, bytes);
    return false;
}

/* An idle block goes back to the driver. */
void pool_device_account_take(struct pool_device_account *account, uint64_t bytes);

/* An idle block is live again. */
static inline void pool_device_account_use(struct pool_device_account *account,
                                           uint64_t bytes)
{
    uint64_t idle = atomic_fetch_sub_explicit(&account->idle_bytes, bytes,
                                              memory_order_relaxed) - /* A */
                    bytes;
    if (idle < atomic_load_explicit(&account->low_bytes, memory_order_relaxed)) /* A */
        atomic_store_explicit(&account->low_bytes, idle, memory_order_relaxed); /* A */
}

/* How much is held above the limit. */
static inline uint64_t pool_device_account_owed(const struct pool_device_account *account)
{
    uint64_t held =
        atomic_load_explicit(&account->held_bytes, memory_order_relaxed); /* A */
    uint64_t limit =
        atomic_load_explicit(&account->limit_bytes, memory_order_relaxed); /* A */
    return held > limit ? held - limit : 0;
}

static inline bool pool_device_account_is_open(const struct pool_device_account *account)
{
    return atomic_load_explicit(&account->is_open, memory_order_acquire); /* B */
}

/* So many bytes more than is held now did not fit. */
void pool_device_account_refused(struct pool_device_account *account, uint64_t bytes);

/* Begins the next window. */
void pool_device_account_age(struct pool_device_account *account);

#endif

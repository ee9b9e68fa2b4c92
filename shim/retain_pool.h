/* The retained device and page-locked blocks of this process, for retain.c and retain_room.c. */
#ifndef SHIM_RETAIN_POOL_H
#define SHIM_RETAIN_POOL_H

#include "pool/devices.h"
#include "pool/lease.h"
#include "shim/place.h"
#include "shim/retain.h"

enum {
    /* Of one context, at once: see shim/place.h. */
    SHIM_RETAIN_INCARNATIONS = 8,
};

/* NULL: nothing is retained. The first opens the pool where that was not done yet. */
struct pool_devices *shim_retain_pool(void);
struct pool_devices *shim_retain_opened(void);

static inline enum pool_block_kind shim_retain_kind(enum pool_lease_kind kind)
{
    return kind == POOL_LEASE_PINNED || kind == POOL_LEASE_REGISTERED ? POOL_BLOCK_PINNED
                                                                      : POOL_BLOCK_DEVICE;
}

static inline struct pool_device_key
shim_retain_key(const struct shim_retain_request *request, const struct shim_place *place)
{
    return (struct pool_device_key){
        .context = place->owner,
        .kind = shim_retain_kind(request->kind),
        .flags = request->flags,
        .device = place->device->ordinal,
    };
}

/* Whether the calling thread may use retained memory, or give some up, right now; *place is
   where it is. */
bool shim_retain_may_act(const struct shim_driver *driver, struct shim_place *place);

/* Has the driver free a block that is nobody's; the bytes that are off the account. */
uint64_t shim_retain_give_back(const struct shim_driver *driver,
                               const struct pool_device_taken *taken);

#endif

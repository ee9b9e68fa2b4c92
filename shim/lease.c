#include "shim/lease.h"

#include <pthread.h>

#include "shim/host_source.h"
#include "shim/mempool.h"
#include "shim/retain.h"
#include "shim/room.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct pool_leases leases;

static void open_leases(void)
{
    pool_leases_open(&leases, &shim_host_source);
}

void shim_lease_open_all(void)
{
    pthread_once(&once, open_leases);
}

void shim_lease_open(const struct pool_lease *lease)
{
    struct pool_lease ended;
    shim_lease_open_all();
    if (!pool_lease_open(&leases, lease, &ended)) {
        shim_lease_settle(lease);
        return;
    }
    if (ended.address)
        shim_lease_settle(&ended);
}

bool shim_lease_close(uint64_t address, struct pool_lease *lease)
{
    shim_lease_open_all();
    return pool_lease_close(&leases, address, lease);
}

bool shim_lease_visit(uint64_t address,
                      void (*look)(void *context, struct pool_lease *lease),
                      void *context)
{
    shim_lease_open_all();
    return pool_lease_visit(&leases, address, look, context);
}

static void copy(void *context, struct pool_lease *lease)
{
    *(struct pool_lease *)context = *lease;
}

bool shim_lease_find(uint64_t address, struct pool_lease *lease)
{
    return shim_lease_visit(address, copy, lease);
}

void shim_lease_settle(const struct pool_lease *lease)
{
    shim_retain_forget(lease->block);
    struct shim_device *device = shim_device_known(lease->device);
    switch ((enum pool_lease_kind)lease->kind) {
    case POOL_LEASE_ORDERED:
        shim_mempool_returned(lease->owner, lease->bytes);
        return;
    case POOL_LEASE_PINNED:
    case POOL_LEASE_REGISTERED:
        device = NULL;
        break;
    case POOL_LEASE_MANAGED:
        shim_device_count_managed(device, -(int64_t)lease->bytes);
        break;
    case POOL_LEASE_LINEAR:
    case POOL_LEASE_PITCHED:
        break;
    }
    shim_room_refund(device, lease->bytes);
}

static void settle(void *context, const struct pool_lease *lease)
{
    (void)context;
    shim_lease_settle(lease);
}

void shim_lease_end_owner(uint32_t owner)
{
    shim_lease_open_all();
    pool_leases_close_owner(&leases, owner, settle, NULL);
}

void shim_lease_fork_prepare(void)
{
    shim_lease_open_all();
    pool_leases_fork_prepare(&leases);
}

void shim_lease_fork_done(void)
{
    pool_leases_fork_done(&leases);
}

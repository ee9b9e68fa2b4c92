/* Queries about retained memory: what the program has freed is nobody's, and what it holds is as
   large as it asked for. */
#include "shim/driver_observe.h"
#include "shim/lease.h"
#include "shim/retain.h"
#include "shim/retain_pool.h"

/* Where the allocation starts that has this address in it. While a stream is captured the driver
   is not asked: it would be a call of ours. */
static bool find_start(const struct shim_driver *driver, uint64_t address,
                       uint64_t *start)
{
    CUdeviceptr found = 0;
    if (!driver->call.cuPointerGetAttribute || shim_observe_capturing() ||
        driver->call.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                           address) != CUDA_SUCCESS)
        return false;
    *start = found;
    return found != address;
}

uint64_t shim_retain_seen(const struct shim_driver *driver, uint64_t address,
                          uint64_t *bytes)
{
    struct pool_devices *pool = shim_retain_opened();
    struct pool_lease lease;
    uint64_t start = address;
    if (bytes)
        *bytes = 0;
    if (!pool || !POOL_GET(pool, kept) || address == 0)
        return address;
    if (!shim_lease_find(address, &lease) &&
        (!find_start(driver, address, &start) || !shim_lease_find(start, &lease)))
        return address;
    if (lease.block == 0)
        return address;
    uint64_t requested = pool_devices_requested(pool, lease.block);
    if (!pool_devices_is_live(pool, lease.block) || address - start >= requested)
        return SHIM_RETAIN_NOBODYS;
    if (bytes)
        *bytes = requested;
    return address;
}

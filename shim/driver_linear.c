/* Linear device memory: charged before the driver is called, refunded when it refuses. */
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/guard.h"
#include "shim/init.h"
#include "shim/outcome.h"

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); /* a figure */
}

static CUcontext current_context(const struct shim_driver *driver)
{
    CUcontext context = NULL;
    if (driver->call.cuCtxGetCurrent)
        (void)driver->call.cuCtxGetCurrent(&context);
    return context;
}

static CUresult allocate(const struct shim_driver *driver, CUdeviceptr *address,
                         size_t bytes)
{
    /* What the driver refuses anyway, it refuses in its own words. */
    struct shim_device *device =
        address && bytes > 0 ? shim_device_current(driver) : NULL;
    if (!device) {
        count(&shim_device_allocs);
        return driver->call.cuMemAlloc_v2(address, bytes);
    }
    struct policy_verdict verdict =
        policy_ledger_charge(&device->account, &device->ceiling, bytes);
    if (verdict.kind != POLICY_ADMITTED)
        return shim_outcome_refused("cuMemAlloc_v2", device, &verdict);
    count(&shim_device_allocs);
    CUresult result = driver->call.cuMemAlloc_v2(address, bytes);
    if (result == CUDA_SUCCESS)
        shim_device_lease(device, *address, bytes, current_context(driver));
    else
        shim_device_settle(device, bytes);
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAlloc_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuMemAlloc_v2(address, bytes);
    CUresult result = allocate(driver, address, bytes);
    shim_guard_leave();
    return result;
}

/* The lease is taken out first: once the driver has the memory back, another thread may
   be given the same address. */
static CUresult release(const struct shim_driver *driver, CUdeviceptr address)
{
    size_t bytes = 0;
    CUcontext owner = NULL;
    struct shim_device *device = shim_device_unlease(address, &bytes, &owner);
    count(&shim_device_frees);
    CUresult result = driver->call.cuMemFree_v2(address);
    if (!device)
        return result;
    if (result == CUDA_SUCCESS)
        shim_device_settle(device, bytes);
    else
        shim_device_lease(device, address, bytes, owner);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFree_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuMemFree_v2(address);
    CUresult result = release(driver, address);
    shim_guard_leave();
    return result;
}

/* Linear device memory: charged before the driver is called, refunded when it refuses. The
   first forms, of 32-bit addresses and sizes, are charged like the others. */
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/driver_observe.h"
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

/* What an allocation in flight has taken; without a device it is not limited. */
struct charge {
    struct shim_device *device;
    size_t bytes;
};

/* What the driver refuses anyway, without an address or bytes, it refuses in its own
   words. */
static CUresult charge(const struct shim_driver *driver, const char *call,
                       const void *address, size_t bytes, struct charge *taken)
{
    *taken = (struct charge){NULL, bytes};
    struct shim_device *device =
        address && bytes > 0 ? shim_device_current(driver) : NULL;
    if (device) {
        struct policy_verdict verdict =
            policy_ledger_charge(&device->account, &device->ceiling, bytes);
        if (verdict.kind != POLICY_ADMITTED)
            return shim_outcome_refused(call, device, &verdict);
        taken->device = device;
    }
    count(&shim_device_allocs);
    return CUDA_SUCCESS;
}

static void settle(const struct shim_driver *driver, const struct charge *taken,
                   CUresult result, CUdeviceptr address)
{
    if (!taken->device)
        return;
    if (result == CUDA_SUCCESS)
        shim_device_lease(taken->device, address, taken->bytes, current_context(driver));
    else
        shim_device_settle(taken->device, taken->bytes);
}

static CUresult allocate(const struct shim_driver *driver, CUdeviceptr *address,
                         size_t bytes)
{
    struct charge taken;
    CUresult result = charge(driver, "cuMemAlloc_v2", address, bytes, &taken);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->call.cuMemAlloc_v2(address, bytes);
    settle(driver, &taken, result, result == CUDA_SUCCESS ? *address : 0);
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
    return shim_observe_result(driver, result);
}

static CUresult allocate_32(const struct shim_driver *driver, CUdeviceptr_v1 *address,
                            unsigned bytes)
{
    struct charge taken;
    CUresult result = charge(driver, "cuMemAlloc", address, bytes, &taken);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->call.cuMemAlloc(address, bytes);
    settle(driver, &taken, result, result == CUDA_SUCCESS ? *address : 0);
    return result;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *address, unsigned bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAlloc)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuMemAlloc(address, bytes);
    CUresult result = allocate_32(driver, address, bytes);
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

/* The lease is taken out before the driver is called: once it has the memory back, another
   thread may be given the same address. */
struct release {
    struct shim_device *device; /* NULL: the address is not ours */
    CUdeviceptr address;
    size_t bytes;
    CUcontext owner;
};

static struct release begin_release(CUdeviceptr address)
{
    struct release release = {.address = address};
    release.device = shim_device_unlease(address, &release.bytes, &release.owner);
    count(&shim_device_frees);
    return release;
}

static void end_release(const struct release *release, CUresult result)
{
    if (!release->device)
        return;
    if (result == CUDA_SUCCESS)
        shim_device_settle(release->device, release->bytes);
    else
        shim_device_lease(release->device, release->address, release->bytes,
                          release->owner);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFree_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuMemFree_v2(address);
    struct release release = begin_release(address);
    CUresult result = driver->call.cuMemFree_v2(address);
    end_release(&release, result);
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

CUresult cuMemFree(CUdeviceptr_v1 address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFree)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuMemFree(address);
    struct release release = begin_release(address);
    CUresult result = driver->call.cuMemFree(address);
    end_release(&release, result);
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

/* How large a device is and how much of it is left, as its ceiling makes it. */
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/guard.h"
#include "shim/init.h"

static size_t least(size_t a, uint64_t b)
{
    return a < b ? a : (size_t)b;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDeviceTotalMem_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuDeviceTotalMem_v2(bytes, ordinal);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return result;
    const struct shim_device *device = shim_device_get(driver, ordinal);
    if (device)
        *bytes = least(*bytes, device->ceiling.bytes);
    shim_guard_leave();
    return result;
}

/* What can really be served: what the driver has, and what the ceiling leaves. The charge
   may exceed the ceiling only by a race with a refund; then nothing is left. */
static void adjust(const struct shim_device *device, size_t *free_bytes,
                   size_t *total_bytes)
{
    uint64_t limit = device->ceiling.bytes;
    uint64_t charged = policy_ledger_charged(&device->account);
    if (total_bytes)
        *total_bytes = least(*total_bytes, limit);
    if (free_bytes)
        *free_bytes = least(*free_bytes, charged < limit ? limit - charged : 0);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetInfo_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemGetInfo_v2(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return result;
    const struct shim_device *device = shim_device_current(driver);
    if (device)
        adjust(device, free_bytes, total_bytes);
    shim_guard_leave();
    return result;
}

/* How large a device is and how much of it is left, as its ceiling makes it. The first
   forms have 32 bits for an answer, and no more may be written. */
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/guard.h"
#include "shim/init.h"

static size_t least(size_t a, uint64_t b)
{
    return a < b ? a : (size_t)b;
}

static unsigned least_32(unsigned a, uint64_t b)
{
    return a < b ? a : (unsigned)b;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDeviceTotalMem_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuDeviceTotalMem_v2(bytes, ordinal);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return shim_observe_result(driver, result);
    const struct shim_device *device = shim_device_get(driver, ordinal);
    if (device)
        *bytes = least(*bytes, device->ceiling.bytes);
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

CUresult cuDeviceTotalMem(unsigned *bytes, CUdevice ordinal)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDeviceTotalMem)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuDeviceTotalMem(bytes, ordinal);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return shim_observe_result(driver, result);
    const struct shim_device *device = shim_device_get(driver, ordinal);
    if (device)
        *bytes = least_32(*bytes, device->ceiling.bytes);
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

/* What the ceiling leaves. The charge may exceed it only by a race with a refund; then
   nothing is left. */
static uint64_t left_bytes(const struct shim_device *device)
{
    uint64_t limit = device->ceiling.bytes;
    uint64_t charged = policy_ledger_charged(&device->account);
    return charged < limit ? limit - charged : 0;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetInfo_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemGetInfo_v2(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return shim_observe_result(driver, result);
    const struct shim_device *device = shim_device_current(driver);
    if (device && total_bytes)
        *total_bytes = least(*total_bytes, device->ceiling.bytes);
    if (device && free_bytes)
        *free_bytes = least(*free_bytes, left_bytes(device));
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

CUresult cuMemGetInfo(unsigned *free_bytes, unsigned *total_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetInfo)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemGetInfo(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return shim_observe_result(driver, result);
    const struct shim_device *device = shim_device_current(driver);
    if (device && total_bytes)
        *total_bytes = least_32(*total_bytes, device->ceiling.bytes);
    if (device && free_bytes)
        *free_bytes = least_32(*free_bytes, left_bytes(device));
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

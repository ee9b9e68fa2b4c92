/* Where an allocation starts and how large it is, and what the driver knows of page-locked
   memory. */
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/retain.h"

CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *bytes, CUdeviceptr address)
{
    const struct shim_driver *driver = shim_driver_get();
    uint64_t requested;
    if (!driver || !driver->call.cuMemGetAddressRange_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemGetAddressRange_v2(start, bytes, address);
    address = shim_retain_seen(driver, address, &requested);
    CUresult result = driver->call.cuMemGetAddressRange_v2(start, bytes, address);
    if (result == CUDA_SUCCESS && bytes && requested > 0)
        *bytes = requested;
    return shim_hook_leave(driver, result);
}

CUresult cuMemGetAddressRange(CUdeviceptr_v1 *start, unsigned *bytes,
                              CUdeviceptr_v1 address)
{
    const struct shim_driver *driver = shim_driver_get();
    uint64_t requested;
    if (!driver || !driver->call.cuMemGetAddressRange)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemGetAddressRange(start, bytes, address);
    address = (CUdeviceptr_v1)shim_retain_seen(driver, address, &requested);
    CUresult result = driver->call.cuMemGetAddressRange(start, bytes, address);
    if (result == CUDA_SUCCESS && bytes && requested > 0)
        *bytes = (unsigned)requested;
    return shim_hook_leave(driver, result);
}

static void *seen(const struct shim_driver *driver, void *address)
{
    return (void *)(uintptr_t)shim_retain_seen(driver, (uintptr_t)address, NULL);
}

CUresult cuMemHostGetFlags(unsigned *flags, void *address)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemHostGetFlags)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemHostGetFlags(flags, address);
    CUresult result = driver->call.cuMemHostGetFlags(flags, seen(driver, address));
    return shim_hook_leave(driver, result);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *mapped, void *address, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemHostGetDevicePointer_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemHostGetDevicePointer_v2(mapped, address, flags);
    CUresult result =
        driver->call.cuMemHostGetDevicePointer_v2(mapped, seen(driver, address), flags);
    return shim_hook_leave(driver, result);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *mapped, void *address, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemHostGetDevicePointer)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemHostGetDevicePointer(mapped, address, flags);
    CUresult result =
        driver->call.cuMemHostGetDevicePointer(mapped, seen(driver, address), flags);
    return shim_hook_leave(driver, result);
}

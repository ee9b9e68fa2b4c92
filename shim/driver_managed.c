/* Managed memory: charged to the device of the context that asks, since all of it may come to
   lie there; what of it does is not known to us. */
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/hook.h"

static CUresult allocate(const struct shim_driver *driver, CUdeviceptr *address,
                         size_t bytes, unsigned flags)
{
    struct shim_charge charge;
    CUresult result = shim_charge_begin(driver, "cuMemAllocManaged", POOL_LEASE_MANAGED,
                                        address ? bytes : 0, &charge);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->call.cuMemAllocManaged(address, bytes, flags);
    if (shim_charge_again(driver, &charge, result))
        result = driver->call.cuMemAllocManaged(address, bytes, flags);
    shim_charge_end(&charge, result, result == CUDA_SUCCESS ? *address : 0);
    return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAllocManaged)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemAllocManaged(address, bytes, flags);
    CUresult result = allocate(driver, address, bytes, flags);
    return shim_hook_leave(driver, result);
}

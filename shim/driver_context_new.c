/* Contexts begin, and reach each other. What is page-locked may be used by any of them, so each
   is remembered before the program can use it. */
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/place.h"
#include "shim/retain.h"

static CUresult made(const struct shim_driver *driver, const CUcontext *context,
                     CUresult result)
{
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    shim_place_created(*context);
    return shim_hook_leave(driver, result);
}

CUresult cuCtxCreate(CUcontext *context, unsigned flags, CUdevice device)
{
    const struct shim_driver *driver = shim_driver_get();
    return driver && driver->call.cuCtxCreate
               ? made(driver, context, driver->call.cuCtxCreate(context, flags, device))
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    const struct shim_driver *driver = shim_driver_get();
    return driver && driver->call.cuCtxCreate_v2
               ? made(driver, context,
                      driver->call.cuCtxCreate_v2(context, flags, device))
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxCreate_v3(CUcontext *context, struct CUexecAffinityParam_st *affinity,
                        int affinity_count, unsigned flags, CUdevice device)
{
    const struct shim_driver *driver = shim_driver_get();
    return driver && driver->call.cuCtxCreate_v3
               ? made(driver, context,
                      driver->call.cuCtxCreate_v3(context, affinity, affinity_count,
                                                  flags, device))
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *extras, unsigned flags,
                        CUdevice device)
{
    const struct shim_driver *driver = shim_driver_get();
    return driver && driver->call.cuCtxCreate_v4
               ? made(driver, context,
                      driver->call.cuCtxCreate_v4(context, extras, flags, device))
               : CUDA_ERROR_NOT_INITIALIZED;
}

/* Its streams use the memory of the device's primary context. Before the driver is called: the
   context may be used as soon as it is there. */
CUresult cuGreenCtxCreate(CUgreenCtx *context, CUdevResourceDesc resources,
                          CUdevice device, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuGreenCtxCreate)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuGreenCtxCreate(context, resources, device, flags);
    shim_retain_stop();
    CUresult result = driver->call.cuGreenCtxCreate(context, resources, device, flags);
    return shim_hook_leave(driver, result);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxEnablePeerAccess)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuCtxEnablePeerAccess(peer, flags);
    shim_retain_share();
    CUresult result = driver->call.cuCtxEnablePeerAccess(peer, flags);
    return shim_hook_leave(driver, result);
}

/* The program waits for a whole context. The stamp is taken before the driver is called: what
   was freed while it waits may be used by work that it does not wait for. */
#include "shim/driver_observe.h"
#include "shim/hook.h"
#include "shim/retain.h"

static void ended(const struct shim_driver *driver, CUcontext context, uint64_t stamp)
{
    shim_observe_sync_ended(context, stamp);
    shim_retain_synchronised(driver, context, stamp);
}

CUresult cuCtxSynchronize(void)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxSynchronize)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuCtxSynchronize();
    CUcontext context = shim_observe_current(driver);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuCtxSynchronize();
    if (result == CUDA_SUCCESS)
        ended(driver, context, stamp);
    return shim_hook_leave(driver, result);
}

CUresult cuCtxSynchronize_v2(CUcontext context)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxSynchronize_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuCtxSynchronize_v2(context);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuCtxSynchronize_v2(context);
    if (result == CUDA_SUCCESS)
        ended(driver, context ? context : shim_observe_current(driver), stamp);
    return shim_hook_leave(driver, result);
}

/* Contexts end, and with them the memory that they own. */
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/guard.h"
#include "shim/init.h"

CUresult cuCtxDestroy_v2(CUcontext context)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxDestroy_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuCtxDestroy_v2(context);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuCtxDestroy_v2(context);
    if (result == CUDA_SUCCESS) {
        shim_device_end_context(context);
        shim_observe_context_ended(context, stamp);
    }
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

CUresult cuCtxDestroy(CUcontext context)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxDestroy)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_settings()->options.enabled || !shim_guard_enter())
        return driver->call.cuCtxDestroy(context);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuCtxDestroy(context);
    if (result == CUDA_SUCCESS) {
        shim_device_end_context(context);
        shim_observe_context_ended(context, stamp);
    }
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

/* Contexts end, and with them the memory that they own. What was allocated in the order of a
   stream belongs to a pool of the device and stays.

   Memory order: of each primary context the handle is written before the count that it is
   read for, by the same thread or one that the program has ordered after it; both are only
   looked at where the program ends what it retained. Relaxed. */
#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/hook.h"
#include "shim/place.h"

/* Of each device: what the driver handed out as its primary context, which is one handle for
   all its lives, and how many of the program's retains it has granted and not yet taken back. */
static struct {
    _Atomic(CUcontext) handle;
    _Atomic int retain_count;
} primaries[SHIM_DEVICES_MOST];

static bool is_known(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < SHIM_DEVICES_MOST;
}

static CUcontext primary_of(CUdevice ordinal)
{
    return is_known(ordinal)
               ? atomic_load_explicit(&primaries[ordinal].handle, memory_order_relaxed)
               : NULL;
}

/* Around a call that may end a context: what is remembered of it ends with it. */
struct end {
    uint64_t stamp;
    uint32_t last; /* incarnation */
};

static struct end begin_end(CUcontext context)
{
    uint32_t last = shim_place_ending(context);
    return (struct end){shim_observe_stamp(), last};
}

static void finish_end(CUcontext context, bool ended, const struct end *end)
{
    shim_place_ended(context, end->last, ended);
    if (ended && context)
        shim_observe_context_ended(context, end->stamp);
}

static CUresult destroy(const struct shim_driver *driver,
                        CUresult (*ask)(CUcontext context), CUcontext context)
{
    if (!ask)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return ask(context);
    struct end end = begin_end(context);
    CUresult result = ask(context);
    finish_end(context, result == CUDA_SUCCESS, &end);
    return shim_hook_leave(driver, result);
}

CUresult cuCtxDestroy(CUcontext context)
{
    const struct shim_driver *driver = shim_driver_get();
    return destroy(driver, driver ? driver->call.cuCtxDestroy : NULL, context);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    const struct shim_driver *driver = shim_driver_get();
    return destroy(driver, driver ? driver->call.cuCtxDestroy_v2 : NULL, context);
}

CUresult cuCtxAttach(CUcontext *context, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxAttach)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuCtxAttach(context, flags);
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    shim_place_attach(*context);
    return shim_hook_leave(driver, result);
}

/* A context that was attached to is used by several, and only the last one ends it. */
CUresult cuCtxDetach(CUcontext context)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuCtxDetach)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuCtxDetach(context);
    struct end end = begin_end(context);
    CUresult result = driver->call.cuCtxDetach(context);
    bool ended = result == CUDA_SUCCESS && !shim_place_detach(context);
    finish_end(context, ended, &end);
    return shim_hook_leave(driver, result);
}

/* Whether the context that the driver would hand out is yet to be made. */
static bool is_inactive(const struct shim_driver *driver, CUdevice ordinal)
{
    unsigned flags;
    int is_active = 1;
    return driver->call.cuDevicePrimaryCtxGetState && !shim_observe_capturing() &&
           driver->call.cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active) ==
               CUDA_SUCCESS &&
           !is_active;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDevicePrimaryCtxRetain)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuDevicePrimaryCtxRetain(context, ordinal);
    bool is_new = is_inactive(driver, ordinal);
    CUresult result = driver->call.cuDevicePrimaryCtxRetain(context, ordinal);
    if (result == CUDA_SUCCESS && is_known(ordinal)) {
        atomic_store_explicit(&primaries[ordinal].handle, *context, memory_order_relaxed);
        atomic_fetch_add_explicit(&primaries[ordinal].retain_count, 1,
                                  memory_order_relaxed);
        if (is_new)
            shim_place_created(*context);
    }
    return shim_hook_leave(driver, result);
}

/* Whether a release that the driver granted was the last one. The driver knows better than
   our count: a library may have retained where we do not see it. */
static bool has_ended(const struct shim_driver *driver, CUdevice ordinal)
{
    unsigned flags;
    int is_active;
    if (!is_known(ordinal))
        return false;
    int count = atomic_fetch_sub_explicit(&primaries[ordinal].retain_count, 1,
                                          memory_order_relaxed) -
                1;
    if (driver->call.cuDevicePrimaryCtxGetState && !shim_observe_capturing() &&
        driver->call.cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active) ==
            CUDA_SUCCESS)
        return !is_active;
    return count <= 0;
}

static CUresult release(const struct shim_driver *driver,
                        CUresult (*ask)(CUdevice ordinal), CUdevice ordinal)
{
    CUcontext primary = primary_of(ordinal);
    if (!ask)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return ask(ordinal);
    struct end end = begin_end(primary);
    CUresult result = ask(ordinal);
    finish_end(primary, result == CUDA_SUCCESS && has_ended(driver, ordinal), &end);
    return shim_hook_leave(driver, result);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
    const struct shim_driver *driver = shim_driver_get();
    return release(driver, driver ? driver->call.cuDevicePrimaryCtxRelease : NULL,
                   ordinal);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
    const struct shim_driver *driver = shim_driver_get();
    return release(driver, driver ? driver->call.cuDevicePrimaryCtxRelease_v2 : NULL,
                   ordinal);
}

/* Ends all that the context owns, however often it is retained; who retained it still
   releases it. */
static CUresult reset(const struct shim_driver *driver, CUresult (*ask)(CUdevice ordinal),
                      CUdevice ordinal)
{
    CUcontext primary = primary_of(ordinal);
    if (!ask)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return ask(ordinal);
    struct end end = begin_end(primary);
    CUresult result = ask(ordinal);
    finish_end(primary, result == CUDA_SUCCESS, &end);
    return shim_hook_leave(driver, result);
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal)
{
    const struct shim_driver *driver = shim_driver_get();
    return reset(driver, driver ? driver->call.cuDevicePrimaryCtxReset : NULL, ordinal);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
    const struct shim_driver *driver = shim_driver_get();
    return reset(driver, driver ? driver->call.cuDevicePrimaryCtxReset_v2 : NULL,
                 ordinal);
}

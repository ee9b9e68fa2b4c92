/* How large a device is and how much of it is left, as its ceiling makes it. The first forms
   have 32 bits for an answer, and no more may be written. */
#include <limits.h>

#include "shim/device.h"
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/mempool.h"
#include "shim/place.h"
#include "shim/retain.h"

static size_t least(size_t a, uint64_t b)
{
    return a < b ? a : (size_t)b;
}

static unsigned least_32(unsigned a, uint64_t b)
{
    return a < b ? a : (unsigned)b;
}

static uint64_t ceiling_of(const struct shim_driver *driver, CUdevice ordinal)
{
    const struct shim_device *device = shim_device_get(driver, ordinal);
    return device ? device->ceiling.bytes : UINT64_MAX;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDeviceTotalMem_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuDeviceTotalMem_v2(bytes, ordinal);
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    *bytes = least(*bytes, ceiling_of(driver, ordinal));
    return shim_hook_leave(driver, result);
}

CUresult cuDeviceTotalMem(unsigned *bytes, CUdevice ordinal)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuDeviceTotalMem)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuDeviceTotalMem(bytes, ordinal);
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    *bytes = least_32(*bytes, ceiling_of(driver, ordinal));
    return shim_hook_leave(driver, result);
}

/* What the ceiling leaves, if what is idle is given back. The charge may exceed it only by a race
   with a refund; then nothing is left. */
static uint64_t left_bytes(const struct shim_device *device)
{
    uint64_t limit = device->ceiling.bytes;
    uint64_t charged = policy_ledger_charged(&device->account);
    uint64_t idle = least(charged, shim_retain_idle_bytes(device));
    return charged - idle < limit ? limit - (charged - idle) : 0;
}

/* What can really be served: what the driver has, and what the ceiling leaves. The program
   has just asked the driver: what it said is noted. */
static void limit_info(const struct shim_driver *driver, size_t *free_bytes,
                       size_t *total_bytes)
{
    struct shim_place place;
    if (!shim_place_current(driver, &place))
        return;
    shim_mempool_refresh_all(driver, place.device);
    if (free_bytes && total_bytes)
        shim_device_note(place.device, *free_bytes, *total_bytes);
    if (total_bytes)
        *total_bytes = least(*total_bytes, place.device->ceiling.bytes);
    if (free_bytes)
        *free_bytes = least(*free_bytes + shim_retain_idle_bytes(place.device),
                            left_bytes(place.device));
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetInfo_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemGetInfo_v2(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    limit_info(driver, free_bytes, total_bytes);
    return shim_hook_leave(driver, result);
}

static unsigned with_idle_32(unsigned free_bytes, const struct shim_device *device)
{
    uint64_t sum = free_bytes + shim_retain_idle_bytes(device);
    return least_32(UINT_MAX, sum);
}

static void limit_info_32(const struct shim_driver *driver, unsigned *free_bytes,
                          unsigned *total_bytes)
{
    struct shim_place place;
    if (!shim_place_current(driver, &place))
        return;
    shim_mempool_refresh_all(driver, place.device);
    if (total_bytes)
        *total_bytes = least_32(*total_bytes, place.device->ceiling.bytes);
    if (free_bytes)
        *free_bytes =
            least_32(with_idle_32(*free_bytes, place.device), left_bytes(place.device));
}

CUresult cuMemGetInfo(unsigned *free_bytes, unsigned *total_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetInfo)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemGetInfo(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS || !shim_hook_enter())
        return shim_observe_result(driver, result);
    limit_info_32(driver, free_bytes, total_bytes);
    return shim_hook_leave(driver, result);
}

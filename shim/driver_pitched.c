/* Device memory in rows. Only the driver knows how long a row is: the least that it can be is
   charged before the call, and the rest after. */
#include "policy/checked.h"
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/outcome.h"

/* 0, so that the driver refuses it in its own words, for what is no request. */
static uint64_t least_bytes(const void *address, const void *pitch, size_t width,
                            size_t height)
{
    uint64_t bytes;
    return address && pitch && policy_checked_multiply(width, height, &bytes) ? bytes : 0;
}

/* All rows, and nothing where that is not a number: such memory cannot have been given. */
static uint64_t all_bytes(size_t pitch, size_t height)
{
    uint64_t bytes;
    return policy_checked_multiply(pitch, height, &bytes) ? bytes : 0;
}

/* Charges what the rows really took; where that does not fit, the memory goes back. Should the
   driver not take it, it stays charged as far as it was, until its context ends. */
static CUresult settle(const struct shim_driver *driver, struct shim_charge *charge,
                       CUdeviceptr address, size_t pitch, size_t height)
{
    CUresult grown = shim_charge_grow(driver, charge, all_bytes(pitch, height));
    if (grown != CUDA_SUCCESS && driver->call.cuMemFree_v2 &&
        driver->call.cuMemFree_v2(address) == CUDA_SUCCESS)
        shim_charge_cancel(charge);
    else
        shim_charge_end(charge, CUDA_SUCCESS, address);
    return grown;
}

static CUresult allocate(const struct shim_driver *driver, CUdeviceptr *address,
                         size_t *pitch, size_t width, size_t height,
                         unsigned element_bytes)
{
    struct shim_charge charge;
    CUresult result =
        shim_charge_begin(driver, "cuMemAllocPitch_v2", POOL_LEASE_PITCHED,
                          least_bytes(address, pitch, width, height), &charge);
    if (result != CUDA_SUCCESS)
        return result;
    CUdeviceptr address_before = address ? *address : 0;
    size_t pitch_before = pitch ? *pitch : 0;
    result =
        driver->call.cuMemAllocPitch_v2(address, pitch, width, height, element_bytes);
    if (shim_charge_again(driver, &charge, result))
        result =
            driver->call.cuMemAllocPitch_v2(address, pitch, width, height, element_bytes);
    if (result != CUDA_SUCCESS) {
        shim_charge_end(&charge, result, 0);
        return result;
    }
    result = settle(driver, &charge, *address, *pitch, height);
    if (result != CUDA_SUCCESS) {
        *address = address_before;
        *pitch = pitch_before;
    }
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width,
                            size_t height, unsigned element_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAllocPitch_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemAllocPitch_v2(address, pitch, width, height,
                                               element_bytes);
    CUresult result = allocate(driver, address, pitch, width, height, element_bytes);
    return shim_hook_leave(driver, result);
}

static CUresult allocate_32(const struct shim_driver *driver, CUdeviceptr_v1 *address,
                            unsigned *pitch, unsigned width, unsigned height,
                            unsigned element_bytes)
{
    struct shim_charge charge;
    CUresult result =
        shim_charge_begin(driver, "cuMemAllocPitch", POOL_LEASE_PITCHED,
                          least_bytes(address, pitch, width, height), &charge);
    if (result != CUDA_SUCCESS)
        return result;
    CUdeviceptr_v1 address_before = address ? *address : 0;
    unsigned pitch_before = pitch ? *pitch : 0;
    result = driver->call.cuMemAllocPitch(address, pitch, width, height, element_bytes);
    if (shim_charge_again(driver, &charge, result))
        result =
            driver->call.cuMemAllocPitch(address, pitch, width, height, element_bytes);
    if (result != CUDA_SUCCESS) {
        shim_charge_end(&charge, result, 0);
        return result;
    }
    result = settle(driver, &charge, *address, *pitch, height);
    if (result != CUDA_SUCCESS) {
        *address = address_before;
        *pitch = pitch_before;
    }
    return result;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *address, unsigned *pitch, unsigned width,
                         unsigned height, unsigned element_bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAllocPitch)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemAllocPitch(address, pitch, width, height, element_bytes);
    CUresult result = allocate_32(driver, address, pitch, width, height, element_bytes);
    return shim_hook_leave(driver, result);
}

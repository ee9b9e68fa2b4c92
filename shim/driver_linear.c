/* Linear device memory, and the free that ends device memory of every kind. The first forms,
   of 32-bit addresses and sizes, are charged like the others. */
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/retain.h"

/* Without an address there is nothing to lease, and the driver refuses in its own words. */
static size_t charged_bytes(const void *address, size_t bytes)
{
    return address ? bytes : 0;
}

static CUresult allocate(const struct shim_driver *driver, CUdeviceptr *address,
                         size_t bytes)
{
    const struct shim_retain_request request = {POOL_LEASE_LINEAR, SHIM_RETAIN_PLAIN,
                                                charged_bytes(address, bytes)};
    struct shim_charge charge;
    uint64_t found;
    if (shim_retain_claim(driver, &request, &found)) {
        *address = found;
        return CUDA_SUCCESS;
    }
    struct shim_retain_trimmed trimmed = {0};
    shim_retain_make_way(driver, &request, &trimmed);
    CUresult result = shim_charge_begin(driver, "cuMemAlloc_v2", POOL_LEASE_LINEAR,
                                        request.bytes, &charge);
    if (result != CUDA_SUCCESS)
        return result;
    charge.trimmed = trimmed;
    result = driver->call.cuMemAlloc_v2(address, bytes);
    if (shim_charge_again(driver, &charge, result))
        result = driver->call.cuMemAlloc_v2(address, bytes);
    shim_charge_end(&charge, result, result == CUDA_SUCCESS ? *address : 0);
    if (result == CUDA_SUCCESS)
        shim_retain_adopt(driver, &request, *address);
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAlloc_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemAlloc_v2(address, bytes);
    CUresult result = allocate(driver, address, bytes);
    return shim_hook_leave(driver, result);
}

static CUresult allocate_32(const struct shim_driver *driver, CUdeviceptr_v1 *address,
                            unsigned bytes)
{
    struct shim_charge charge;
    CUresult result = shim_charge_begin(driver, "cuMemAlloc", POOL_LEASE_LINEAR,
                                        charged_bytes(address, bytes), &charge);
    if (result != CUDA_SUCCESS)
        return result;
    result = driver->call.cuMemAlloc(address, bytes);
    if (shim_charge_again(driver, &charge, result))
        result = driver->call.cuMemAlloc(address, bytes);
    shim_charge_end(&charge, result, result == CUDA_SUCCESS ? *address : 0);
    return result;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *address, unsigned bytes)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemAlloc)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemAlloc(address, bytes);
    CUresult result = allocate_32(driver, address, bytes);
    return shim_hook_leave(driver, result);
}

static CUresult release(const struct shim_driver *driver, CUdeviceptr address)
{
    struct shim_release release = shim_release_begin(address);
    CUresult result = driver->call.cuMemFree_v2(address);
    shim_release_end(driver, &release, result);
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFree_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemFree_v2(address);
    CUresult result = CUDA_SUCCESS;
    switch (shim_retain_free(driver, POOL_LEASE_LINEAR, address)) {
    case SHIM_RETAIN_FREED:
        break;
    case SHIM_RETAIN_TWICE:
        result = driver->call.cuMemFree_v2(SHIM_RETAIN_NOBODYS);
        break;
    case SHIM_RETAIN_UNTOUCHED:
        result = release(driver, address);
        break;
    }
    shim_retain_pay(driver);
    return shim_hook_leave(driver, result);
}

CUresult cuMemFree(CUdeviceptr_v1 address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFree)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemFree(address);
    struct shim_release release = shim_release_begin(address);
    CUresult result = driver->call.cuMemFree(address);
    shim_release_end(driver, &release, result);
    return shim_hook_leave(driver, result);
}

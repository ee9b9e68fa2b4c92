/* Memory of the program that is page-locked where it lies. Charged is what is locked, and that
   is whole pages; memory of a device that is mapped like memory of the host locks none. */
#include "policy/checked.h"
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/hook.h"

enum { PAGE_BYTES = 4096 }; /* of x86-64 */

typedef CUresult (*register_function)(void *address, size_t bytes, unsigned flags);

/* The pages that hold the range; 0 for what is no range, which the driver refuses. */
static uint64_t locked_bytes(const void *address, uint64_t bytes, unsigned flags)
{
    uint64_t skipped = (uintptr_t)address % PAGE_BYTES;
    uint64_t end;
    if (!address || bytes == 0 || (flags & CU_MEMHOSTREGISTER_IOMEMORY) ||
        !policy_checked_add(skipped, bytes, &end) ||
        !policy_checked_align_up(end, PAGE_BYTES, UINT64_MAX, &end))
        return 0;
    return end;
}

static CUresult lock_pages(const struct shim_driver *driver, const char *call,
                           register_function ask, void *address, size_t bytes,
                           unsigned flags)
{
    struct shim_charge charge;
    if (!ask)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return ask(address, bytes, flags);
    CUresult result = shim_charge_begin(driver, call, POOL_LEASE_REGISTERED,
                                        locked_bytes(address, bytes, flags), &charge);
    if (result == CUDA_SUCCESS) {
        result = ask(address, bytes, flags);
        if (shim_charge_again(driver, &charge, result))
            result = ask(address, bytes, flags);
        shim_charge_end(&charge, result, (uintptr_t)address);
    }
    return shim_hook_leave(driver, result);
}

CUresult cuMemHostRegister(void *address, size_t bytes, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    return lock_pages(driver, "cuMemHostRegister",
                      driver ? driver->call.cuMemHostRegister : NULL, address, bytes,
                      flags);
}

CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    return lock_pages(driver, "cuMemHostRegister_v2",
                      driver ? driver->call.cuMemHostRegister_v2 : NULL, address, bytes,
                      flags);
}

CUresult cuMemHostUnregister(void *address)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemHostUnregister)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemHostUnregister(address);
    struct shim_release release = shim_release_begin((uintptr_t)address);
    CUresult result = driver->call.cuMemHostUnregister(address);
    shim_release_end(driver, &release, result);
    return shim_hook_leave(driver, result);
}

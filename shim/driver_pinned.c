/* Page-locked memory of the host that the driver allocates. Charged is what is locked, and
   that is whole pages. */
#include "policy/checked.h"
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/hook.h"
#include "shim/retain.h"

enum { PAGE_BYTES = 4096 }; /* of x86-64 */

enum form { ALLOC_HOST, ALLOC_HOST_V2, HOST_ALLOC };

struct request {
    enum form form;
    void **address;
    size_t bytes;
    unsigned flags; /* of HOST_ALLOC */
};

/* The driver places it at the start of a page. 0 for what the driver refuses. */
static uint64_t placed_bytes(const struct request *request)
{
    uint64_t pages;
    return request->address &&
                   policy_checked_align_up(request->bytes, PAGE_BYTES, UINT64_MAX, &pages)
               ? pages
               : 0;
}

static CUresult ask(const struct shim_driver *driver, const struct request *request)
{
    switch (request->form) {
    case ALLOC_HOST:
        return driver->call.cuMemAllocHost(request->address, (unsigned)request->bytes);
    case ALLOC_HOST_V2:
        return driver->call.cuMemAllocHost_v2(request->address, request->bytes);
    case HOST_ALLOC:
        break;
    }
    return driver->call.cuMemHostAlloc(request->address, request->bytes, request->flags);
}

static struct shim_retain_request kept_as(const struct request *request)
{
    return (struct shim_retain_request){
        .kind = POOL_LEASE_PINNED,
        .flags = request->form == HOST_ALLOC ? request->flags : SHIM_RETAIN_PLAIN,
        .bytes = placed_bytes(request) > 0 ? request->bytes : 0,
    };
}

static bool claim(const struct shim_driver *driver, const struct request *request)
{
    const struct shim_retain_request wanted = kept_as(request);
    uint64_t found;
    if (!shim_retain_claim(driver, &wanted, &found))
        return false;
    *request->address = (void *)(uintptr_t)found;
    return true;
}

static CUresult serve(const struct shim_driver *driver, const char *call,
                      const struct request *request)
{
    const struct shim_retain_request wanted = kept_as(request);
    struct shim_charge charge;
    struct shim_retain_trimmed trimmed = {0};
    shim_retain_make_way(driver, &wanted, &trimmed);
    CUresult result = shim_charge_begin(driver, call, POOL_LEASE_PINNED,
                                        placed_bytes(request), &charge);
    if (result != CUDA_SUCCESS)
        return result;
    charge.trimmed = trimmed;
    result = ask(driver, request);
    if (shim_charge_again(driver, &charge, result))
        result = ask(driver, request);
    uint64_t address = result == CUDA_SUCCESS ? (uintptr_t)*request->address : 0;
    shim_charge_end(&charge, result, address);
    if (result == CUDA_SUCCESS)
        shim_retain_adopt(driver, &wanted, address);
    return result;
}

static CUresult allocate(const struct shim_driver *driver, const char *call,
                         const struct request *request)
{
    if (!shim_hook_enter())
        return ask(driver, request);
    CUresult result = CUDA_SUCCESS;
    if (!claim(driver, request))
        result = serve(driver, call, request);
    return shim_hook_leave(driver, result);
}

CUresult cuMemAllocHost(void **address, unsigned bytes)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {.form = ALLOC_HOST, .address = address, .bytes = bytes};
    return driver && driver->call.cuMemAllocHost
               ? allocate(driver, "cuMemAllocHost", &request)
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemAllocHost_v2(void **address, size_t bytes)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {.form = ALLOC_HOST_V2, .address = address, .bytes = bytes};
    return driver && driver->call.cuMemAllocHost_v2
               ? allocate(driver, "cuMemAllocHost_v2", &request)
               : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {HOST_ALLOC, address, bytes, flags};
    return driver && driver->call.cuMemHostAlloc
               ? allocate(driver, "cuMemHostAlloc", &request)
               : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult release(const struct shim_driver *driver, void *address)
{
    struct shim_release release = shim_release_begin((uintptr_t)address);
    CUresult result = driver->call.cuMemFreeHost(address);
    shim_release_end(driver, &release, result);
    return result;
}

CUresult cuMemFreeHost(void *address)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemFreeHost)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemFreeHost(address);
    CUresult result = CUDA_SUCCESS;
    switch (shim_retain_free(driver, POOL_LEASE_PINNED, (uintptr_t)address)) {
    case SHIM_RETAIN_FREED:
        break;
    case SHIM_RETAIN_TWICE:
        result = driver->call.cuMemFreeHost((void *)SHIM_RETAIN_NOBODYS);
        break;
    case SHIM_RETAIN_UNTOUCHED:
        result = release(driver, address);
        break;
    }
    shim_retain_pay(driver);
    return shim_hook_leave(driver, result);
}

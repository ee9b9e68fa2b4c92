/* Stream-ordered memory: allocations out of a pool of the driver's, frees, and what else changes
   how much a pool has reserved. While any stream is being captured the calls go to the driver
   as they are: an allocation may then be a node of a graph and no memory at all, and the driver
   may not be asked. What was really allocated meanwhile is charged at the next call, since the
   pool's reserve is what counts. */
#include "shim/charge.h"
#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/hook.h"
#include "shim/lease.h"
#include "shim/mempool.h"
#include "shim/place.h"

enum form { ALLOC, ALLOC_PTSZ, FROM_POOL, FROM_POOL_PTSZ };

struct request {
    enum form form;
    const char *call;
    CUdeviceptr *address;
    size_t bytes;
    CUmemoryPool pool; /* of FROM_POOL */
    CUstream stream;
};

static bool is_of_thread(enum form form)
{
    return form == ALLOC_PTSZ || form == FROM_POOL_PTSZ;
}

static CUresult ask(const struct shim_driver *driver, const struct request *request)
{
    switch (request->form) {
    case ALLOC:
        return driver->call.cuMemAllocAsync(request->address, request->bytes,
                                            request->stream);
    case ALLOC_PTSZ:
        return driver->call.cuMemAllocAsync_ptsz(request->address, request->bytes,
                                                 request->stream);
    case FROM_POOL:
        return driver->call.cuMemAllocFromPoolAsync(request->address, request->bytes,
                                                    request->pool, request->stream);
    case FROM_POOL_PTSZ:
        break;
    }
    return driver->call.cuMemAllocFromPoolAsync_ptsz(request->address, request->bytes,
                                                     request->pool, request->stream);
}

/* In the order of the stream that it was allocated in: before that, it may not exist yet. */
static void give_back(const struct shim_driver *driver, const struct request *request,
                      CUdeviceptr address)
{
    if (is_of_thread(request->form) && driver->call.cuMemFreeAsync_ptsz)
        (void)driver->call.cuMemFreeAsync_ptsz(address, request->stream);
    else if (driver->call.cuMemFreeAsync)
        (void)driver->call.cuMemFreeAsync(address, request->stream);
}

/* A stream may belong to another device than the current context. */
static struct shim_device *device_of(const struct shim_driver *driver, CUstream stream)
{
    struct shim_place place;
    CUdevice ordinal = -1;
    if (!shim_place_current(driver, &place))
        return NULL;
    if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
        !driver->call.cuStreamGetDevice ||
        driver->call.cuStreamGetDevice(stream, &ordinal) != CUDA_SUCCESS)
        return place.device;
    return shim_device_get(driver, ordinal);
}

/* NULL where nothing is charged: the driver decides alone. */
static struct shim_mempool *pool_of(const struct shim_driver *driver,
                                    const struct request *request)
{
    if (!request->address || request->bytes == 0 || shim_observe_capturing())
        return NULL;
    struct shim_device *device = device_of(driver, request->stream);
    if (!device)
        return NULL;
    CUmemoryPool pool = request->form == FROM_POOL || request->form == FROM_POOL_PTSZ
                            ? request->pool
                            : shim_mempool_of_device(driver, device);
    return shim_mempool_draw(pool, device, request->bytes);
}

static CUresult draw_from(const struct shim_driver *driver, struct shim_mempool *pool,
                          const struct request *request)
{
    struct shim_draw draw;
    CUresult result =
        shim_mempool_begin(driver, request->call, pool, request->bytes, &draw);
    if (result != CUDA_SUCCESS)
        return result;
    CUdeviceptr before = *request->address;
    shim_device_count(SHIM_DEVICE_ALLOCS);
    result = ask(driver, request);
    if (shim_retain_after_refusal(driver, result, POOL_LEASE_ORDERED, request->bytes,
                                  &draw.trimmed)) {
        shim_device_count(SHIM_DEVICE_ALLOCS);
        result = ask(driver, request);
    }
    if (result != CUDA_SUCCESS) {
        shim_mempool_cancel(driver, &draw, result);
        return result;
    }
    result = shim_mempool_settle(driver, &draw);
    if (result != CUDA_SUCCESS) {
        give_back(driver, request, *request->address);
        *request->address = before;
        draw.admitted_bytes = 0;
        shim_mempool_cancel(driver, &draw, CUDA_SUCCESS);
        return result;
    }
    struct pool_lease lease = {
        .address = *request->address,
        .bytes = request->bytes,
        .owner = shim_mempool_owner(pool),
        .kind = POOL_LEASE_ORDERED,
    };
    shim_lease_open(&lease);
    return CUDA_SUCCESS;
}

static CUresult allocate(const struct shim_driver *driver, const struct request *request)
{
    if (!shim_hook_enter())
        return ask(driver, request);
    struct shim_mempool *pool = pool_of(driver, request);
    CUresult result;
    if (pool) {
        result = draw_from(driver, pool, request);
    } else {
        shim_device_count(SHIM_DEVICE_ALLOCS);
        result = ask(driver, request);
    }
    return shim_hook_leave(driver, result);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {ALLOC, "cuMemAllocAsync", address, bytes, NULL, stream};
    return driver && driver->call.cuMemAllocAsync ? allocate(driver, &request)
                                                  : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {ALLOC_PTSZ, "cuMemAllocAsync_ptsz", address, bytes, NULL,
                              stream};
    return driver && driver->call.cuMemAllocAsync_ptsz ? allocate(driver, &request)
                                                       : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {FROM_POOL, "cuMemAllocFromPoolAsync", address, bytes, pool,
                              stream};
    return driver && driver->call.cuMemAllocFromPoolAsync ? allocate(driver, &request)
                                                          : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes,
                                      CUmemoryPool pool, CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    struct request request = {
        FROM_POOL_PTSZ, "cuMemAllocFromPoolAsync_ptsz", address, bytes, pool, stream};
    return driver && driver->call.cuMemAllocFromPoolAsync_ptsz
               ? allocate(driver, &request)
               : CUDA_ERROR_NOT_INITIALIZED;
}

/* Of memory of any kind: what was allocated at once may be freed in the order of a stream. */
static CUresult release(const struct shim_driver *driver,
                        CUresult (*free_it)(CUdeviceptr address, CUstream stream),
                        CUdeviceptr address, CUstream stream)
{
    if (!free_it)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return free_it(address, stream);
    struct shim_release release = shim_release_begin(address);
    CUresult result = free_it(address, stream);
    shim_release_end(driver, &release, result);
    return shim_hook_leave(driver, result);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    return release(driver, driver ? driver->call.cuMemFreeAsync : NULL, address, stream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
    const struct shim_driver *driver = shim_driver_get();
    return release(driver, driver ? driver->call.cuMemFreeAsync_ptsz : NULL, address,
                   stream);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemPoolCreate)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemPoolCreate(pool, properties);
    if (!shim_hook_enter())
        return result;
    if (result == CUDA_SUCCESS && pool && properties)
        shim_mempool_created(driver, *pool, properties);
    return shim_hook_leave(driver, result);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemPoolDestroy)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemPoolDestroy(pool);
    struct shim_mempool *ending = shim_mempool_ending(pool);
    CUresult result = driver->call.cuMemPoolDestroy(pool);
    shim_mempool_ended(ending, result == CUDA_SUCCESS);
    return shim_hook_leave(driver, result);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes)
{
    const struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemPoolTrimTo)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuMemPoolTrimTo(pool, keep_bytes);
    if (!shim_hook_enter())
        return result;
    if (result == CUDA_SUCCESS)
        shim_mempool_refresh_named(driver, pool);
    return shim_hook_leave(driver, result);
}

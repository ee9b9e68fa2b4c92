/* Which allocations others can reach: another process by a handle, another device by a token,
   or the program by a mark that stays. What is not linear memory is never handed out again,
   and is only counted. */
#include <pthread.h>
#include <stdatomic.h>

#include "shim/driver_observe.h"
#include "shim/hook.h"
#include "shim/retain.h"

/* Memory order: count is a figure, and `some` says whether a look at the table is worth its
   lock; who frees an allocation has heard of its export from whoever exported it. */

static CUdeviceptr exports[SHIM_OBSERVE_EXPORTS_MOST]; /* where allocations start */
static unsigned export_count;
static bool too_many;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three above */
static _Atomic bool some;
static _Atomic uint64_t count;

static void count_one(void)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); /* a figure */
}

/* Where the allocation starts that has this address in it. */
static CUdeviceptr start_of(const struct shim_driver *driver, CUdeviceptr address)
{
    CUdeviceptr start = address;
    size_t bytes;
    if (!driver->call.cuMemGetAddressRange_v2 ||
        driver->call.cuMemGetAddressRange_v2(&start, &bytes, address) != CUDA_SUCCESS)
        return address;
    return start;
}

static unsigned index_of(CUdeviceptr start)
{
    unsigned index = 0;
    while (index < export_count && exports[index] != start)
        index++;
    return index;
}

static void note(const struct shim_driver *driver, CUdeviceptr address)
{
    CUdeviceptr start = start_of(driver, address);
    count_one();
    pthread_mutex_lock(&lock);
    unsigned index = index_of(start);
    if (index < SHIM_OBSERVE_EXPORTS_MOST)
        exports[index] = start;
    else
        too_many = true;
    if (index == export_count && index < SHIM_OBSERVE_EXPORTS_MOST)
        export_count++;
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&some, true, memory_order_relaxed);
}

bool shim_observe_take_exported(CUdeviceptr address)
{
    if (!atomic_load_explicit(&some, memory_order_relaxed))
        return false;
    pthread_mutex_lock(&lock);
    unsigned index = index_of(address);
    bool found = index < export_count;
    if (found)
        exports[index] = exports[--export_count];
    found = found || too_many;
    pthread_mutex_unlock(&lock);
    return found;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuIpcGetMemHandle)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuIpcGetMemHandle(handle, address);
    address = shim_retain_seen(driver, address, NULL);
    CUresult result = driver->call.cuIpcGetMemHandle(handle, address);
    if (result == CUDA_SUCCESS)
        note(driver, address);
    return shim_hook_leave(driver, result);
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t bytes,
                                       CUmemRangeHandleType type,
                                       unsigned long long flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemGetHandleForAddressRange)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemGetHandleForAddressRange(handle, address, bytes, type,
                                                          flags);
    address = shim_retain_seen(driver, address, NULL);
    CUresult result =
        driver->call.cuMemGetHandleForAddressRange(handle, address, bytes, type, flags);
    if (result == CUDA_SUCCESS)
        note(driver, address);
    return shim_hook_leave(driver, result);
}

/* The size of an allocation is what the program asked for. */
static void correct_size(void *value, CUpointer_attribute attribute, uint64_t requested)
{
    if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE && requested > 0 && value)
        *(size_t *)value = requested;
}

/* Tokens let another device's driver map the allocation. */
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuPointerGetAttribute)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuPointerGetAttribute(value, attribute, address);
    uint64_t requested;
    address = shim_retain_seen(driver, address, &requested);
    CUresult result = driver->call.cuPointerGetAttribute(value, attribute, address);
    if (result == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
        note(driver, address);
    if (result == CUDA_SUCCESS)
        correct_size(value, attribute, requested);
    return shim_hook_leave(driver, result);
}

static bool asks_for_tokens(const CUpointer_attribute *attributes, unsigned how_many)
{
    for (unsigned i = 0; i < how_many; i++)
        if (attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
            return true;
    return false;
}

CUresult cuPointerGetAttributes(unsigned how_many, CUpointer_attribute *attributes,
                                void **values, CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuPointerGetAttributes)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuPointerGetAttributes(how_many, attributes, values, address);
    uint64_t requested;
    address = shim_retain_seen(driver, address, &requested);
    CUresult result =
        driver->call.cuPointerGetAttributes(how_many, attributes, values, address);
    if (result == CUDA_SUCCESS && asks_for_tokens(attributes, how_many))
        note(driver, address);
    for (unsigned i = 0; requested > 0 && result == CUDA_SUCCESS && i < how_many; i++)
        correct_size(values[i], attributes[i], requested);
    return shim_hook_leave(driver, result);
}

/* Nobody else has the allocation then, but copies that touch it behave differently, and the next
   owner would not expect that. A mark that is taken off again counts, too: the token query, by
   which others get one, sets it unasked. */
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuPointerSetAttribute)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuPointerSetAttribute(value, attribute, address);
    address = shim_retain_seen(driver, address, NULL);
    CUresult result = driver->call.cuPointerSetAttribute(value, attribute, address);
    if (result == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        note(driver, address);
    return shim_hook_leave(driver, result);
}

CUresult cuMemExportToShareableHandle(void *shareable,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemExportToShareableHandle)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemExportToShareableHandle(shareable, handle, type, flags);
    CUresult result =
        driver->call.cuMemExportToShareableHandle(shareable, handle, type, flags);
    if (result == CUDA_SUCCESS)
        count_one();
    return shim_hook_leave(driver, result);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *shareable, CUdeviceptr address)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemPoolExportPointer)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemPoolExportPointer(shareable, address);
    CUresult result = driver->call.cuMemPoolExportPointer(shareable, address);
    if (result == CUDA_SUCCESS)
        count_one();
    return shim_hook_leave(driver, result);
}

CUresult cuMemPoolExportToShareableHandle(void *shareable, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuMemPoolExportToShareableHandle)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuMemPoolExportToShareableHandle(shareable, pool, type,
                                                             flags);
    CUresult result =
        driver->call.cuMemPoolExportToShareableHandle(shareable, pool, type, flags);
    if (result == CUDA_SUCCESS)
        count_one();
    return shim_hook_leave(driver, result);
}

void shim_export_report(struct pool_stats *stats)
{
    stats->observed_exports =
        atomic_load_explicit(&count, memory_order_relaxed); /* a figure */
}

void shim_export_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

void shim_export_fork_done(void)
{
    pthread_mutex_unlock(&lock);
}

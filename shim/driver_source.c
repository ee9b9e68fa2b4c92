#include "shim/driver_source.h"

#include <pthread.h>

#include "shim/driver_observe.h"
#include "shim/place.h"

/* Memory order: `stream` is stored by whoever made it, with release, and acquired by who finds
   it. The event belongs to the one thread that polls the context (pool/epochs.h). */

/* What we have in a context; it ends with it. */
struct own {
    uint32_t owner; /* 0: free. Under the lock */
    bool failed;    /* the driver would not record the event */
    CUevent event;
    _Atomic(CUstream) stream;
};

static struct own owns[POOL_EPOCH_CONTEXTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct own *find(uint32_t owner)
{
    for (unsigned i = 0; i < POOL_EPOCH_CONTEXTS; i++)
        if (owns[i].owner == owner)
            return &owns[i];
    return NULL;
}

static struct own *enter(uint32_t owner)
{
    pthread_mutex_lock(&lock);
    struct own *own = find(owner);
    struct own *empty = own ? NULL : find(0);
    if (empty) {
        empty->owner = owner;
        own = empty;
    }
    pthread_mutex_unlock(&lock);
    return own;
}

void shim_source_ended(uint32_t owner)
{
    pthread_mutex_lock(&lock);
    struct own *own = find(owner);
    if (own) {
        own->owner = 0;
        own->failed = false;
        own->event = NULL;
        atomic_store_explicit(&own->stream, NULL, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
}

/* A call of ours: in a context, and out of the way of captures. */
struct visit {
    CUcontext handle;
    bool pushed;
    bool alone;
    bool relaxed;
    CUstreamCaptureMode mode; /* the thread's own, meanwhile */
};

static bool push(const struct shim_driver *driver, struct visit *visit)
{
    if (shim_observe_current(driver) == visit->handle)
        return true;
    if (!driver->call.cuCtxPushCurrent_v2 || !driver->call.cuCtxPopCurrent_v2 ||
        driver->call.cuCtxPushCurrent_v2(visit->handle) != CUDA_SUCCESS)
        return false;
    visit->pushed = true;
    return true;
}

static void pop(const struct shim_driver *driver, const struct visit *visit)
{
    CUcontext popped;
    if (visit->pushed)
        (void)driver->call.cuCtxPopCurrent_v2(&popped);
}

/* Source: cuda.h of CUDA 13.0 on cuThreadExchangeStreamCaptureMode: in relaxed mode a thread may
   make calls that another thread's capture would otherwise forbid. */
static void relax(const struct shim_driver *driver, struct visit *visit)
{
    visit->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    visit->relaxed =
        driver->call.cuThreadExchangeStreamCaptureMode &&
        driver->call.cuThreadExchangeStreamCaptureMode(&visit->mode) == CUDA_SUCCESS;
}

static void leave(const struct shim_driver *driver, struct visit *visit)
{
    if (visit->relaxed)
        (void)driver->call.cuThreadExchangeStreamCaptureMode(&visit->mode);
    if (visit->alone)
        shim_observe_end_own();
}

/* `alone`: no capture may begin before the end. */
static bool begin(const struct shim_driver *driver, uint32_t owner, bool alone,
                  struct visit *visit)
{
    *visit = (struct visit){.handle = shim_place_handle(owner)};
    if (!visit->handle || shim_observe_sticky(visit->handle))
        return false;
    visit->alone = alone && shim_observe_begin_own();
    if (alone ? !visit->alone : shim_observe_capturing())
        return false;
    relax(driver, visit);
    if (push(driver, visit))
        return true;
    leave(driver, visit);
    return false;
}

static bool end(const struct shim_driver *driver, struct visit *visit, CUresult result)
{
    (void)shim_observe_result(driver, result);
    pop(driver, visit);
    leave(driver, visit);
    return result == CUDA_SUCCESS;
}

bool shim_source_has_events(const struct shim_driver *driver)
{
    return driver->call.cuCtxRecordEvent && driver->call.cuEventCreate &&
           driver->call.cuEventQuery;
}

bool shim_source_event_record(uint32_t owner)
{
    const struct shim_driver *driver = shim_driver_get();
    struct visit visit;
    struct own *own = enter(owner);
    if (!own || own->failed || !begin(driver, owner, true, &visit))
        return false;
    CUresult result = CUDA_SUCCESS;
    if (!own->event)
        result = driver->call.cuEventCreate(&own->event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = driver->call.cuCtxRecordEvent(visit.handle, own->event);
    own->failed = result != CUDA_SUCCESS;
    return end(driver, &visit, result);
}

enum pool_event shim_source_event_state(uint32_t owner)
{
    const struct shim_driver *driver = shim_driver_get();
    struct visit visit;
    struct own *own = enter(owner);
    if (!own || !own->event)
        return POOL_EVENT_LOST;
    if (!begin(driver, owner, true, &visit))
        return POOL_EVENT_PENDING;
    CUresult result = driver->call.cuEventQuery(own->event);
    if (end(driver, &visit, result))
        return POOL_EVENT_DONE;
    return result == CUDA_ERROR_NOT_READY ? POOL_EVENT_PENDING : POOL_EVENT_LOST;
}

static CUresult free_block(const struct shim_driver *driver,
                           const struct pool_device_taken *taken)
{
    shim_device_count(SHIM_DEVICE_FREES);
    if (taken->key.kind == POOL_BLOCK_PINNED)
        return driver->call.cuMemFreeHost((void *)(uintptr_t)taken->address);
    return driver->call.cuMemFree_v2(taken->address);
}

bool shim_source_free(const struct shim_driver *driver,
                      const struct pool_device_taken *taken)
{
    struct visit visit;
    if (!begin(driver, taken->key.context, false, &visit))
        return false;
    return end(driver, &visit, free_block(driver, taken));
}

bool shim_source_synchronise(const struct shim_driver *driver, uint32_t owner)
{
    struct visit visit;
    if (!driver->call.cuCtxSynchronize || !begin(driver, owner, true, &visit))
        return false;
    return end(driver, &visit, driver->call.cuCtxSynchronize());
}

/* A stream of our own waits for no work of the program's. Of two that are made at once, one is
   one too many. */
static CUstream stream_of(const struct shim_driver *driver, struct own *own)
{
    CUstream stream = atomic_load_explicit(&own->stream, memory_order_acquire);
    CUstream made = NULL;
    if (stream || driver->call.cuStreamCreate(&made, CU_STREAM_NON_BLOCKING))
        return stream;
    if (atomic_compare_exchange_strong_explicit(
            &own->stream, &stream, made, memory_order_release, memory_order_acquire))
        return made;
    (void)driver->call.cuStreamDestroy_v2(made);
    return stream;
}

static CUresult fill(const struct shim_driver *driver, struct own *own, uint64_t address,
                     uint64_t bytes, unsigned char value)
{
    CUstream stream = stream_of(driver, own);
    CUresult result = stream ? driver->call.cuMemsetD8Async(address, value, bytes, stream)
                             : CUDA_ERROR_OUT_OF_MEMORY;
    return result == CUDA_SUCCESS ? driver->call.cuStreamSynchronize(stream) : result;
}

bool shim_source_fill(const struct shim_driver *driver, uint32_t owner, uint64_t address,
                      uint64_t bytes, unsigned char value)
{
    struct visit visit;
    struct own *own = enter(owner);
    if (!own || !driver->call.cuStreamCreate || !driver->call.cuMemsetD8Async ||
        !driver->call.cuStreamSynchronize || !driver->call.cuStreamDestroy_v2 ||
        !begin(driver, owner, true, &visit))
        return false;
    return end(driver, &visit, fill(driver, own, address, bytes, value));
}

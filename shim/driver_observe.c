#include "shim/driver_observe.h"

#include <pthread.h>
#include <stdatomic.h>

#include "shim/retain.h"

/* Memory order
   [A] Each stamp is one read-modify-write of one clock, which all have one order. A free's stamp
       is taken after its work was submitted and released; a synchronisation's is acquired before
       the driver is called. So the driver is asked to wait after it was given all work of the
       frees that have a lower stamp.

   [B] Figures. */

/* What there is to remember of one context. */
struct context {
    CUcontext handle; /* NULL: the entry is free */
    uint64_t synchronised;
    bool sticky;
};

/* All under the lock. */
static struct context contexts[SHIM_OBSERVE_CONTEXTS_MOST];
static unsigned context_count; /* entries below are in use, or were */
static bool sticky_everywhere; /* an error whose context has no entry, or none at all */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t sync_count, sticky_count;

/* The entry of a context; NULL when it has none. */
static struct context *find(CUcontext handle)
{
    for (unsigned i = 0; i < context_count; i++)
        if (contexts[i].handle == handle)
            return &contexts[i];
    return NULL;
}

/* The same, a new one if it must be; NULL when there is no room. */
static struct context *find_or_add(CUcontext handle)
{
    struct context *context = find(handle);
    if (context)
        return context;
    context = find(NULL);
    if (!context && context_count < SHIM_OBSERVE_CONTEXTS_MOST)
        context = &contexts[context_count++];
    if (context)
        *context = (struct context){.handle = handle};
    return context;
}

uint64_t shim_observe_stamp(void)
{
    return shim_retain_stamp(); /* A */
}

void shim_observe_sync_ended(CUcontext handle, uint64_t stamp)
{
    atomic_fetch_add_explicit(&sync_count, 1, memory_order_relaxed); /* B */
    if (!handle)
        return;
    pthread_mutex_lock(&lock);
    struct context *context = find_or_add(handle);
    /* Of two that ran at once, the later one may end first. */
    if (context && context->synchronised < stamp)
        context->synchronised = stamp;
    pthread_mutex_unlock(&lock);
}

uint64_t shim_observe_synchronised(CUcontext handle)
{
    if (!handle)
        return 0;
    pthread_mutex_lock(&lock);
    const struct context *context = find(handle);
    uint64_t stamp = context ? context->synchronised : 0;
    pthread_mutex_unlock(&lock);
    return stamp;
}

/* Source: the comments on CUresult in cuda.h of CUDA 13.0, "leaves the process in an
   inconsistent state and any further CUDA work will return the same error", and of
   CUDA_ERROR_ASSERT "the context cannot be used anymore". Of the first two it says only that
   the hardware has lost data. */
static bool is_sticky(CUresult result)
{
    static const short sticky[] = {
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_CONTAINED,
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK,
        CUDA_ERROR_MPS_CLIENT_TERMINATED,
        CUDA_ERROR_EXTERNAL_DEVICE,
    };
    for (unsigned i = 0; i < sizeof(sticky) / sizeof(*sticky); i++)
        if (result == sticky[i])
            return true;
    return false;
}

CUcontext shim_observe_current(const struct shim_driver *driver)
{
    CUcontext context = NULL;
    if (!driver->call.cuCtxGetCurrent ||
        driver->call.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return NULL;
    return context;
}

void shim_observe_failure(const struct shim_driver *driver, CUresult result)
{
    if (!is_sticky(result))
        return;
    atomic_fetch_add_explicit(&sticky_count, 1, memory_order_relaxed); /* B */
    CUcontext handle = shim_observe_current(driver);
    pthread_mutex_lock(&lock);
    struct context *context = handle ? find_or_add(handle) : NULL;
    if (context)
        context->sticky = true;
    else
        sticky_everywhere = true;
    pthread_mutex_unlock(&lock);
}

bool shim_observe_sticky(CUcontext handle)
{
    if (atomic_load_explicit(&sticky_count, memory_order_relaxed) == 0) /* B */
        return false;
    pthread_mutex_lock(&lock);
    const struct context *context = handle ? find(handle) : NULL;
    bool sticky = sticky_everywhere || (context && context->sticky);
    pthread_mutex_unlock(&lock);
    return sticky;
}

void shim_observe_context_ended(CUcontext handle, uint64_t stamp)
{
    if (!handle)
        return;
    shim_capture_context_ended(handle, stamp);
    pthread_mutex_lock(&lock);
    struct context *context = find(handle);
    if (context)
        *context = (struct context){.handle = NULL};
    pthread_mutex_unlock(&lock);
}

void shim_observe_report(struct pool_stats *stats)
{
    stats->observed_context_syncs =
        atomic_load_explicit(&sync_count, memory_order_relaxed); /* B */
    stats->observed_sticky_errors =
        atomic_load_explicit(&sticky_count, memory_order_relaxed); /* B */
    shim_capture_report(stats);
    shim_export_report(stats);
}

void shim_observe_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
    shim_capture_fork_prepare();
    shim_export_fork_prepare();
}

void shim_observe_fork_done(void)
{
    shim_export_fork_done();
    shim_capture_fork_done();
    pthread_mutex_unlock(&lock);
}

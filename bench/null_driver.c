/* A libcuda.so.1 that does next to nothing: an allocation is a number, and each thread has its
   own. What bench/pairs measures on it is the library alone, without a lock that two threads
   would wait for in the simulated driver. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef int status;
enum { SUCCESS = 0 };

EXPORT status cuInit(unsigned flags);
EXPORT status cuCtxCreate_v2(void **context, unsigned flags, int device);
EXPORT status cuCtxSetCurrent(void *context);
EXPORT status cuCtxGetCurrent(void **context);
EXPORT status cuCtxGetDevice(int *device);
EXPORT status cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT status cuMemAlloc_v2(uint64_t *address, size_t bytes);
EXPORT status cuMemFree_v2(uint64_t address);

static _Thread_local void *current;

/* What this thread freed last comes first, as it would from most allocators. */
enum { KEPT = 64, ADDRESS_STEP = 512 };
static _Thread_local uint64_t kept[KEPT];
static _Thread_local unsigned kept_count;
static _Atomic uint64_t last_address = (uint64_t)0x7f << 40;

status cuInit(unsigned flags)
{
    (void)flags;
    return SUCCESS;
}

status cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    static char only;
    (void)flags;
    (void)device;
    *context = current = &only;
    return SUCCESS;
}

status cuCtxSetCurrent(void *context)
{
    current = context;
    return SUCCESS;
}

status cuCtxGetCurrent(void **context)
{
    *context = current;
    return SUCCESS;
}

status cuCtxGetDevice(int *device)
{
    *device = 0;
    return SUCCESS;
}

status cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 40;
    return SUCCESS;
}

status cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    (void)bytes;
    *address = kept_count > 0
                   ? kept[--kept_count]
                   : ADDRESS_STEP + atomic_fetch_add_explicit(&last_address, ADDRESS_STEP,
                                                              memory_order_relaxed);
    return SUCCESS;
}

status cuMemFree_v2(uint64_t address)
{
    if (kept_count < KEPT)
        kept[kept_count++] = address;
    return SUCCESS;
}

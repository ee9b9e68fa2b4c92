#include "shim/device.h"

#include <pthread.h>
#include <stdatomic.h>

#include "pool/lease.h"
#include "shim/init.h"
#include "shim/host_source.h"
#include "shim/verbose.h"

/* Memory order
   [A] A device's ceiling is written under `resolving` and published by the release store of
       READY; whoever finds READY by an acquire load may read it from then on.

   [B] The counters are figures. */

enum { UNRESOLVED, READY };

static struct {
    struct shim_device device;
    _Atomic int state;
} devices[SHIM_DEVICES_MOST];

static pthread_mutex_t resolving = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t leases_once = PTHREAD_ONCE_INIT;
static struct pool_leases leases;
_Atomic uint64_t shim_device_allocs, shim_device_frees;

static void open_leases(void)
{
    pool_leases_open(&leases, &shim_host_source);
}

void shim_device_open(void)
{
    pthread_once(&leases_once, open_leases);
}

/* The driver is asked outside the lock; two threads that ask get the same answer. */
static bool resolve(const struct shim_driver *driver, CUdevice ordinal)
{
    size_t limit_bytes = 0;
    if (!driver->call.cuDeviceTotalMem_v2 ||
        driver->call.cuDeviceTotalMem_v2(&limit_bytes, ordinal) != CUDA_SUCCESS)
        return false;
    const struct policy_options *options = &shim_settings()->options;
    struct policy_ceiling ceiling =
        policy_ceiling_resolve(&options->device_mem, options->headroom, limit_bytes);
    bool first = false;
    pthread_mutex_lock(&resolving);
    if (atomic_load_explicit(&devices[ordinal].state, memory_order_relaxed) ==
        UNRESOLVED) {
        devices[ordinal].device.ordinal = (unsigned)ordinal;
        devices[ordinal].device.ceiling = ceiling;
        atomic_store_explicit(&devices[ordinal].state, READY,
                              memory_order_release); /* A */
        first = true;
    }
    pthread_mutex_unlock(&resolving);
    if (first)
        shim_verbose_device(driver, (unsigned)ordinal, &ceiling);
    return true;
}

struct shim_device *shim_device_get(const struct shim_driver *driver, CUdevice ordinal)
{
    if (ordinal < 0 || ordinal >= SHIM_DEVICES_MOST)
        return NULL;
    if (atomic_load_explicit(&devices[ordinal].state, memory_order_acquire) !=
            READY && /* A */
        !resolve(driver, ordinal))
        return NULL;
    return &devices[ordinal].device;
}

struct shim_device *shim_device_current(const struct shim_driver *driver)
{
    CUdevice ordinal = -1;
    if (!driver->call.cuCtxGetDevice ||
        driver->call.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
        return NULL;
    return shim_device_get(driver, ordinal);
}

void shim_device_lease(struct shim_device *device, CUdeviceptr address, size_t bytes,
                       CUcontext owner)
{
    struct pool_lease lease = {address, bytes, owner, device->ordinal};
    struct pool_lease ended;
    shim_device_open();
    if (!pool_lease_open(&leases, &lease, &ended)) {
        /* Without a record nobody could take the charge off again. */
        policy_ledger_refund(&device->account, bytes);
        return;
    }
    if (ended.address)
        shim_device_settle(&devices[ended.device].device, ended.bytes);
}

struct shim_device *shim_device_unlease(CUdeviceptr address, size_t *bytes,
                                        CUcontext *owner)
{
    struct pool_lease lease;
    shim_device_open();
    if (!pool_lease_close(&leases, address, &lease))
        return NULL;
    *bytes = lease.bytes;
    *owner = (CUcontext)(uintptr_t)lease.owner;
    return &devices[lease.device].device;
}

void shim_device_settle(struct shim_device *device, size_t bytes)
{
    policy_ledger_refund(&device->account, bytes);
}

static void settle_lease(void *context, const struct pool_lease *lease)
{
    (void)context;
    shim_device_settle(&devices[lease->device].device, lease->bytes);
}

void shim_device_end_context(CUcontext owner)
{
    shim_device_open();
    pool_leases_close_owner(&leases, owner, settle_lease, NULL);
}

size_t shim_device_report(struct pool_device_stats stats[SHIM_DEVICES_MOST])
{
    size_t count = 0;
    for (unsigned ordinal = 0; ordinal < SHIM_DEVICES_MOST; ordinal++) {
        const struct shim_device *device = &devices[ordinal].device;
        if (atomic_load_explicit(&devices[ordinal].state, memory_order_acquire) !=
            READY) /* A */
            continue;
        stats[count++] = (struct pool_device_stats){
            .ordinal = ordinal,
            .ceiling = device->ceiling,
            .charged_bytes = policy_ledger_charged(&device->account),
            .peak_charged_bytes = atomic_load_explicit(&device->account.peak_bytes,
                                                       memory_order_relaxed), /* B */
            .refusals = atomic_load_explicit(&device->account.refusals,
                                             memory_order_relaxed), /* B */
        };
    }
    return count;
}

void shim_device_fork_prepare(void)
{
    shim_device_open();
    pthread_mutex_lock(&resolving);
    pool_leases_fork_prepare(&leases);
}

void shim_device_fork_done(void)
{
    pool_leases_fork_done(&leases);
    pthread_mutex_unlock(&resolving);
}

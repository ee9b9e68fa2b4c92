#include "shim/device.h"

#include <pthread.h>

#include "shim/init.h"
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

enum { PLACES = 16 };

static struct {
    _Alignas(64) _Atomic uint64_t calls[SHIM_DEVICE_CALLS];
} places[PLACES];
static _Atomic unsigned last_place;

/* Where this thread counts; 0: not chosen yet. */
static __thread unsigned place __attribute__((tls_model("initial-exec")));

/* The driver is asked outside the lock; two threads that ask get the same answer. */
static bool resolve(const struct shim_driver *driver, CUdevice ordinal)
{
    size_t limit_bytes = 0;
    if (!driver->call.cuDeviceTotalMem_v2 ||
        driver->call.cuDeviceTotalMem_v2(&limit_bytes, ordinal) != CUDA_SUCCESS)
        return false;
    const struct policy_options *options = &shim_settings()->options;
    struct policy_ceiling ceiling = policy_ceiling_resolve(
        policy_ceilings_of(&options->device_mem, (uint64_t)ordinal), options->headroom,
        limit_bytes);
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

struct shim_device *shim_device_known(unsigned ordinal)
{
    return &devices[ordinal].device;
}

void shim_device_count_managed(struct shim_device *device, int64_t bytes)
{
    atomic_fetch_add_explicit(&device->managed_bytes, bytes,
                              memory_order_relaxed); /* B */
}

void shim_device_count(enum shim_device_calls calls)
{
    if (place == 0)
        place =
            1 + atomic_fetch_add_explicit(&last_place, 1, memory_order_relaxed); /* B */
    atomic_fetch_add_explicit(&places[place % PLACES].calls[calls], 1,
                              memory_order_relaxed); /* B */
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

void shim_device_note(struct shim_device *device, size_t free_bytes, size_t total_bytes)
{
    uint64_t used = above(total_bytes, free_bytes);
    uint64_t external = above(used, policy_ledger_charged(&device->account));
    atomic_store_explicit(&device->observed_bytes, used, memory_order_relaxed); /* B */
    atomic_store_explicit(&device->external_bytes, external,
                          memory_order_relaxed);                             /* B */
    atomic_store_explicit(&device->is_observed, true, memory_order_relaxed); /* B */
}

void shim_device_observe(const struct shim_driver *driver, struct shim_device *device)
{
    size_t free_bytes, total_bytes;
    if (driver->call.cuMemGetInfo_v2 &&
        driver->call.cuMemGetInfo_v2(&free_bytes, &total_bytes) == CUDA_SUCCESS)
        shim_device_note(device, free_bytes, total_bytes);
}

static uint64_t figure(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* B */
}

uint64_t shim_device_counted(enum shim_device_calls calls)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < PLACES; i++)
        count += figure(&places[i].calls[calls]);
    return count;
}

static struct pool_device_stats take_stock(const struct shim_device *device)
{
    int64_t managed = atomic_load_explicit(&device->managed_bytes, memory_order_relaxed);
    return (struct pool_device_stats){
        .ordinal = device->ordinal,
        .ceiling = device->ceiling,
        .charged_bytes = policy_ledger_charged(&device->account),
        .peak_charged_bytes = figure(&device->account.peak_bytes),
        .managed_bytes = managed > 0 ? (uint64_t)managed : 0,
        .refusals = figure(&device->account.refusals),
        .is_observed =
            atomic_load_explicit(&device->is_observed, memory_order_relaxed), /* B */
        .observed_bytes = figure(&device->observed_bytes),
        .external_bytes = figure(&device->external_bytes),
    };
}

size_t shim_device_report(struct pool_device_stats stats[SHIM_DEVICES_MOST])
{
    size_t count = 0;
    for (unsigned ordinal = 0; ordinal < SHIM_DEVICES_MOST; ordinal++)
        if (atomic_load_explicit(&devices[ordinal].state, memory_order_acquire) ==
            READY) /* A */
            stats[count++] = take_stock(&devices[ordinal].device);
    return count;
}

void shim_device_fork_prepare(void)
{
    pthread_mutex_lock(&resolving);
}

void shim_device_fork_done(void)
{
    pthread_mutex_unlock(&resolving);
}

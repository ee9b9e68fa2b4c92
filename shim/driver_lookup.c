#include "shim/driver_lookup.h"

#include <stdatomic.h>

#include "shim/driver.h"
#include "shim/elf.h"
#include "shim/guard.h"
#include "shim/init.h"

/* Memory order
   [A] answered[] is filled by whoever looks up first, several threads at once if they
   will: all write what the driver answers. The release store of answers_known publishes
   it to later look-ups, which acquire it. [B] unknown is a figure. */

enum {
    KNOWN_VERSION = 13000, /* CUDA 13.0: our rows list every form of a base up to here */
};

static _Atomic uint64_t unknown;

static shim_function ask(const struct shim_driver *driver, const struct shim_hook *hook)
{
    void *function = NULL;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (driver->call.cuGetProcAddress_v2) {
        CUdriverProcAddressQueryResult status = 0;
        result = driver->call.cuGetProcAddress_v2(hook->base, &function, hook->since,
                                                  hook->flags, &status);
    } else if (driver->call.cuGetProcAddress) {
        result = driver->call.cuGetProcAddress(hook->base, &function, hook->since,
                                               hook->flags);
    }
    return result == CUDA_SUCCESS ? (shim_function)(uintptr_t)function : NULL;
}

/* dlsym and cuGetProcAddress need not agree: both answers are kept. */
static void learn(struct shim_driver *driver)
{
    if (atomic_load_explicit(&driver->answers_known, memory_order_acquire)) /* A */
        return;
    for (int id = 0; id < SHIM_HOOK_COUNT; id++)
        atomic_store_explicit(&driver->answered[id], ask(driver, &shim_hooks[id]),
                              memory_order_relaxed);                           /* A */
    atomic_store_explicit(&driver->answers_known, true, memory_order_release); /* A */
}

static bool is_answer(struct shim_driver *driver, int id, shim_function function)
{
    return function == driver->real[id] ||
           function ==
               atomic_load_explicit(&driver->answered[id], memory_order_relaxed); /* A */
}

/* The row that the driver's own rule picks: the newest form not newer than asked. */
static int row_by_rule(const char *base, int version, cuuint64_t flags)
{
    int best = -1;
    for (int id = 0; id < SHIM_HOOK_COUNT; id++) {
        const struct shim_hook *hook = &shim_hooks[id];
        if (!shim_elf_same(hook->base, base) || hook->since > version ||
            (hook->flags & ~flags) != 0)
            continue;
        if (best < 0 || hook->since > shim_hooks[best].since)
            best = id;
    }
    return best;
}

static void *swap(struct shim_driver *driver, const char *base, void *returned,
                  int version, cuuint64_t flags)
{
    bool hooked = false;
    for (int id = 0; id < SHIM_HOOK_COUNT; id++) {
        if (!shim_elf_same(shim_hooks[id].base, base))
            continue;
        if (!hooked)
            learn(driver);
        hooked = true;
        if (is_answer(driver, id, (shim_function)(uintptr_t)returned))
            return shim_function_pointer(shim_hooks[id].function);
    }
    if (!hooked)
        return returned;
    int id = version <= KNOWN_VERSION ? row_by_rule(base, version, flags) : -1;
    if (id >= 0)
        return shim_function_pointer(shim_hooks[id].function);
    /* Below our first row it is an older form that we do not hook, as the driver says. */
    if (version > KNOWN_VERSION)
        atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed); /* B */
    return returned;
}

static void replace(struct shim_driver *driver, const char *symbol, void **function,
                    int version, cuuint64_t flags)
{
    if (!symbol || !function || !*function || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return;
    *function = swap(driver, symbol, *function, version, flags);
    shim_guard_leave();
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                          cuuint64_t flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuGetProcAddress)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuGetProcAddress(symbol, function, version, flags);
    if (result == CUDA_SUCCESS)
        replace(driver, symbol, function, version, flags);
    return result;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                             cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuGetProcAddress_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result =
        driver->call.cuGetProcAddress_v2(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS)
        replace(driver, symbol, function, version, flags);
    return result;
}

uint64_t shim_lookup_unknown(void)
{
    return atomic_load_explicit(&unknown, memory_order_relaxed); /* B */
}

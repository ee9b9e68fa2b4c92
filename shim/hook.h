/* How every hook of a driver function that accounts for memory begins and ends. */
#ifndef SHIM_HOOK_H
#define SHIM_HOOK_H

#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/guard.h"
#include "shim/init.h"

/* Whether the hook has work to do, and shim_hook_leave must follow; false where the library
   is off, and inside ourselves: then the driver's function is called and nothing else. */
static inline bool shim_hook_enter(void)
{
    return shim_settings()->options.enabled && shim_guard_enter();
}

/* Hands the result on, and with it what it says of the context. */
static inline CUresult shim_hook_leave(const struct shim_driver *driver, CUresult result)
{
    shim_guard_leave();
    return shim_observe_result(driver, result);
}

#endif

/* Each device's ceiling and what is charged against it, and the leases of what was handed
   out. Asks the driver for a device's size once; otherwise calls nothing outside. */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/ledger.h"
#include "pool/stats.h"
#include "shim/driver.h"

enum {
    SHIM_DEVICES_MOST =
        64, /* more devices than a node has; beyond it nothing is limited */
};

struct shim_device {
    unsigned ordinal;
    struct policy_ceiling ceiling;
    struct policy_ledger_account account;
};

/* Before the first lease. */
void shim_device_open(void);

/* The device with this ordinal, its ceiling resolved; NULL when the driver does not say
   how large it is or there are too many. */
struct shim_device *shim_device_get(const struct shim_driver *driver, CUdevice ordinal);

/* The device of the calling thread's current context; NULL when there is none. */
struct shim_device *shim_device_current(const struct shim_driver *driver);

/* A charged allocation was handed out: remembers it until it ends. */
void shim_device_lease(struct shim_device *device, CUdeviceptr address, size_t bytes,
                       CUcontext owner);

/* Takes the lease of an address out, if we have one, with its device; the bytes stay
   charged until shim_device_settle, or are leased again. */
struct shim_device *shim_device_unlease(CUdeviceptr address, size_t *bytes,
                                        CUcontext *owner);

/* The bytes are free: takes them off the device's charge. */
void shim_device_settle(struct shim_device *device, size_t bytes);

/* A context has ended, and with it all that it owned. */
void shim_device_end_context(CUcontext owner);

/* Fills `stats` with the devices that were used; returns how many. */
size_t shim_device_report(struct pool_device_stats stats[SHIM_DEVICES_MOST]);

/* Allocations and frees that reached the driver. */
extern _Atomic uint64_t shim_device_allocs, shim_device_frees;

/* Around a fork. */
void shim_device_fork_prepare(void);
void shim_device_fork_done(void);

#endif

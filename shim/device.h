/* Each device's ceiling, what is charged against it, and what the driver was last seen to say
   of it. */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <stdatomic.h>
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
    /* Each charge reads both, and one cache line has them. */
    _Alignas(64) struct policy_ledger_account account;
    struct policy_ceiling ceiling;
    unsigned ordinal;
    _Atomic int64_t managed_bytes; /* of what is charged; a figure */
    /* What the driver said was in use of the whole device, and how much of that nobody here
       was charged for, the last time that it was asked. Figures. */
    _Atomic uint64_t observed_bytes;
    _Atomic uint64_t external_bytes;
    _Atomic bool is_observed;
};

/* The device with this ordinal, its ceiling resolved; NULL when the driver does not say
   how large it is or there are too many. */
struct shim_device *shim_device_get(const struct shim_driver *driver, CUdevice ordinal);

/* The same for one that was got before. */
struct shim_device *shim_device_known(unsigned ordinal);

/* So much more, or less, of what is charged is managed memory. */
void shim_device_count_managed(struct shim_device *device, int64_t bytes);

/* What the driver itself says of the device, which is the one of the current context:
   notes it; or asks first. Asked only where it costs the program nothing that it would
   notice, before a refusal. */
void shim_device_note(struct shim_device *device, size_t free_bytes, size_t total_bytes);
void shim_device_observe(const struct shim_driver *driver, struct shim_device *device);

/* Fills `stats` with the devices that were used; returns how many. */
size_t shim_device_report(struct pool_device_stats stats[SHIM_DEVICES_MOST]);

/* Counts a call that reached the driver. Threads count in places of their own: one for all
   would go from processor to processor at each call. */
enum shim_device_calls { SHIM_DEVICE_ALLOCS, SHIM_DEVICE_FREES, SHIM_DEVICE_CALLS };

void shim_device_count(enum shim_device_calls calls);
uint64_t shim_device_counted(enum shim_device_calls calls);

/* Around a fork. */
void shim_device_fork_prepare(void);
void shim_device_fork_done(void);

#endif

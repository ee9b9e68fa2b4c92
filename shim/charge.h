/* Both sides of a driver call that takes or gives back memory. An allocation is charged
   before the driver is called, and then either leased or refunded; a free takes the lease
   out before, and then either refunds or opens it again. */
#ifndef SHIM_CHARGE_H
#define SHIM_CHARGE_H

#include "policy/verdict.h"
#include "pool/lease.h"
#include "shim/driver.h"
#include "shim/place.h"
#include "shim/retain.h"

struct shim_charge {
    const char *call; /* symbol of the driver's function, for the line of a refusal */
    enum pool_lease_kind kind;
    struct shim_place
        place; /* without a device nothing was charged: the driver decides */
    uint64_t bytes;
    struct shim_retain_trimmed trimmed; /* if the driver had no room */
};

/* Charges `bytes` to the account of the kind where the calling thread allocates. Of nothing,
   or without a current context, nothing is charged, and the driver refuses in its own words.
   CUDA_SUCCESS: call the driver. Else the refusal, told, for the program. */
CUresult shim_charge_begin(const struct shim_driver *driver, const char *call,
                           enum pool_lease_kind kind, uint64_t bytes,
                           struct shim_charge *charge);

/* The driver took more than could be known before: charges up to `bytes`. Refused like the
   first, with the first charge as it was. */
CUresult shim_charge_grow(const struct shim_driver *driver, struct shim_charge *charge,
                          uint64_t bytes);

/* Nothing came of it: refunds. */
void shim_charge_cancel(const struct shim_charge *charge);

/* The driver has answered. True when it had no room and idle memory went back to it: it is to be
   asked once more. */
bool shim_charge_again(const struct shim_driver *driver, struct shim_charge *charge,
                       CUresult result);

/* What the driver answered: a lease of `address` after CUDA_SUCCESS, else a refund. */
void shim_charge_end(const struct shim_charge *charge, CUresult result, uint64_t address);

/* A free on its way. */
struct shim_release {
    bool is_ours; /* else the driver is asked and nothing else happens */
    struct pool_lease lease;
};

/* Before the driver is told: once it has the memory back, another thread may be given the
   same address. */
struct shim_release shim_release_begin(uint64_t address);
void shim_release_end(const struct shim_driver *driver,
                      const struct shim_release *release, CUresult result);

#endif

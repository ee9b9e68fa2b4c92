/* A verdict becomes what the program sees: a CUresult and one line on stderr, or NULL and
   ENOMEM. Nowhere else. */
#ifndef SHIM_OUTCOME_H
#define SHIM_OUTCOME_H

#include "policy/verdict.h"
#include "shim/device.h"
#include "shim/driver_abi.h"
#include "shim/host_account.h"

/* A request on a device was not admitted. Says so (a program that asks again and again is
   told of its first refusals, then of each power of two) and returns the result for the
   program, always CUDA_ERROR_OUT_OF_MEMORY: its own retry depends on that code. */
CUresult shim_outcome_refused(const char *call, const struct shim_device *device,
                              const struct policy_verdict *verdict);

/* The same for page-locked memory, which a call to the driver asked for. */
CUresult shim_outcome_refused_host(const char *call,
                                   const struct shim_host_account *account,
                                   const struct policy_verdict *verdict);

/* What is known where the driver had no memory for what had been admitted. */
struct shim_outcome_shortage {
    uint64_t asked_bytes;
    uint64_t charged_bytes; /* without what was asked */
    uint64_t idle_bytes;    /* kept by us and not in use when the driver was asked */
    uint64_t
        trimmed_bytes; /* of these, given back so that the driver could be asked again */
    uint64_t largest_idle_bytes; /* the largest block among the idle ones */
    bool free_is_known;          /* the driver says: */
    uint64_t free_bytes, total_bytes;
};

/* Says so, as often as of refusals of our own; the driver's answer stands. The device is NULL
   where page-locked memory was asked for. */
void shim_outcome_driver_refused(const char *call, const struct shim_device *device,
                                 const struct shim_outcome_shortage *shortage);

/* How often that was. */
uint64_t shim_outcome_driver_refusals(void);

/* No memory for a host request: errno is ENOMEM, the result NULL. */
void *shim_outcome_no_memory(void);

/* The same for a request of `bytes`, of which the heap's ceiling is told if it refused them; errno
   stays. */
void shim_outcome_no_heap(size_t bytes);

#endif

/* Device and page-locked memory that the program frees and gets again without the driver: which
   of it may be kept, and what else happens to it. Where anything speaks against it, the driver is
   called as if there were no retention; nothing here ever refuses a request.

   All of it may be called from any thread at any time. No driver is called under a lock, while a
   stream is captured, in a context that is broken, in a child of fork, or at exit. */
#ifndef SHIM_RETAIN_H
#define SHIM_RETAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/lease.h"
#include "pool/stats.h"
#include "shim/device.h"
#include "shim/driver.h"

/* An allocation that may be served by retained memory, and may be retained. */
struct shim_retain_request {
    enum pool_lease_kind kind; /* POOL_LEASE_LINEAR or POOL_LEASE_PINNED */
    uint32_t flags; /* the exact word, or SHIM_RETAIN_PLAIN of a call that has none */
    uint64_t bytes; /* as the program asks; 0: the driver is to answer */
};

/* Allocations without flags are not taken for those with flags of 0. */
#define SHIM_RETAIN_PLAIN (UINT32_C(1) << 23)

/* "on", or why nothing is retained. */
const char *shim_retain_state(void);

/* --- Hooks of allocation and free, in the order of their calls --- */

/* Serves the request without the driver, if it can: *address. What it is charged stays. */
bool shim_retain_claim(const struct shim_driver *driver,
                       const struct shim_retain_request *request, uint64_t *address);

/* What was idle when the driver was asked for more, and how much of that went back to it. */
struct shim_retain_trimmed {
    uint64_t idle_bytes, largest_idle_bytes, trimmed_bytes;
};

/* The driver is about to be asked. Where more would then be held than is needed, idle memory goes
   first, if it can go without waiting for anything. */
void shim_retain_make_way(const struct shim_driver *driver,
                          const struct shim_retain_request *request,
                          struct shim_retain_trimmed *trimmed);

/* The driver has answered a request of any kind for `bytes`. True when that was for want of
   memory, and idle memory has gone back since: it is worth asking once more. Adds to
   *trimmed. */
bool shim_retain_after_refusal(const struct shim_driver *driver, CUresult result,
                               enum pool_lease_kind kind, uint64_t bytes,
                               struct shim_retain_trimmed *trimmed);

/* The driver has served the request: the memory, which is leased, may be retained. */
void shim_retain_adopt(const struct shim_driver *driver,
                       const struct shim_retain_request *request, uint64_t address);

enum shim_retain_free {
    SHIM_RETAIN_FREED, /* it is kept: the driver must not be told */
    SHIM_RETAIN_TWICE, /* it was freed before: the driver is to be asked about nobody's */
    SHIM_RETAIN_UNTOUCHED /* the driver is to free it */
};

/* An address that is nobody's, for the driver's own answer to it. */
#define SHIM_RETAIN_NOBODYS 1

/* The program frees memory of this kind. */
enum shim_retain_free shim_retain_free(const struct shim_driver *driver,
                                       enum pool_lease_kind kind, uint64_t address);

/* After a free, whoever served it: gives back what is held without need. */
void shim_retain_pay(const struct shim_driver *driver);

/* The memory of a lease is free, or went with its context. Calls no driver. */
void shim_retain_forget(uint32_t block);

/* --- Room --- */

/* A request for `bytes` is `short_bytes` above a ceiling: gives so much idle memory back, if
   there is as much, of a device or of what is page-locked (NULL). */
void shim_retain_make_room(const struct shim_driver *driver,
                           const struct shim_device *device, uint64_t bytes,
                           uint64_t short_bytes);

/* Gives everything back that is idle. */
void shim_retain_trim(void);

/* How much of what is charged to a device is idle. */
uint64_t shim_retain_idle_bytes(const struct shim_device *device);

/* --- Contexts; `owner` is an incarnation, see shim/place.h --- */

/* A context was met; new: nothing was submitted to it yet. Calls no driver. */
void shim_retain_met(uint32_t owner, bool is_new);

/* It is about to end, and then has ended or not. */
void shim_retain_ending(uint32_t owner);
void shim_retain_ended(uint32_t owner, bool ended);

/* The program has waited for a whole context; `stamp` is from before it called. */
void shim_retain_synchronised(const struct shim_driver *driver, CUcontext context,
                              uint64_t stamp);

/* The clock of synchronisations, which counts other things, too. */
uint64_t shim_retain_stamp(void);

/* --- What the program may ask --- */

/* What the driver is to be asked about in the place of an address: the same, or nobody's where
   the program has no memory. *bytes, unless NULL: what the program asked for, where the address
   is in retained memory that it holds; else 0. */
uint64_t shim_retain_seen(const struct shim_driver *driver, uint64_t address,
                          uint64_t *bytes);

/* Contexts reach each other's device memory from now on. */
void shim_retain_share(void);

/* A context of a part of a device was made. A wait for it says nothing of the rest, whose memory
   it uses: nothing is kept or handed out from now on. */
void shim_retain_stop(void);

void shim_retain_report(struct pool_stats *stats);

/* In a child of fork. */
void shim_retain_fork_in_child(void);

#endif

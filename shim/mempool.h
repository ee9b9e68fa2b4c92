/* The driver's pools of stream-ordered memory. What takes memory of a device is what a pool has
   reserved, whether it is handed out or not: that is what is charged, as the driver reports it
   after each call that may have changed it. Before a call the bytes that the pool seems to lack
   are admitted; what it takes beyond them is charged after, or given back.

   Any thread may call any of this at any time; the driver is asked outside the lock. */
#ifndef SHIM_MEMPOOL_H
#define SHIM_MEMPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/device.h"
#include "shim/driver.h"
#include "shim/retain.h"

enum {
    /* At once. Of further ones nothing is charged, and nothing refused. */
    SHIM_MEMPOOLS_MOST = 128,
};

struct shim_mempool;

/* An allocation out of a pool, on its way. */
struct shim_draw {
    const char *call;
    struct shim_mempool *pool;
    uint64_t bytes;
    uint64_t admitted_bytes;            /* beyond what the pool had */
    struct shim_retain_trimmed trimmed; /* if the driver had no room */
};

/* The pool that stream-ordered memory of the device comes from; NULL: not known. */
CUmemoryPool shim_mempool_of_device(const struct shim_driver *driver,
                                    const struct shim_device *device);

/* Finds a pool by its handle; if it is new to us, it is one of this device. Its `bytes` count as
   handed out from now on, for shim_mempool_begin(). NULL: nothing is charged. */
struct shim_mempool *shim_mempool_draw(CUmemoryPool handle, struct shim_device *device,
                                       uint64_t bytes);

/* The driver has made a pool, and its properties say where its memory lies. */
void shim_mempool_created(const struct shim_driver *driver, CUmemoryPool handle,
                          const CUmemPoolProps *properties);

/* The program asks for the end of a pool: before the driver is called, since its handle may
   come again after that; and after. What was allocated from a pool that has ended stays until
   it is freed, and so does the charge. */
struct shim_mempool *shim_mempool_ending(CUmemoryPool handle);
void shim_mempool_ended(struct shim_mempool *pool, bool ended);

/* Before the driver is asked for the `bytes` of shim_mempool_draw(). CUDA_SUCCESS, or the refusal,
   told; they are then no longer counted. */
CUresult shim_mempool_begin(const struct shim_driver *driver, const char *call,
                            struct shim_mempool *pool, uint64_t bytes,
                            struct shim_draw *draw);

/* After: charges what the pool has reserved. Refused, and told, where that does not fit: the
   memory is to be given back, and the draw cancelled. */
CUresult shim_mempool_settle(const struct shim_driver *driver,
                             const struct shim_draw *draw);

/* Or nothing came of it, by this answer of the driver. */
void shim_mempool_cancel(const struct shim_driver *driver, const struct shim_draw *draw,
                         CUresult result);

/* By which a lease names its pool, and what becomes of the pool when one has ended. Calls no
   driver. */
uint32_t shim_mempool_owner(const struct shim_mempool *pool);
void shim_mempool_returned(uint32_t owner, uint64_t bytes);

/* Asks again what a pool has reserved, and charges that as far as it fits; or all pools of a
   device (NULL: of the host). While a stream is captured the driver is not asked. */
void shim_mempool_refresh(const struct shim_driver *driver, uint32_t owner);
void shim_mempool_refresh_named(const struct shim_driver *driver, CUmemoryPool handle);
void shim_mempool_refresh_all(const struct shim_driver *driver,
                              const struct shim_device *device);

/* Has the driver take back what the pools of a device do not hand out, until `bytes` are off
   its account or there is no more. */
void shim_mempool_trim(const struct shim_driver *driver, const struct shim_device *device,
                       uint64_t bytes);

/* Around a fork. */
void shim_mempool_fork_prepare(void);
void shim_mempool_fork_done(void);

#endif

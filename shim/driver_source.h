/* The driver as a source and a sink of retained memory: events over all work of a context, frees
   of blocks that are to go, and contents. Where the current context is another, the block's own
   is made current for the call. No call is made while a stream is captured. A capture that another
   thread begins meanwhile waits for those that would spoil it; a free, which may take long, is
   made in the mode in which it does not. */
#ifndef SHIM_DRIVER_SOURCE_H
#define SHIM_DRIVER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/devices.h"
#include "shim/driver.h"

/* Whether this driver records events over contexts. */
bool shim_source_has_events(const struct shim_driver *driver);

/* pool_source.event_record and event_state: of a context by its incarnation. */
bool shim_source_event_record(uint32_t owner);
enum pool_event shim_source_event_state(uint32_t owner);

/* The context has ended, and its event and stream with it. */
void shim_source_ended(uint32_t owner);

/* Has the driver free a block. False when it would not, or its context is gone. */
bool shim_source_free(const struct shim_driver *driver,
                      const struct pool_device_taken *taken);

/* Waits for all work of a context. */
bool shim_source_synchronise(const struct shim_driver *driver, uint32_t owner);

/* Fills device memory of the current context, and waits for that alone. False: who knows what
   it holds. */
bool shim_source_fill(const struct shim_driver *driver, uint32_t owner, uint64_t address,
                      uint64_t bytes, unsigned char value);

#endif

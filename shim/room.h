/* Room below a ceiling: of a device, or of page-locked memory, for which the device is NULL
   here. What does not fit is tried again after idle memory went back to the driver. */
#ifndef SHIM_ROOM_H
#define SHIM_ROOM_H

#include "policy/verdict.h"
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/retain.h"

/* Charges `bytes` if they fit, or do once idle memory is gone. Not admitted: nothing is
   charged, and nothing is counted yet. */
struct policy_verdict shim_room_charge(const struct shim_driver *driver,
                                       struct shim_device *device, uint64_t bytes);

/* The same without making room: calls nothing. */
struct policy_verdict shim_room_try(struct shim_device *device, uint64_t bytes);

/* Has idle memory go back to the driver, retained blocks first and then what pools do not hand
   out, until `bytes` more fit or there is no more. */
void shim_room_make(const struct shim_driver *driver, struct shim_device *device,
                    uint64_t bytes);

/* What was not admitted is refused: counts it, looks how much of the device is in use, says so,
   and returns the result for the program. */
CUresult shim_room_refuse(const struct shim_driver *driver, const char *call,
                          struct shim_device *device,
                          const struct policy_verdict *verdict);

/* The driver had no memory for what was admitted, and has been refunded: says so, with what the
   driver says is free where it may be asked. */
void shim_room_driver_refused(const struct shim_driver *driver, const char *call,
                              struct shim_device *device, uint64_t bytes,
                              const struct shim_retain_trimmed *trimmed);

/* Takes bytes that were charged off again. */
void shim_room_refund(struct shim_device *device, uint64_t bytes);

#endif

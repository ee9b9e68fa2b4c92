/* What the simulator tells tests about itself, beside what any driver tells. Look these
   up with dlsym: a real driver does not have them. */
#ifndef SIMCUDA_SIMCUDA_H
#define SIMCUDA_SIMCUDA_H

#include <stdint.h>

/* Bytes that programs hold of a device now, as they asked for them: linear, managed and
   stream-ordered memory, without rounding. 0 for a device that does not exist. */
uint64_t simcuda_oracle_bytes(int device);

/* Bytes that a device has not left: what programs hold, rounded as the device does, and
   what contexts take. */
uint64_t simcuda_oracle_taken_bytes(int device);

/* Of these, what the pools of stream-ordered memory have reserved. */
uint64_t simcuda_oracle_reserved_bytes(int device);

/* Page-locked host memory: allocated by the driver, and the program's own that is
   registered. Bytes as they were asked for. */
uint64_t simcuda_oracle_pinned_bytes(void);
uint64_t simcuda_oracle_registered_bytes(void);

/* How often an exported symbol was called, refused calls included. */
uint64_t simcuda_oracle_calls(const char *symbol);

/* Under SIMCUDA_KERNELS=skip a module of the image "simcuda" has kernels that do something,
   in their stream and not before it is their turn:

     fill(CUdeviceptr address, uint64_t bytes, unsigned char value)
     copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
     hold(uint64_t ticket)   ends when simcuda_release(ticket) was called, before or after
     until_NAME()            ends when a call of NAME that began after the launch returned,
                             such as until_cuMemAlloc_v2

   The first two end in CUDA_ERROR_ILLEGAL_ADDRESS where memory is not live when they run. */

/* Lets one kernel that holds `ticket` end. Answers 0 when 64 tickets wait for theirs. */
int simcuda_release(uint64_t ticket);

/* From now on the `nth` call of `symbol` (1: the next one) fails once with `result`, before
   it does anything, as with SIMCUDA_FAIL. Answers 0 and does nothing when `symbol` is not
   exported, a number is 0, or 16 are waiting. */
int simcuda_fail(const char *symbol, uint64_t nth, int result);

#endif

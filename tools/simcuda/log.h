/* Lines for people: one on standard error when something must be said, and one in the
   file of SIMCUDA_LOG for each call. Always one write(2) a line, never stdio. */
#ifndef SIMCUDA_LOG_H
#define SIMCUDA_LOG_H

#include <stdint.h>

#include "shim/driver_abi.h"

/* Writes one formatted line, newline included, to standard error. */
__attribute__((format(printf, 1, 2))) void sim_log_say(const char *format, ...);

/* Adds an address and a size to the line of the call in progress. */
void sim_log_note(uint64_t address, uint64_t bytes);

/* Writes the line of a call that is over: "cuMemAlloc_v2 address=0x... bytes=512
 * result=0". */
void sim_log_call(const char *symbol, CUresult result);

#endif

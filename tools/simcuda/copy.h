/* What every copy does once it is known what goes where: it is done in a stream, and waited
   for where the driver waits for it. */
#ifndef SIMCUDA_COPY_H
#define SIMCUDA_COPY_H

#include "shim/driver_abi.h"
#include "tools/simcuda/op.h"

/* Whether a call is done with when it returns, as far as the kinds of memory allow, or only
   asks a stream for it. */
enum sim_copy_form { SIM_COPY_CALL, SIM_COPY_ASYNC };

/* A copy whose ranges have been checked. The driver's rules ("API synchronization
   behavior" of its manual): from device memory to pageable memory, and within host memory,
   every call waits; between device memory and page-locked memory the synchronous forms
   wait; what comes from pageable memory is read before the call returns; within device
   memory no call waits. */
CUresult sim_copy_run(struct sim_copy *copy, CUstream stream, enum sim_copy_form form);

#endif

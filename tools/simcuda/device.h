/* The simulated devices as they are before anything is allocated on them. */
#ifndef SIMCUDA_DEVICE_H
#define SIMCUDA_DEVICE_H

#include <stdbool.h>

#include "shim/driver_abi.h"

enum {
    SIM_WARP_THREADS = 32,
    SIM_BLOCK_THREADS = 1024, /* at most, of a launch */
    SIM_MULTIPROCESSORS = 40,
    SIM_SHARED_BYTES = 49152, /* for one block of threads */
};

/* Whether cuInit succeeded. */
bool sim_device_ready(void);

/* In a forked child: as with the real driver, what its parent initialised is lost for
 * good. */
void sim_device_lose(void);

bool sim_device_exists(CUdevice device);

/* The PCI bus that a device sits on. */
int sim_device_bus(CUdevice device);

#endif

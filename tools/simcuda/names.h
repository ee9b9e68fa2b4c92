/* The prototypes of every exported function and of every worker, made from names.def. */
#ifndef SIMCUDA_NAMES_H
#define SIMCUDA_NAMES_H

#include "shim/driver_abi.h"

#define SIM_EXPORT __attribute__((visibility("default")))

#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    SIM_EXPORT CUresult symbol parameters;                                               \
    CUresult worker parameters;
#define REFUSED(symbol, base, since, stream) SIM_EXPORT CUresult symbol(void);
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED

#endif

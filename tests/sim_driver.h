/* The simulated driver as a table of typed functions, loaded by its path, for tests that
   call it directly. A test runs in its own process, so that each has a driver of its own. */
#ifndef TESTS_SIM_DRIVER_H
#define TESTS_SIM_DRIVER_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "shim/driver_abi.h"
#include "tests/suite.h"

/* Every function that the simulator implements, and what it tells tests. */
struct sim_driver {
    void *library;
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    CUresult(*symbol) parameters;
#define REFUSED(symbol, base, since, stream)
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
    uint64_t (*oracle_bytes)(int device);
    uint64_t (*oracle_taken_bytes)(int device);
    uint64_t (*oracle_reserved_bytes)(int device);
    uint64_t (*oracle_pinned_bytes)(void);
    uint64_t (*oracle_registered_bytes)(void);
    uint64_t (*oracle_calls)(const char *symbol);
    int (*release)(uint64_t ticket);
    int (*fail_call)(const char *symbol, uint64_t nth, int result);
};

static struct sim_driver sim;

static inline void *sim_symbol(const char *name)
{
    void *found = dlsym(sim.library, name);
#ifndef SIM_MAY_LACK /* functions that an older driver has not: they are NULL */
    ck_assert_msg(found != NULL, "%s is not exported", name);
#endif
    return found;
}

/* A function pointer from what dlsym gives, which ISO C does not convert. */
static inline void sim_fetch(const char *name, void *field)
{
    void *found = sim_symbol(name);
    memcpy(field, &found, sizeof found);
}

static inline void sim_open(const char *path)
{
    sim.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(sim.library != NULL, "%s", dlerror());
}

static inline void sim_load(void)
{
    sim_open(SIMCUDA_PATH);
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    sim_fetch(#symbol, &sim.symbol);
#define REFUSED(symbol, base, since, stream)
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
    sim_fetch("simcuda_oracle_bytes", &sim.oracle_bytes);
    sim_fetch("simcuda_oracle_taken_bytes", &sim.oracle_taken_bytes);
    sim_fetch("simcuda_oracle_reserved_bytes", &sim.oracle_reserved_bytes);
    sim_fetch("simcuda_oracle_pinned_bytes", &sim.oracle_pinned_bytes);
    sim_fetch("simcuda_oracle_registered_bytes", &sim.oracle_registered_bytes);
    sim_fetch("simcuda_oracle_calls", &sim.oracle_calls);
    sim_fetch("simcuda_release", &sim.release);
    sim_fetch("simcuda_fail", &sim.fail_call);
}

/* Loads and initialises a driver of `count` devices of `mem` each. */
static inline void sim_start(const char *mem, const char *count)
{
    setenv("SIMCUDA_MEM", mem, 1);
    setenv("SIMCUDA_DEVICES", count, 1);
    sim_load();
    ck_assert_int_eq(sim.cuInit(0), CUDA_SUCCESS);
}

/* And makes a context on the first device current. */
static inline CUcontext sim_start_context(const char *mem)
{
    CUcontext context;
    sim_start(mem, "1");
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    return context;
}

static inline CUdeviceptr sim_allocate(size_t bytes)
{
    CUdeviceptr address = 0;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
}

#endif

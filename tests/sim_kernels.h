/* Streams under control: kernels of the simulator that fill, copy, hold a stream until they
   are released, or last until a call has returned. */
#ifndef TESTS_SIM_KERNELS_H
#define TESTS_SIM_KERNELS_H

#include <stdint.h>

#include "tests/sim_driver.h"

struct sim_kernels {
    CUfunction fill;
    CUfunction copy;
    CUfunction hold;
    CUfunction until_alloc;
};

/* In the current context; under SIMCUDA_KERNELS=skip. */
static inline struct sim_kernels sim_load_kernels(void)
{
    CUmodule module;
    struct sim_kernels kernels;
    ck_assert_int_eq(sim.cuModuleLoadData(&module, "simcuda"), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetFunction(&kernels.fill, module, "fill"),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetFunction(&kernels.copy, module, "copy"),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetFunction(&kernels.hold, module, "hold"),
                     CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuModuleGetFunction(&kernels.until_alloc, module, "until_cuMemAlloc_v2"),
        CUDA_SUCCESS);
    return kernels;
}

/* A driver with a context and its kernels, and work that takes `delay`. */
static inline struct sim_kernels sim_start_kernels(const char *delay, CUcontext *context)
{
    setenv("SIMCUDA_KERNELS", "skip", 1);
    setenv("SIMCUDA_STREAM_DELAY_US", delay, 1);
    *context = sim_start_context("64MiB");
    return sim_load_kernels();
}

static inline CUresult sim_launch(CUfunction function, CUstream stream, void **arguments)
{
    return sim.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

static inline void sim_hold(const struct sim_kernels *kernels, CUstream stream,
                            uint64_t ticket)
{
    void *arguments[] = {&ticket};
    ck_assert_int_eq(sim_launch(kernels->hold, stream, arguments), CUDA_SUCCESS);
}

static inline void sim_kernel_fill(const struct sim_kernels *kernels, CUstream stream,
                                   CUdeviceptr address, uint64_t bytes,
                                   unsigned char value)
{
    void *arguments[] = {&address, &bytes, &value};
    ck_assert_int_eq(sim_launch(kernels->fill, stream, arguments), CUDA_SUCCESS);
}

static inline void sim_kernel_copy(const struct sim_kernels *kernels, CUstream stream,
                                   CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
{
    void *arguments[] = {&to, &from, &bytes};
    ck_assert_int_eq(sim_launch(kernels->copy, stream, arguments), CUDA_SUCCESS);
}

static inline CUstream sim_stream(unsigned flags)
{
    CUstream stream;
    ck_assert_int_eq(sim.cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
}

static inline CUevent sim_event(void)
{
    CUevent event;
    ck_assert_int_eq(sim.cuEventCreate(&event, 0), CUDA_SUCCESS);
    return event;
}

/* What is in memory now, whatever is still to come: the simulated device's memory is the
   host's. */
static inline unsigned char sim_peek(CUdeviceptr address)
{
    return *(unsigned char *)(uintptr_t)address;
}

static inline void *sim_pinned(size_t bytes)
{
    void *pinned;
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, bytes, 0), CUDA_SUCCESS);
    return pinned;
}

#endif

/* One stream that captures, and memory for its work: what tests of capture and of graphs
   begin with. */
#ifndef TESTS_SIM_CAPTURING_H
#define TESTS_SIM_CAPTURING_H

#include "tests/sim_kernels.h"

enum {
    BYTES = 512,
    GLOBAL = CU_STREAM_CAPTURE_MODE_GLOBAL,
    THREAD_LOCAL = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    RELAXED = CU_STREAM_CAPTURE_MODE_RELAXED,
};

static CUcontext context;
static struct sim_kernels kernels;
static CUstream stream;
static CUdeviceptr memory;

static inline void start(void)
{
    kernels = sim_start_kernels("0", &context);
    stream = sim_stream(CU_STREAM_NON_BLOCKING);
    memory = sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuMemsetD8_v2(memory, 0, BYTES), CUDA_SUCCESS);
}

static inline void begin(CUstreamCaptureMode mode)
{
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
}

static inline CUgraph end(CUresult result)
{
    CUgraph graph = (CUgraph)&graph;
    ck_assert_int_eq(sim.cuStreamEndCapture(stream, &graph), result);
    ck_assert_int_eq(graph != NULL, result == CUDA_SUCCESS);
    return graph;
}

static inline CUstreamCaptureStatus status(void)
{
    CUstreamCaptureStatus status = -1;
    ck_assert_int_eq(sim.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    return status;
}

#endif

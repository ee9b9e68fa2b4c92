/* Defends: with TIDEMARK_FREE_SYNC a free is the barrier that programs take it for, and what is
   freed may be used again at once. */
#include "tests/retained_fixture.h"

#include <unistd.h>

START_TEST(a_free_returns_when_the_work_of_its_context_is_done)
{
    setenv("SIMCUDA_STREAM_DELAY_US", "20000", 1);
    retained_start("64MiB");
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr block = sim_allocate(MIB), other = sim_allocate(MIB);
    unsigned char *result = sim_pinned(MIB);
    for (unsigned char round = 1; round < 10; round++) {
        memset(result, 0, MIB);
        sim_kernel_fill(&kernels, stream, block, MIB, round);
        ck_assert_int_eq(sim.cuMemcpyDtoHAsync_v2(result, block, MIB, stream),
                         CUDA_SUCCESS);
        uint64_t asked_before = asked(), freed_before = freed();
        give(other);
        ck_assert_uint_eq(result[0], round);
        ck_assert_uint_eq(result[MIB - 1], round);
        ck_assert_uint_eq(sim_allocate(MIB), other);
        ck_assert_uint_eq(asked(), asked_before);
        ck_assert_uint_eq(freed(), freed_before);
    }
}
END_TEST

START_TEST(a_capture_is_not_spoiled_by_it)
{
    CUgraph graph;
    retained_start("64MiB");
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr block = sim_allocate(MIB);
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_SUCCESS);
    give(block);
    ck_assert_int_eq(sim.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
}
END_TEST

SUITE_MAIN("preload/free_sync", a_free_returns_when_the_work_of_its_context_is_done,
           a_capture_is_not_spoiled_by_it)

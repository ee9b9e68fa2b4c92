/* Defends: while a stream is captured the library makes no driver call of its own, and hands the
   program's through: what a capture forbids stays forbidden, and no capture is lost by us. */
#include "tests/retained_fixture.h"

#include <malloc.h>

static CUstream stream;
static CUdeviceptr idle;
static void *idle_pinned;

/* With idle memory of 1 MiB of each kind, ready. */
static void start(void)
{
    retained_start("64MiB");
    retained_need(48 * MIB);
    stream = sim_stream(CU_STREAM_NON_BLOCKING);
    idle = sim_allocate(MIB);
    idle_pinned = sim_pinned(MIB);
    give(idle);
    give_pinned(idle_pinned);
    synchronise();
}

static void begin(CUstreamCaptureMode mode)
{
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(stream, mode), CUDA_SUCCESS);
}

static void end(CUresult result)
{
    CUgraph graph = NULL;
    ck_assert_int_eq(sim.cuStreamEndCapture(stream, &graph), result);
}

static uint64_t all_calls(void)
{
    return asked() + freed() + sim.oracle_calls("cuEventQuery") +
           sim.oracle_calls("cuEventCreate") + sim.oracle_calls("cuCtxRecordEvent") +
           sim.oracle_calls("cuCtxSynchronize") +
           sim.oracle_calls("cuPointerGetAttribute");
}

START_TEST(what_a_capture_forbids_is_forbidden_though_memory_is_idle)
{
    start();
    CUdeviceptr live = sim_allocate(2 * MIB), address = 7;
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, MIB),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ck_assert_uint_eq(address, 7);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    ck_assert_int_eq(sim.cuMemFree_v2(live), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    /* It was not freed, and is known as before. */
    give(live);
    synchronise();
    ck_assert_uint_eq(sim_allocate(2 * MIB), live);
}
END_TEST

START_TEST(what_a_relaxed_capture_allows_goes_to_the_driver)
{
    start();
    CUdeviceptr live = sim_allocate(2 * MIB);
    uint64_t before = all_calls();
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    CUdeviceptr block = sim_allocate(MIB);
    ck_assert_uint_ne(block, idle);
    ck_assert_uint_eq(all_calls(), before + 1);
    give(live);
    ck_assert_uint_eq(all_calls(), before + 2);
    ck_assert_uint_eq(sim.oracle_bytes(0), 2 * MIB); /* idle, and the new one */
    end(CUDA_SUCCESS);
    ck_assert_uint_eq(sim_allocate(MIB), idle); /* what was idle before has stayed */
    ck_assert_ptr_eq(sim_pinned(MIB), idle_pinned);
}
END_TEST

START_TEST(nothing_of_ours_is_called_meanwhile)
{
    size_t bytes;
    CUdeviceptr base;
    start();
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    uint64_t before = all_calls();
    malloc_trim(0);
    ck_assert_uint_eq(all_calls(), before);
    (void)sim.cuMemGetAddressRange_v2(&base, &bytes, idle + 512);
    ck_assert_uint_eq(all_calls(), before);
    sim_kernel_fill(&kernels, stream, idle, 1, 1);
    end(CUDA_SUCCESS);
    malloc_trim(0);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(freed_twice_is_freed_twice_in_a_capture_too)
{
    start();
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    ck_assert_int_eq(sim.cuMemFree_v2(idle), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFreeHost(idle_pinned), CUDA_ERROR_INVALID_VALUE);
    end(CUDA_SUCCESS);
    ck_assert_uint_eq(sim_allocate(MIB), idle);
    ck_assert_int_eq(sim.cuMemsetD8_v2(idle, 1, MIB), CUDA_SUCCESS);
}
END_TEST

SUITE_MAIN("preload/retained_capture",
           what_a_capture_forbids_is_forbidden_though_memory_is_idle,
           what_a_relaxed_capture_allows_goes_to_the_driver,
           nothing_of_ours_is_called_meanwhile,
           freed_twice_is_freed_twice_in_a_capture_too)

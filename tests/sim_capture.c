/* What no graph can repeat is forbidden while streams capture, by the driver's rules: for
   whom depends on the modes; it spoils the capture, and spoils it for good. */
#include "tests/sim_capturing.h"

/* Calls that no graph could repeat, none of which does harm. */
static CUdeviceptr scratch;
static void *scratch_pinned;
static unsigned char plain[BYTES];
static CUevent event;

#define CALL(name, expression)                                                           \
    static CUresult name(void)                                                           \
    {                                                                                    \
        return expression;                                                               \
    }
CALL(allocate, sim.cuMemAlloc_v2(&scratch, BYTES))
CALL(allocate_managed, sim.cuMemAllocManaged(&scratch, BYTES, CU_MEM_ATTACH_GLOBAL))
CALL(free_device, sim.cuMemFree_v2(scratch))
CALL(allocate_host, sim.cuMemHostAlloc(&scratch_pinned, BYTES, 0))
CALL(free_host, sim.cuMemFreeHost(scratch_pinned))
CALL(register_host, sim.cuMemHostRegister_v2(plain, BYTES, 0))
CALL(query_event, sim.cuEventQuery(event))
CALL(wait_for_event, sim.cuEventSynchronize(event))
CALL(copy_now, sim.cuMemcpyHtoD_v2(memory, plain, 1))
CALL(fill_now, sim.cuMemsetD8_v2(memory, 1, 1))

static CUresult (*const unsafe_calls[])(void) = {
    allocate,      allocate_managed, free_device,    allocate_host, free_host,
    register_host, query_event,      wait_for_event, copy_now,      fill_now,
};

enum { UNSAFE_COUNT = sizeof unsafe_calls / sizeof *unsafe_calls };

static void *call_all(void *expected)
{
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (size_t i = 0; i < UNSAFE_COUNT; i++)
        ck_assert_msg(unsafe_calls[i]() == *(CUresult *)expected, "call %zu", i);
    return NULL;
}

static void call_all_elsewhere(CUresult expected)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, call_all, &expected), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

START_TEST(unsafe_calls_are_forbidden_and_spoil_the_capture)
{
    start();
    event = sim_event();
    for (size_t i = 0; i < UNSAFE_COUNT; i++) {
        for (CUstreamCaptureMode mode = GLOBAL; mode <= THREAD_LOCAL; mode++) {
            begin(mode);
            ck_assert_msg(unsafe_calls[i]() == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                          "call %zu", i);
            ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
            ck_assert_int_eq(sim.cuMemsetD8Async(memory, 1, 1, stream),
                             CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
        }
    }
    ck_assert_uint_eq(sim.oracle_bytes(0), BYTES);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 0);
}
END_TEST

START_TEST(a_relaxed_capture_or_thread_allows_them)
{
    CUstreamCaptureMode mode = RELAXED;
    CUresult allowed = CUDA_SUCCESS;
    start();
    event = sim_event();
    begin(RELAXED);
    call_all(&allowed);
    ck_assert_int_eq(sim.cuMemHostUnregister(plain), CUDA_SUCCESS);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end(CUDA_SUCCESS);
    begin(GLOBAL);
    ck_assert_int_eq(sim.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    ck_assert_int_eq(mode, GLOBAL);
    call_all(&allowed);
    ck_assert_int_eq(sim.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
    ck_assert_int_eq(mode, RELAXED);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&scratch, 1),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    mode = 3;
    ck_assert_int_eq(sim.cuThreadExchangeStreamCaptureMode(&mode),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_global_capture_forbids_them_to_other_threads_and_a_local_one_does_not)
{
    start();
    event = sim_event();
    begin(GLOBAL);
    call_all_elsewhere(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(THREAD_LOCAL);
    call_all_elsewhere(CUDA_SUCCESS);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end(CUDA_SUCCESS);
}
END_TEST

static void *synchronize(void *unused)
{
    (void)unused;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return NULL;
}

START_TEST(waiting_for_the_context_is_forbidden_in_every_mode_and_thread)
{
    for (CUstreamCaptureMode mode = GLOBAL; mode <= RELAXED; mode++) {
        pthread_t thread;
        CUcontext other;
        if (mode == GLOBAL)
            start();
        event = sim_event();
        begin(mode);
        ck_assert_int_eq(pthread_create(&thread, NULL, synchronize, NULL), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        begin(mode);
        ck_assert_int_eq(sim.cuCtxRecordEvent(context, event),
                         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        begin(mode);
        ck_assert_int_eq(sim.cuStreamQuery(stream),
                         CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        begin(mode);
        ck_assert_int_eq(sim.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuCtxDestroy_v2(other), CUDA_SUCCESS);
        end(CUDA_SUCCESS);
    }
}
END_TEST

START_TEST(a_captured_event_cannot_be_asked_in_any_mode)
{
    start();
    for (CUstreamCaptureMode mode = GLOBAL; mode <= RELAXED; mode++) {
        event = sim_event();
        begin(mode);
        ck_assert_int_eq(sim.cuEventRecord(event, stream), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
        end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        ck_assert_int_eq(sim.cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
        ck_assert_int_eq(sim.cuCtxWaitEvent(context, event), CUDA_ERROR_CAPTURED_EVENT);
        ck_assert_int_eq(sim.cuEventRecord(event, stream), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuEventQuery(event), CUDA_SUCCESS);
    }
}
END_TEST

START_TEST(the_default_stream_cannot_be_used_while_a_blocking_stream_captures)
{
    CUstreamCaptureStatus asked;
    start();
    stream = sim_stream(0);
    begin(RELAXED);
    ck_assert_int_eq(sim.cuStreamIsCapturing(NULL, &asked),
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ck_assert_int_eq(sim.cuMemsetD8Async(memory, 1, 1, NULL),
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(RELAXED);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(memory, plain, 1),
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(NULL, RELAXED),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2_ptsz(NULL, RELAXED), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2_ptds(memory, plain, 1),
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph none;
    ck_assert_int_eq(sim.cuStreamEndCapture_ptsz(NULL, &none),
                     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(a_capture_must_be_joined_and_ended_where_and_by_whom_it_began)
{
    CUgraph none;
    start();
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    event = sim_event();
    ck_assert_int_eq(sim.cuStreamEndCapture(stream, &none), CUDA_ERROR_ILLEGAL_STATE);
    begin(GLOBAL);
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(stream, GLOBAL),
                     CUDA_ERROR_ILLEGAL_STATE);
    ck_assert_int_eq(sim.cuEventRecord(event, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
    sim_kernel_fill(&kernels, other, memory, 1, 1);
    ck_assert_int_eq(sim.cuStreamEndCapture(other, &none),
                     CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    ck_assert_int_eq(sim.cuStreamQuery(other), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(other, event, 0),
                     CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    begin(RELAXED);
    CUevent outside = sim_event();
    ck_assert_int_eq(sim.cuStreamWaitEvent(stream, outside, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventRecord(outside, other), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(stream, outside, 0),
                     CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

static void *end_elsewhere(void *expected)
{
    CUgraph graph;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamEndCapture(stream, &graph), *(CUresult *)expected);
    return NULL;
}

START_TEST(only_a_relaxed_capture_may_be_ended_by_another_thread)
{
    pthread_t thread;
    CUresult wrong = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult right = CUDA_SUCCESS;
    start();
    begin(GLOBAL);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_elsewhere, &wrong), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    end(CUDA_SUCCESS);
    begin(RELAXED);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_elsewhere, &right), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
}
END_TEST

START_TEST(two_captures_cannot_be_merged)
{
    start();
    CUgraph none;
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    event = sim_event();
    begin(RELAXED);
    ck_assert_int_eq(sim.cuStreamBeginCapture_v2(other, RELAXED), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventRecord(event, other), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(stream, event, 0),
                     CUDA_ERROR_STREAM_CAPTURE_MERGE);
    ck_assert_int_eq(sim.cuStreamEndCapture(other, &none),
                     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(a_capture_ends_with_its_stream_and_its_context)
{
    start();
    begin(GLOBAL);
    ck_assert_int_eq(sim.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    sim_allocate(1);
    stream = sim_stream(0);
    begin(GLOBAL);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    sim_allocate(1);
}
END_TEST

SUITE_MAIN("simcuda/capture", unsafe_calls_are_forbidden_and_spoil_the_capture,
           a_relaxed_capture_or_thread_allows_them,
           a_global_capture_forbids_them_to_other_threads_and_a_local_one_does_not,
           waiting_for_the_context_is_forbidden_in_every_mode_and_thread,
           a_captured_event_cannot_be_asked_in_any_mode,
           the_default_stream_cannot_be_used_while_a_blocking_stream_captures,
           a_capture_must_be_joined_and_ended_where_and_by_whom_it_began,
           only_a_relaxed_capture_may_be_ended_by_another_thread,
           two_captures_cannot_be_merged, a_capture_ends_with_its_stream_and_its_context)

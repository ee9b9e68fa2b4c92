/* An event has happened when the work before it is done; who waits for it waits for that
   and for nothing else. Host functions run in their stream. Kernels end when they are let. */
#include "tests/sim_kernels.h"

enum { BYTES = 512 };

static CUcontext context;
static struct sim_kernels kernels;

static void start(void)
{
    kernels = sim_start_kernels("0", &context);
}

START_TEST(an_event_happens_when_the_work_before_it_is_done)
{
    start();
    float milliseconds;
    CUstream stream = sim_stream(0);
    CUevent before = sim_event();
    CUevent after = sim_event();
    CUevent never = sim_event();
    ck_assert_int_eq(sim.cuEventRecord(before, stream), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuEventRecord(after, stream), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 2);
    ck_assert_int_eq(sim.cuEventQuery(before), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(never), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(after), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuEventElapsedTime(&milliseconds, before, after),
                     CUDA_ERROR_NOT_READY);
    usleep(2000);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuEventSynchronize(after), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(after), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventElapsedTime(&milliseconds, before, after), CUDA_SUCCESS);
    ck_assert_float_ge(milliseconds, 2);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(2), 1);
}
END_TEST

START_TEST(a_stream_waits_for_an_event_even_after_it_was_destroyed)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream first = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream second = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = sim_event();
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, first, 1);
    ck_assert_int_eq(sim.cuEventRecord(event, first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventDestroy_v2(event), CUDA_SUCCESS);
    sim_kernel_fill(&kernels, second, address, 1, 1);
    ck_assert_int_eq(sim.cuStreamQuery(second), CUDA_ERROR_NOT_READY);
    usleep(10000);
    ck_assert_uint_eq(sim_peek(address), 0);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(second), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address), 1);
}
END_TEST

START_TEST(a_new_record_is_another_point_and_old_waits_stay)
{
    start();
    CUstream first = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream second = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = sim_event();
    sim_hold(&kernels, first, 1);
    ck_assert_int_eq(sim.cuEventRecord(event, first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    sim_hold(&kernels, first, 2);
    ck_assert_int_eq(sim.cuEventRecord(event, first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(second), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(2), 1);
    ck_assert_int_eq(sim.cuEventSynchronize(event), CUDA_SUCCESS);
}
END_TEST

START_TEST(an_event_belongs_to_its_context)
{
    CUcontext second;
    start();
    CUevent event = sim_event();
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuCtxRecordEvent(second, event), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuStreamWaitEvent(NULL, event, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxWaitEvent(second, event), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxRecordEvent(context, event), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_SUCCESS);
}
END_TEST

START_TEST(an_event_of_a_context_happens_when_all_its_streams_are_done)
{
    start();
    CUstream first = sim_stream(0);
    CUstream second = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = sim_event();
    ck_assert_int_eq(sim.cuCtxRecordEvent(context, event), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_SUCCESS);
    sim_hold(&kernels, first, 1);
    sim_hold(&kernels, second, 2);
    ck_assert_int_eq(sim.cuCtxRecordEvent(context, event), CUDA_SUCCESS);
    sim_hold(&kernels, first, 3);
    ck_assert_int_eq(sim.release(1), 1);
    usleep(5000);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(2), 1);
    ck_assert_int_eq(sim.cuEventSynchronize(event), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(first), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(3), 1);
}
END_TEST

START_TEST(all_later_work_of_a_context_waits_for_an_event_new_streams_too)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream before = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = sim_event();
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, held, 1);
    ck_assert_int_eq(sim.cuEventRecord(event, held), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxWaitEvent(context, event), CUDA_SUCCESS);
    CUstream after = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_kernel_fill(&kernels, before, address, 1, 1);
    sim_kernel_fill(&kernels, after, address + 1, 1, 1);
    usleep(10000);
    ck_assert_uint_eq(sim_peek(address), 0);
    ck_assert_uint_eq(sim_peek(address + 1), 0);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address), 1);
    ck_assert_uint_eq(sim_peek(address + 1), 1);
    CUstream last = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_kernel_fill(&kernels, last, address + 2, 1, 1);
    ck_assert_uint_eq(sim_peek(address + 2), 1);
}
END_TEST

static CUdeviceptr watched;
static unsigned char seen;
static CUresult answered;
static CUresult told;

static void look(void *data)
{
    seen = sim_peek(watched);
    answered = sim.cuCtxGetCurrent(data);
}

static void be_told(CUstream stream, CUresult result, void *data)
{
    *(CUstream *)data = stream;
    told = result;
}

START_TEST(host_functions_run_in_order_and_may_not_call_the_driver)
{
    start();
    CUcontext current;
    CUstream reported = NULL;
    CUstream stream = sim_stream(0);
    watched = sim_allocate(BYTES);
    told = -1;
    ck_assert_int_eq(sim.cuMemsetD8_v2(watched, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 1);
    sim_kernel_fill(&kernels, stream, watched, 1, 5);
    ck_assert_int_eq(sim.cuLaunchHostFunc(stream, look, &current), CUDA_SUCCESS);
    sim_kernel_fill(&kernels, stream, watched, 1, 6);
    ck_assert_int_eq(sim.cuStreamAddCallback(stream, be_told, &reported, 0),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(seen, 5);
    ck_assert_int_eq(answered, CUDA_ERROR_NOT_PERMITTED);
    ck_assert_int_eq(told, CUDA_SUCCESS);
    ck_assert_ptr_eq(reported, stream);
    ck_assert_int_eq(sim.cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(after_an_error_callbacks_are_told_and_host_functions_do_not_run)
{
    start();
    CUcontext current;
    CUstream reported;
    CUstream stream = sim_stream(0);
    seen = 42;
    sim_hold(&kernels, stream, 1);
    sim_kernel_fill(&kernels, stream, 4096, 1, 5);
    ck_assert_int_eq(sim.cuLaunchHostFunc(stream, look, &current), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamAddCallback(stream, be_told, &reported, 0),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_uint_eq(seen, 42);
    ck_assert_int_eq(told, CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(a_kernel_may_last_until_a_later_call_has_returned)
{
    start();
    CUstream stream = sim_stream(0);
    sim_allocate(BYTES);
    ck_assert_int_eq(sim_launch(kernels.until_alloc, stream, NULL), CUDA_SUCCESS);
    usleep(10000);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
}
END_TEST

START_TEST(a_ticket_ends_one_kernel_and_may_come_before_it)
{
    start();
    CUstream stream = sim_stream(0);
    ck_assert_int_eq(sim.release(7), 1);
    sim_hold(&kernels, stream, 7);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 7);
    usleep(10000);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(7), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(sim.release(8), 1);
    ck_assert_int_eq(sim.release(8), 0);
}
END_TEST

START_TEST(unknown_kernels_and_missing_arguments_are_refused)
{
    CUmodule module;
    CUfunction function;
    start();
    ck_assert_int_eq(sim.cuModuleLoadData(&module, "simcuda"), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetFunction(&function, module, "sort"),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(sim.cuModuleGetFunction(&function, module, "until_cuNothing"),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(sim_launch(kernels.fill, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

SUITE_MAIN("simcuda/events", an_event_happens_when_the_work_before_it_is_done,
           a_stream_waits_for_an_event_even_after_it_was_destroyed,
           a_new_record_is_another_point_and_old_waits_stay,
           an_event_belongs_to_its_context,
           an_event_of_a_context_happens_when_all_its_streams_are_done,
           all_later_work_of_a_context_waits_for_an_event_new_streams_too,
           host_functions_run_in_order_and_may_not_call_the_driver,
           after_an_error_callbacks_are_told_and_host_functions_do_not_run,
           a_kernel_may_last_until_a_later_call_has_returned,
           a_ticket_ends_one_kernel_and_may_come_before_it,
           unknown_kernels_and_missing_arguments_are_refused)

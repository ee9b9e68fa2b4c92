/* Who may do what: before cuInit, without a context, with a dead one, after a fork; and
   what the simulator says of its devices, streams, events and pointers. */
#include "tests/sim_driver.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(nothing_works_before_init_but_what_needs_no_driver)
{
    sim_load();
    int number;
    const char *name;
    CUcontext context;
    CUdeviceptr address;
    ck_assert_int_eq(sim.cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(sim.cuDriverGetVersion(&number), CUDA_SUCCESS);
    ck_assert_int_eq(number, 13000);
    ck_assert_int_eq(sim.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name), CUDA_SUCCESS);
    ck_assert_str_eq(name, "CUDA_ERROR_OUT_OF_MEMORY");
    ck_assert_int_eq(sim.cuGetErrorString(CUDA_ERROR_NOT_SUPPORTED, &name), CUDA_SUCCESS);
    ck_assert_str_eq(name, "operation not supported");
    ck_assert_int_eq(sim.cuGetErrorName(12345, &name), CUDA_ERROR_INVALID_VALUE);
    ck_assert_ptr_null(name);
    ck_assert_int_eq(sim.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuInit(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDeviceGetCount(&number), CUDA_SUCCESS);
    ck_assert_int_eq(number, 1);
}
END_TEST

START_TEST(memory_needs_a_current_context)
{
    sim_start("1MiB", "1");
    CUdeviceptr address = 42;
    CUcontext context;
    size_t bytes;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&bytes, NULL), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxPopCurrent_v2(&context), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    ck_assert_ptr_null(context);
    ck_assert_uint_eq(address, 42);
}
END_TEST

START_TEST(each_thread_has_a_stack_of_contexts)
{
    CUcontext first = sim_start_context("1MiB");
    CUcontext second;
    CUcontext current;
    CUdevice device;
    ck_assert_int_eq(sim.cuCtxCreate_v4(&second, NULL, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxGetDevice(&device), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxPopCurrent_v2(&current), CUDA_SUCCESS);
    ck_assert_ptr_eq(current, second);
    ck_assert_int_eq(sim.cuCtxSetCurrent(second), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_null(current);
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2((CUcontext)&device),
                     CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&first, 0, 1), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&first, 0x100, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuCtxCreate_v3(&first, NULL, 1, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

static void *use_current(void *context)
{
    CUdeviceptr address;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    sim_allocate(512);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

START_TEST(a_destroyed_context_stays_current_elsewhere_and_says_so)
{
    CUcontext context = sim_start_context("1MiB");
    CUcontext current;
    CUdeviceptr address;
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, use_current, context), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_eq(current, context);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(a_primary_context_lives_while_it_is_retained)
{
    sim_start("1MiB", "1");
    CUcontext first;
    CUcontext second;
    unsigned flags;
    int active;
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_MAP_HOST), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&second, 0), CUDA_SUCCESS);
    ck_assert_ptr_eq(first, second);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxSetCurrent(first), CUDA_SUCCESS);
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1000);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    ck_assert_uint_eq(flags, CU_CTX_MAP_HOST);
    ck_assert_int_eq(active, 0);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}
END_TEST

START_TEST(a_reset_empties_a_primary_context_and_keeps_its_count)
{
    sim_start("1MiB", "1");
    CUcontext context;
    CUcontext again;
    CUcontext current;
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_eq(current, context);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    ck_assert_ptr_eq(again, context);
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

START_TEST(a_forked_child_has_lost_the_driver)
{
    sim_start_context("1MiB");
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr address;
        _exit(sim.cuMemAlloc_v2(&address, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                      sim.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    sim_allocate(512);
}
END_TEST

enum { EXIT_ROUNDS = 20 };

static void *never_stop(void *context)
{
    CUdeviceptr address;
    if (sim.cuCtxSetCurrent(context) == CUDA_SUCCESS)
        while (sim.cuMemAlloc_v2(&address, 4096) == CUDA_SUCCESS)
            if (sim.cuMemFree_v2(address) != CUDA_SUCCESS)
                break;
    abort();
}

static void exit_while_another_thread_calls(void)
{
    pthread_t thread;
    CUcontext context = sim_start_context("1MiB");
    if (pthread_create(&thread, NULL, never_stop, context) != 0)
        abort();
    while (sim.oracle_calls("cuMemFree_v2") < 10)
        sched_yield();
    exit(EXIT_SUCCESS);
}

START_TEST(calls_that_go_on_during_exit_still_work)
{
    for (int i = 0; i < EXIT_ROUNDS; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            exit_while_another_thread_calls();
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

START_TEST(a_device_is_described)
{
    sim_start("1MiB", "2");
    char text[64];
    CUuuid first;
    CUuuid second;
    CUdevice device;
    int value;
    ck_assert_int_eq(sim.cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(sim.cuDeviceGetName(text, 10, 0), CUDA_SUCCESS);
    ck_assert_str_eq(text, "Simulated");
    ck_assert_int_eq(sim.cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDeviceGetUuid_v2(&second, 1), CUDA_SUCCESS);
    ck_assert_mem_ne(&first, &second, sizeof first);
    ck_assert_int_eq(sim.cuDeviceGetPCIBusId(text, sizeof text, 1), CUDA_SUCCESS);
    ck_assert_str_eq(text, "0000:02:00.0");
    ck_assert_int_eq(sim.cuDeviceGetByPCIBusId(&device, text), CUDA_SUCCESS);
    ck_assert_int_eq(device, 1);
    ck_assert_int_eq(sim.cuDeviceGetByPCIBusId(&device, "01:00"), CUDA_SUCCESS);
    ck_assert_int_eq(device, 0);
    ck_assert_int_eq(sim.cuDeviceGetByPCIBusId(&device, "03:00"),
                     CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(sim.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
                     CUDA_SUCCESS);
    ck_assert_int_eq(value, 32);
    ck_assert_int_eq(sim.cuDeviceGetAttribute(&value, 21, 0), CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
    ck_assert_int_eq(value, 0);
}
END_TEST

START_TEST(a_stale_stream_or_event_is_an_invalid_handle)
{
    CUcontext context = sim_start_context("1MiB");
    CUstream stream;
    CUstream kept;
    CUevent event;
    CUcontext owner;
    ck_assert_int_eq(sim.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamCreate(&kept, 2), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuStreamCreate(&kept, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventCreate(&event, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamGetCtx(stream, &owner), CUDA_SUCCESS);
    ck_assert_ptr_eq(owner, context);
    ck_assert_int_eq(sim.cuStreamQuery((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(kept), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(events_are_over_once_recorded_and_tell_the_time_between)
{
    CUcontext context = sim_start_context("1MiB");
    CUevent start;
    CUevent end;
    float milliseconds = -1;
    ck_assert_int_eq(sim.cuEventCreate(&start, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventCreate(&end, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventRecord(start, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventElapsedTime(&milliseconds, start, end),
                     CUDA_ERROR_INVALID_HANDLE);
    usleep(2000);
    ck_assert_int_eq(sim.cuCtxRecordEvent(context, end), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventSynchronize(end), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuEventElapsedTime_v2(&milliseconds, start, end), CUDA_SUCCESS);
    ck_assert_float_ge(milliseconds, 2);
    ck_assert_int_eq(sim.cuEventCreate(&end, CU_EVENT_INTERPROCESS),
                     CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(a_pointer_tells_what_it_belongs_to)
{
    CUcontext context = sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(1000);
    CUcontext owner;
    unsigned type;
    CUdeviceptr base;
    size_t bytes;
    void *host;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&owner, &type, &base, &bytes};
    ck_assert_int_eq(sim.cuPointerGetAttributes(4, attributes, values, address + 999),
                     CUDA_SUCCESS);
    ck_assert_ptr_eq(owner, context);
    ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(bytes, 1000);
    ck_assert_int_eq(sim.cuPointerGetAttributes(4, attributes, values, address + 1000),
                     CUDA_SUCCESS);
    ck_assert_ptr_null(owner);
    ck_assert_int_eq(sim.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               address + 1000),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address),
        CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address),
        CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, &bytes, address + 1),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(bytes, 1000);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, &bytes, 1), CUDA_ERROR_NOT_FOUND);
}
END_TEST

SUITE_MAIN("simcuda/contexts", nothing_works_before_init_but_what_needs_no_driver,
           memory_needs_a_current_context, each_thread_has_a_stack_of_contexts,
           a_destroyed_context_stays_current_elsewhere_and_says_so,
           a_primary_context_lives_while_it_is_retained,
           a_reset_empties_a_primary_context_and_keeps_its_count,
           a_forked_child_has_lost_the_driver, calls_that_go_on_during_exit_still_work,
           a_device_is_described, a_stale_stream_or_event_is_an_invalid_handle,
           events_are_over_once_recorded_and_tell_the_time_between,
           a_pointer_tells_what_it_belongs_to)

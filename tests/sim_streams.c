/* Work of a stream is done in order, when its time has come and not before, on memory as it
   is then; calls wait for it exactly where the driver's do. */
#include "tests/sim_kernels.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { BYTES = 4096 };

static CUcontext context;
static struct sim_kernels kernels;

static void start(void)
{
    kernels = sim_start_kernels("0", &context);
}

START_TEST(work_that_nothing_holds_up_is_done_by_the_call)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream stream = sim_stream(0);
    sim_kernel_fill(&kernels, stream, address, BYTES, 7);
    ck_assert_uint_eq(sim_peek(address + BYTES - 1), 7);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_SUCCESS);
}
END_TEST

START_TEST(work_behind_held_work_is_done_when_that_ends)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUdeviceptr copied = sim_allocate(BYTES);
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 1, BYTES), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD8_v2(copied, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 1);
    sim_kernel_fill(&kernels, stream, address, BYTES, 2);
    sim_kernel_copy(&kernels, stream, copied, address, BYTES);
    ck_assert_int_eq(sim.cuMemsetD16Async(address, 0x0303, 4, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    ck_assert_uint_eq(sim_peek(address), 1);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(copied), 2);
    ck_assert_uint_eq(sim_peek(address), 3);
    ck_assert_uint_eq(sim_peek(address + 8), 2);
}
END_TEST

START_TEST(memory_that_is_reused_too_early_is_overwritten)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    unsigned char sent[BYTES];
    unsigned char back[BYTES];
    memset(sent, 5, BYTES);
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_hold(&kernels, stream, 1);
    sim_kernel_fill(&kernels, stream, address, BYTES, 9);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(address, sent, BYTES), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, address, BYTES), CUDA_SUCCESS);
    ck_assert_mem_eq(sent, back, BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, address, BYTES), CUDA_SUCCESS);
    ck_assert_uint_eq(back[0], 9);
}
END_TEST

START_TEST(page_locked_memory_is_read_when_its_turn_comes_and_pageable_memory_at_once)
{
    start();
    CUdeviceptr from_pinned = sim_allocate(BYTES);
    CUdeviceptr from_pageable = sim_allocate(BYTES);
    unsigned char *pinned = sim_pinned(BYTES);
    unsigned char pageable[BYTES];
    CUstream stream = sim_stream(0);
    memset(pinned, 1, BYTES);
    memset(pageable, 1, BYTES);
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuMemcpyHtoDAsync_v2(from_pinned, pinned, BYTES, stream),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyHtoDAsync_v2(from_pageable, pageable, BYTES, stream),
                     CUDA_SUCCESS);
    memset(pinned, 2, BYTES);
    memset(pageable, 2, BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(from_pinned), 2);
    ck_assert_uint_eq(sim_peek(from_pageable), 1);
    ck_assert_uint_eq(sim_peek(from_pageable + BYTES - 1), 1);
}
END_TEST

START_TEST(a_staged_rectangle_lands_where_it_should)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    unsigned char sent[64];
    for (unsigned i = 0; i < 64; i++)
        sent[i] = (unsigned char)i;
    CUstream stream = sim_stream(0);
    CUDA_MEMCPY2D_v2 copy = {
        .srcXInBytes = 1,
        .srcY = 1,
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = sent,
        .srcPitch = 10,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = address,
        .dstPitch = 100,
        .WidthInBytes = 3,
        .Height = 4,
    };
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuMemcpy2DAsync_v2(&copy, stream), CUDA_SUCCESS);
    memset(sent, 0xff, sizeof sent);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    for (unsigned y = 0; y < 4; y++)
        for (unsigned x = 0; x < 3; x++)
            ck_assert_uint_eq(sim_peek(address + y * 100 + x), (y + 1) * 10 + x + 1);
}
END_TEST

/* A call in a thread of its own, which is over or is not. */
struct call {
    pthread_t thread;
    const char *symbol; /* whose calls are counted */
    CUresult (*act)(void);
    CUresult result;
    atomic_bool returned;
};

static void *make_call(void *argument)
{
    struct call *call = argument;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    call->result = call->act();
    atomic_store_explicit(&call->returned, true, memory_order_release);
    return NULL;
}

static void begin_call(struct call *call)
{
    uint64_t before = sim.oracle_calls(call->symbol);
    ck_assert_int_eq(pthread_create(&call->thread, NULL, make_call, call), 0);
    while (sim.oracle_calls(call->symbol) == before)
        sched_yield();
}

static bool has_returned(struct call *call)
{
    return atomic_load_explicit(&call->returned, memory_order_acquire);
}

enum { SOON_US = 20000, LATE_US = 20000000 };

/* Whether the call waits for the kernel that holds ticket 1, which then ends. Where it
   should not, it gets all the time that a busy machine may need. */
static bool call_waits(struct call *call, bool expected)
{
    begin_call(call);
    for (int us = 0; us < (expected ? SOON_US : LATE_US) && !has_returned(call);
         us += 1000)
        usleep(1000);
    bool waited = !has_returned(call);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(pthread_join(call->thread, NULL), 0);
    ck_assert_int_eq(call->result, CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    return waited;
}

static CUdeviceptr device;
static CUdeviceptr other;
static unsigned char *locked;
static unsigned char plain[BYTES];
static CUstream held;

#define CALL(name, expression)                                                           \
    static CUresult name(void)                                                           \
    {                                                                                    \
        return expression;                                                               \
    }
CALL(free_device, sim.cuMemFree_v2(device))
CALL(free_locked, sim.cuMemFreeHost(locked))
CALL(unregister, sim.cuMemHostUnregister(plain))
CALL(synchronize_context, sim.cuCtxSynchronize())
CALL(synchronize_named, sim.cuCtxSynchronize_v2(context))
CALL(synchronize_default, sim.cuStreamSynchronize(NULL))
CALL(upload_locked, sim.cuMemcpyHtoD_v2(device, locked, BYTES))
CALL(upload_plain, sim.cuMemcpyHtoD_v2(device, plain, BYTES))
CALL(download_locked, sim.cuMemcpyDtoH_v2(locked, device, BYTES))
CALL(download_plain, sim.cuMemcpyDtoH_v2(plain, device, BYTES))
CALL(copy_device, sim.cuMemcpyDtoD_v2(device, other, BYTES))
CALL(copy_host, sim.cuMemcpy((uintptr_t)plain, (uintptr_t)locked, BYTES))
CALL(fill_device, sim.cuMemsetD8_v2(device, 1, BYTES))
CALL(fill_locked, sim.cuMemsetD8_v2((uintptr_t)locked, 1, BYTES))
CALL(upload_locked_async, sim.cuMemcpyHtoDAsync_v2(device, locked, BYTES, held))
CALL(upload_plain_async, sim.cuMemcpyHtoDAsync_v2(device, plain, BYTES, held))
CALL(download_locked_async, sim.cuMemcpyDtoHAsync_v2(locked, device, BYTES, held))
CALL(download_plain_async, sim.cuMemcpyDtoHAsync_v2(plain, device, BYTES, held))
CALL(copy_host_async, sim.cuMemcpyAsync((uintptr_t)plain, (uintptr_t)locked, BYTES, held))
CALL(fill_locked_async, sim.cuMemsetD8Async((uintptr_t)locked, 1, BYTES, held))
CALL(allocate, sim.cuMemAlloc_v2(&other, BYTES))

START_TEST(calls_wait_where_the_drivers_wait_and_nowhere_else)
{
    static struct {
        const char *symbol;
        CUresult (*act)(void);
        bool waits;
    } rows[] = {
        {"cuMemFree_v2", free_device, true},
        {"cuMemFreeHost", free_locked, true},
        {"cuMemHostUnregister", unregister, true},
        {"cuCtxSynchronize", synchronize_context, true},
        {"cuCtxSynchronize_v2", synchronize_named, true},
        {"cuStreamSynchronize", synchronize_default, true},
        {"cuMemcpyHtoD_v2", upload_locked, true},
        {"cuMemcpyHtoD_v2", upload_plain, true},
        {"cuMemcpyDtoH_v2", download_locked, true},
        {"cuMemcpyDtoH_v2", download_plain, true},
        {"cuMemcpyDtoD_v2", copy_device, false},
        {"cuMemcpy", copy_host, true},
        {"cuMemsetD8_v2", fill_device, false},
        {"cuMemsetD8_v2", fill_locked, true},
        {"cuMemcpyHtoDAsync_v2", upload_locked_async, false},
        {"cuMemcpyHtoDAsync_v2", upload_plain_async, false},
        {"cuMemcpyDtoHAsync_v2", download_locked_async, false},
        {"cuMemcpyDtoHAsync_v2", download_plain_async, true},
        {"cuMemcpyAsync", copy_host_async, true},
        {"cuMemsetD8Async", fill_locked_async, false},
        {"cuMemAlloc_v2", allocate, false},
    };
    start();
    held = sim_stream(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call call = {.symbol = rows[i].symbol, .act = rows[i].act};
        device = sim_allocate(BYTES);
        other = sim_allocate(BYTES);
        locked = sim_pinned(BYTES);
        if (rows[i].act == unregister)
            ck_assert_int_eq(sim.cuMemHostRegister_v2(plain, BYTES, 0), CUDA_SUCCESS);
        sim_hold(&kernels, held, 1);
        ck_assert_msg(call_waits(&call, rows[i].waits) == rows[i].waits, "row %zu: %s", i,
                      rows[i].symbol);
    }
}
END_TEST

START_TEST(freed_memory_is_there_until_the_work_is_done)
{
    start();
    struct call call = {.symbol = "cuMemFree_v2", .act = free_device};
    held = sim_stream(CU_STREAM_NON_BLOCKING);
    device = sim_allocate(BYTES);
    sim_hold(&kernels, held, 1);
    sim_kernel_fill(&kernels, held, device, BYTES, 3);
    begin_call(&call);
    ck_assert_uint_eq(sim.oracle_bytes(0), BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(pthread_join(call.thread, NULL), 0);
    ck_assert_int_eq(call.result, CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(a_kernel_that_touches_freed_memory_breaks_its_context)
{
    start();
    CUstream stream = sim_stream(0);
    CUdeviceptr address = sim_allocate(BYTES);
    CUdeviceptr kept = sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    sim_hold(&kernels, stream, 1);
    sim_kernel_copy(&kernels, stream, kept, address, BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(sim.cuMemFree_v2(kept), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

static unsigned thread_count(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

START_TEST(a_context_ends_with_its_work_and_its_threads)
{
    start();
    void *pinned;
    ck_assert_uint_eq(thread_count(), 1);
    CUdeviceptr ordered;
    ck_assert_int_eq(sim.cuMemAllocAsync(&ordered, BYTES, NULL), CUDA_SUCCESS);
    for (int i = 0; i < 4; i++) {
        CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
        sim_hold(&kernels, stream, 1);
        sim_kernel_fill(&kernels, stream, ordered + (CUdeviceptr)i, 1, 7);
        if (i % 2 == 0)
            ck_assert_int_eq(sim.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    }
    ck_assert_uint_eq(thread_count(), 5);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_uint_eq(thread_count(), 1);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(sim_peek(ordered + i), 7);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
}
END_TEST

static void *reset_primary(void *unused)
{
    (void)unused;
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    return NULL;
}

START_TEST(a_context_that_ends_is_gone_for_others_and_comes_back_after_its_end)
{
    pthread_t thread;
    CUcontext primary;
    CUcontext again;
    unsigned long long old_id;
    unsigned long long new_id;
    start();
    CUcontext first = context;
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(primary), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxGetId(primary, &old_id), CUDA_SUCCESS);
    struct sim_kernels others = sim_load_kernels();
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr address = sim_allocate(BYTES);
    sim_hold(&others, stream, 1);
    sim_kernel_fill(&others, stream, address, BYTES, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, reset_primary, NULL), 0);
    while (sim.cuCtxSetCurrent(primary) == CUDA_SUCCESS)
        sched_yield();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(sim.cuCtxSetCurrent(first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    ck_assert_uint_eq(sim.oracle_bytes(0), BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(sim.cuCtxGetId(again, &new_id), CUDA_SUCCESS);
    ck_assert_uint_ne(old_id, new_id);
}
END_TEST

START_TEST(threads_of_streams_that_ended_do_not_pile_up)
{
    start();
    for (int i = 0; i < 100; i++) {
        CUstream stream = sim_stream(0);
        sim_hold(&kernels, stream, 1);
        ck_assert_int_eq(sim.release(1), 1);
        ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
    }
    /* Each makes room as the next comes; the last ones may still be on their way out. */
    ck_assert_uint_le(thread_count(), 4);
}
END_TEST

START_TEST(a_fork_among_waiting_threads_leaves_both_sides_alive)
{
    start();
    CUstream stream = sim_stream(0);
    CUevent event = sim_event();
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuEventRecord(event, stream), CUDA_SUCCESS);
    pid_t child = fork();
    if (child == 0)
        _exit(sim.cuEventQuery(event) == CUDA_ERROR_NOT_INITIALIZED &&
                      sim.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
                      sim.release(1) == 1
                  ? 0
                  : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(sim.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
}
END_TEST

START_TEST(work_takes_its_delay)
{
    struct timespec began;
    struct timespec ended;
    kernels = sim_start_kernels("20000-30000", &context);
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream stream = sim_stream(0);
    clock_gettime(CLOCK_MONOTONIC, &began);
    sim_kernel_fill(&kernels, stream, address, BYTES, 7);
    ck_assert_int_eq(sim.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    ck_assert_uint_eq(sim_peek(address), 7);
    long elapsed_us =
        (ended.tv_sec - began.tv_sec) * 1000000 + (ended.tv_nsec - began.tv_nsec) / 1000;
    ck_assert_int_ge(elapsed_us, 20000);
}
END_TEST

SUITE_MAIN("simcuda/streams", work_that_nothing_holds_up_is_done_by_the_call,
           work_behind_held_work_is_done_when_that_ends,
           memory_that_is_reused_too_early_is_overwritten,
           page_locked_memory_is_read_when_its_turn_comes_and_pageable_memory_at_once,
           a_staged_rectangle_lands_where_it_should,
           calls_wait_where_the_drivers_wait_and_nowhere_else,
           freed_memory_is_there_until_the_work_is_done,
           a_kernel_that_touches_freed_memory_breaks_its_context,
           a_context_ends_with_its_work_and_its_threads,
           a_context_that_ends_is_gone_for_others_and_comes_back_after_its_end,
           threads_of_streams_that_ended_do_not_pile_up,
           a_fork_among_waiting_threads_leaves_both_sides_alive, work_takes_its_delay)

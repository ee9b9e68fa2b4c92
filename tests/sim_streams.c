/* Work of a stream is done in order, when its time has come and not before, on memory as it
   is then; it ends with its context, and so do its threads. */
#include "tests/sim_kernels.h"

#include <dirent.h>
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
    /* Each makes room as the next comes; on a busy machine some are still on their way out. */
    for (int tries = 0; thread_count() > 4 && tries < 10000; tries++)
        (void)usleep(1000);
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
           a_kernel_that_touches_freed_memory_breaks_its_context,
           a_context_ends_with_its_work_and_its_threads,
           a_context_that_ends_is_gone_for_others_and_comes_back_after_its_end,
           threads_of_streams_that_ended_do_not_pile_up,
           a_fork_among_waiting_threads_leaves_both_sides_alive, work_takes_its_delay)

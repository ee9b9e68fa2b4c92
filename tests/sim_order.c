/* Streams wait for each other where they must: the default stream for the blocking ones and
   they for it, per-thread streams one for each thread; and nothing waits for a
   non-blocking stream. Whatever the delays, each stream's work is done in order. */
#include "tests/sim_kernels.h"

enum { BYTES = 512 };

static CUcontext context;
static struct sim_kernels kernels;

static void start(void)
{
    kernels = sim_start_kernels("0", &context);
}

START_TEST(the_default_stream_waits_for_blocking_streams_and_they_for_it)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream first = sim_stream(0);
    CUstream second = sim_stream(0);
    CUstream apart = sim_stream(CU_STREAM_NON_BLOCKING);
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, first, 1);
    sim_kernel_fill(&kernels, second, address, 1, 1);
    ck_assert_uint_eq(sim_peek(address), 1);
    sim_kernel_fill(&kernels, NULL, address + 1, 1, 1);
    sim_kernel_fill(&kernels, second, address + 2, 1, 1);
    sim_kernel_fill(&kernels, apart, address + 3, 1, 1);
    ck_assert_uint_eq(sim_peek(address + 3), 1);
    usleep(10000);
    ck_assert_uint_eq(sim_peek(address + 1), 0);
    ck_assert_uint_eq(sim_peek(address + 2), 0);
    ck_assert_int_eq(sim.cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuStreamQuery(apart), CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(second), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address + 1), 1);
    ck_assert_uint_eq(sim_peek(address + 2), 1);
}
END_TEST

START_TEST(the_default_stream_does_not_wait_for_a_non_blocking_one)
{
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    CUstream apart = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_hold(&kernels, apart, 1);
    sim_kernel_fill(&kernels, NULL, address, 1, 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address), 1);
    ck_assert_int_eq(sim.cuStreamQuery(apart), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.release(1), 1);
}
END_TEST

static void *query_own_stream(void *unused)
{
    (void)unused;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery_ptsz(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    return NULL;
}

START_TEST(each_thread_has_a_default_stream_of_its_own)
{
    start();
    pthread_t thread;
    uint64_t ticket = 1;
    void *arguments[] = {&ticket};
    ck_assert_int_eq(
        sim.cuLaunchKernel_ptsz(kernels.hold, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL),
        CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(sim.cuStreamQuery_ptsz(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    ck_assert_int_eq(pthread_create(&thread, NULL, query_own_stream, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize_ptsz(NULL), CUDA_SUCCESS);
}
END_TEST

START_TEST(the_per_thread_forms_copy_and_fill_in_the_threads_stream)
{
    start();
    unsigned char plain[BYTES] = {0};
    CUdeviceptr address = sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0, BYTES), CUDA_SUCCESS);
    sim_hold(&kernels, CU_STREAM_PER_THREAD, 1);
    ck_assert_int_eq(sim.cuMemsetD8_v2_ptds(address, 1, 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoD_v2_ptds(address + 2, address + 1, 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyHtoDAsync_v2_ptsz(address + 3, plain, 1, NULL),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address), 0);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2_ptds(plain, address, BYTES), CUDA_SUCCESS);
    ck_assert_uint_eq(plain[0], 1);
}
END_TEST

START_TEST(streams_of_two_contexts_do_not_wait_for_each_other)
{
    CUcontext second;
    start();
    CUdeviceptr address = sim_allocate(BYTES);
    sim_hold(&kernels, NULL, 1);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    struct sim_kernels others = sim_load_kernels();
    sim_kernel_fill(&others, NULL, address, 1, 4);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(address), 4);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(second), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
}
END_TEST

/* Each thread has streams and a buffer for each, gives them random work in which each step
   reads what the last one wrote, and ends with exactly what a host would have. */
enum { STREAMS = 3, STEPS = 400, THREADS = 2 };

static void step(unsigned *seed, CUstream stream, CUdeviceptr buffer,
                 unsigned char model[BYTES])
{
    size_t from = (size_t)rand_r(seed) % (BYTES / 2);
    size_t to = BYTES / 2 + (size_t)rand_r(seed) % (BYTES / 4);
    size_t count = 1 + (size_t)rand_r(seed) % (BYTES / 4);
    unsigned char value = (unsigned char)rand_r(seed);
    CUresult result = CUDA_SUCCESS;
    if (rand_r(seed) % 2 == 0) {
        result = sim.cuMemsetD8Async(buffer + from, value, count, stream);
        memset(model + from, value, count);
    } else {
        result = sim.cuMemcpyDtoDAsync_v2(buffer + to, buffer + from, count, stream);
        memmove(model + to, model + from, count);
    }
    ck_assert_int_eq(result, CUDA_SUCCESS);
}

static void give_random_work(unsigned seed, void *unused)
{
    (void)unused;
    CUstream streams[STREAMS];
    CUdeviceptr buffers[STREAMS];
    unsigned char models[STREAMS][BYTES];
    unsigned char back[BYTES];
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = sim_stream(i == 0 ? 0 : CU_STREAM_NON_BLOCKING);
        buffers[i] = sim_allocate(BYTES);
        memset(models[i], 0, BYTES);
        ck_assert_int_eq(sim.cuMemsetD8Async(buffers[i], 0, BYTES, streams[i]),
                         CUDA_SUCCESS);
    }
    for (int i = 0; i < STEPS; i++) {
        int k = rand_r(&seed) % STREAMS;
        step(&seed, streams[k], buffers[k], models[k]);
        if (rand_r(&seed) % 40 != 0)
            continue;
        ck_assert_int_eq(sim.cuMemcpyDtoHAsync_v2(back, buffers[k], BYTES, streams[k]),
                         CUDA_SUCCESS);
        ck_assert_mem_eq(back, models[k], BYTES);
    }
    for (int i = 0; i < STREAMS; i++) {
        ck_assert_int_eq(sim.cuStreamSynchronize(streams[i]), CUDA_SUCCESS);
        ck_assert_mem_eq((void *)(uintptr_t)buffers[i], models[i], BYTES);
    }
}

START_TEST(whatever_the_delays_each_streams_work_is_done_in_order)
{
    kernels = sim_start_kernels("0-300", &context);
    suite_run_threads(THREADS, give_random_work, NULL);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
}
END_TEST

SUITE_MAIN("simcuda/order", the_default_stream_waits_for_blocking_streams_and_they_for_it,
           the_default_stream_does_not_wait_for_a_non_blocking_one,
           each_thread_has_a_default_stream_of_its_own,
           the_per_thread_forms_copy_and_fill_in_the_threads_stream,
           streams_of_two_contexts_do_not_wait_for_each_other,
           whatever_the_delays_each_streams_work_is_done_in_order)

/* A call takes the time that its knob says, and is over before it: what it did can be seen
   by other threads while it still takes time. Only lower bounds are compared. */
#include "tests/sim_driver.h"

#include <stdio.h>
#include <time.h>

static double began_us;

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void begin(void)
{
    began_us = now_us();
}

static void check_took_us(double least_us)
{
    double took_us = now_us() - began_us;
    ck_assert_msg(took_us >= least_us, "%.1f us, less than %.1f", took_us, least_us);
}

START_TEST(device_memory_costs_what_the_knobs_say)
{
    setenv("SIMCUDA_ALLOC_US", "3000", 1);
    setenv("SIMCUDA_FREE_US", "50", 1);
    sim_start_context("1MiB");
    CUdeviceptr linear;
    CUdeviceptr pitched;
    CUdeviceptr managed;
    size_t pitch;
    begin();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&linear, 1000), CUDA_SUCCESS);
    check_took_us(3000);
    begin();
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&pitched, &pitch, 100, 10, 4), CUDA_SUCCESS);
    check_took_us(3000);
    begin();
    ck_assert_int_eq(sim.cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    check_took_us(3000);
    begin();
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_SUCCESS);
    check_took_us(50);
}
END_TEST

START_TEST(page_locking_costs_by_the_size_and_unlocking_two_ninths)
{
    static char buffer[1000000];
    setenv("SIMCUDA_PIN_US_PER_MB", "900", 1);
    sim_start_context("1MiB");
    void *pinned;
    begin();
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 4000000, 0), CUDA_SUCCESS);
    check_took_us(3600);
    begin();
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
    check_took_us(800);
    begin();
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, sizeof buffer, 0), CUDA_SUCCESS);
    check_took_us(900);
    begin();
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    check_took_us(200);
    begin();
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&pinned, 10), CUDA_SUCCESS);
    ck_assert_double_lt(now_us() - began_us, 1e6);
}
END_TEST

static void *hold(void *context)
{
    CUdeviceptr address;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1000), CUDA_SUCCESS);
    return NULL;
}

START_TEST(other_threads_go_on_while_a_call_takes_its_time)
{
    pthread_t thread;
    setenv("SIMCUDA_ALLOC_US", "1000000", 1);
    CUcontext context = sim_start_context("1MiB");
    begin();
    ck_assert_int_eq(pthread_create(&thread, NULL, hold, context), 0);
    while (sim.oracle_bytes(0) == 0)
        sched_yield();
    CUcontext current;
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    double used_us = now_us() - began_us;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    check_took_us(1000000);
    /* Had the calls waited for the allocation, they would have taken all of its time. */
    ck_assert_double_lt(used_us, 900000);
}
END_TEST

SUITE_MAIN("simcuda/costs", device_memory_costs_what_the_knobs_say,
           page_locking_costs_by_the_size_and_unlocking_two_ninths,
           other_threads_go_on_while_a_call_takes_its_time)

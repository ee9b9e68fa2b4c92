/* What every test of accounting shares, in a process that is started with the library, a
   ceiling on the device and one on page-locked memory: the simulated driver behind the hooks,
   and what is charged, as the program itself can find out. */
#ifndef TESTS_ACCOUNTS_FIXTURE_H
#define TESTS_ACCOUNTS_FIXTURE_H

#include <stdint.h>

#include "tests/sim_driver.h"

#ifndef CEILING_MIB
#define CEILING_MIB 64
#endif

enum {
    MIB = 1 << 20,
    PAGE = 4096,
    CEILING = CEILING_MIB * MIB, /* TIDEMARK_DEVICE_MEM */
    PINNED_CEILING = 64 * MIB,   /* TIDEMARK_PINNED_MEM */
    UNTOUCHED = 0xdead,
};

/* The device has far more than the ceiling, so that only the ceiling shows. */
static inline CUcontext accounts_start(void)
{
    return sim_start_context("1GiB");
}

/* Charged to the device of the current context. */
static inline uint64_t charged_bytes(void)
{
    size_t free_bytes = 0, total_bytes = 0;
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
    ck_assert_uint_eq(total_bytes, CEILING);
    ck_assert_uint_le(free_bytes, CEILING);
    return CEILING - free_bytes;
}

/* Of what programs hold of a device as they asked for it, so much is stream-ordered and lies in
   pools: what those have reserved counts instead. Kept by tests that have such memory. */
static uint64_t ordered_bytes[16];

static inline uint64_t device_oracle(CUdevice device)
{
    return sim.oracle_bytes(device) - ordered_bytes[device] +
           sim.oracle_reserved_bytes(device);
}

/* And the driver agrees. */
static inline void charged_is(uint64_t bytes)
{
    ck_assert_uint_eq(charged_bytes(), bytes);
    CUdevice device = -1;
    ck_assert_int_eq(sim.cuCtxGetDevice(&device), CUDA_SUCCESS);
    ck_assert_uint_eq(device_oracle(device), bytes);
}

/* No query tells what page-locked memory is charged: what is left is found by taking exactly
   that, and no more. */
static inline void pinned_is(uint64_t bytes)
{
    void *all = NULL, *more = (void *)UNTOUCHED;
    if (bytes < PINNED_CEILING) {
        ck_assert_int_eq(sim.cuMemHostAlloc(&all, PINNED_CEILING - bytes, 0),
                         CUDA_SUCCESS);
    }
    ck_assert_int_eq(sim.cuMemHostAlloc(&more, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_ptr_eq(more, (void *)UNTOUCHED);
    if (all != NULL)
        ck_assert_int_eq(sim.cuMemFreeHost(all), CUDA_SUCCESS);
}

#endif

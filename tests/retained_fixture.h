/* What every test of retained device and page-locked memory shares, in a process that is started
   with the library: the simulated driver behind the hooks, with streams under control, and what
   reached it. */
#ifndef TESTS_RETAINED_FIXTURE_H
#define TESTS_RETAINED_FIXTURE_H

#include <stdint.h>

#include "tests/sim_kernels.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static CUcontext context;
static struct sim_kernels kernels;

/* How often the driver was asked to allocate and to free, of either kind. */
static inline uint64_t asked(void)
{
    return sim.oracle_calls("cuMemAlloc_v2") + sim.oracle_calls("cuMemAllocHost_v2") +
           sim.oracle_calls("cuMemHostAlloc");
}

static inline uint64_t freed(void)
{
    return sim.oracle_calls("cuMemFree_v2") + sim.oracle_calls("cuMemFreeHost");
}

static inline void synchronise(void)
{
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
}

static inline void give(CUdeviceptr address)
{
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
}

static inline void give_pinned(void *address)
{
    ck_assert_int_eq(sim.cuMemFreeHost(address), CUDA_SUCCESS);
}

/* What was needed at once lately bounds what is held: so much was, and is gone. Others can reach
   it, and so it is not kept. */
static inline void retained_need(size_t bytes)
{
    unsigned on = 1;
    CUdeviceptr block = sim_allocate(bytes);
    void *pinned = sim_pinned(bytes);
    ck_assert_int_eq(
        sim.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block),
        CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                               (CUdeviceptr)(uintptr_t)pinned),
                     CUDA_SUCCESS);
    give(block);
    give_pinned(pinned);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 0);
}

/* A context that was synchronised once: before, nothing is kept. */
static inline void retained_start(const char *mem)
{
    setenv("SIMCUDA_KERNELS", "skip", 1);
    context = sim_start_context(mem);
    kernels = sim_load_kernels();
    synchronise();
}

/* Frees and allocates again: true when the driver was asked for neither. */
static inline bool is_kept(CUdeviceptr address, size_t bytes)
{
    uint64_t asked_before = asked(), freed_before = freed();
    give(address);
    synchronise();
    CUdeviceptr again = sim_allocate(bytes);
    bool kept = asked() == asked_before && freed() == freed_before;
    ck_assert(!kept || again == address);
    give(again);
    return kept;
}

#endif

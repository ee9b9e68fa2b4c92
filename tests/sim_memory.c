/* The simulator is an instrument: its limits are exact, its refusals are the driver's,
   and its own count of what is held can be trusted. */
#include "tests/sim_driver.h"

#include <stdint.h>

enum { MIB = 1 << 20, UNIT = 512 };

static size_t free_bytes(void)
{
    size_t bytes = 0;
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&bytes, NULL), CUDA_SUCCESS);
    return bytes;
}

START_TEST(all_of_the_memory_is_granted_and_not_a_byte_more)
{
    sim_start_context("1MiB");
    CUdeviceptr all = sim_allocate(MIB);
    CUdeviceptr more = 42;
    ck_assert_uint_eq(free_bytes(), 0);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(more, 42);
    ck_assert_int_eq(sim.cuMemFree_v2(all), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&more, MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&more, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(free_bytes(), MIB);
}
END_TEST

START_TEST(each_allocation_takes_whole_units_and_holds_what_was_asked)
{
    sim_start_context("1MiB");
    CUdeviceptr last = 0;
    for (int i = 0; i < MIB / UNIT; i++) {
        last = sim_allocate(1);
        ck_assert_uint_eq(last % UNIT, 0);
    }
    ck_assert_uint_eq(sim.oracle_bytes(0), MIB / UNIT);
    CUdeviceptr more;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(sim.cuMemFree_v2(last), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), UNIT);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&more, UNIT + 1), CUDA_ERROR_OUT_OF_MEMORY);
    sim_allocate(UNIT);
    ck_assert_uint_eq(sim.oracle_bytes(0), MIB / UNIT - 1 + UNIT);
}
END_TEST

START_TEST(nothing_and_nowhere_are_invalid)
{
    sim_start_context("1MiB");
    CUdeviceptr address = 42;
    size_t pitch;
    void *host;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAlloc_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, 1, 3),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 2, 4),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostAlloc(&host, 1, 0x80), CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(address, 42);
}
END_TEST

START_TEST(only_the_start_of_a_live_block_of_the_kind_is_freed)
{
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(4096);
    void *pinned;
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2((uintptr_t)pinned), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFreeHost((void *)(uintptr_t)address),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(every_kind_of_device_memory_is_counted_and_host_memory_is_not)
{
    sim_start_context("1MiB");
    CUdeviceptr address;
    size_t pitch;
    void *pinned;
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&pinned, 1 << 22), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), MIB);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 100, 10, 4), CUDA_SUCCESS);
    ck_assert_uint_eq(pitch, UNIT);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 1000, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, 2000, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 10 * UNIT + 1000 + 2000);
    ck_assert_uint_eq(free_bytes(), MIB - 10 * UNIT - 1024 - 2048);
    ck_assert_int_eq(sim.cuMemFreeAsync_ptsz(address, CU_STREAM_PER_THREAD),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 10 * UNIT + 1000);
}
END_TEST

START_TEST(page_locked_memory_is_counted_by_who_made_it)
{
    sim_start_context("1MiB");
    static char buffer[4096];
    void *first;
    void *second;
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&first, 1000), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostAlloc(&second, 3 << 20, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, sizeof buffer, 0), CUDA_SUCCESS);
    sim_allocate(100);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 1000 + (3 << 20));
    ck_assert_uint_eq(sim.oracle_registered_bytes(), sizeof buffer);
    ck_assert_int_eq(sim.cuMemFreeHost(first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 3 << 20);
    ck_assert_uint_eq(sim.oracle_registered_bytes(), 0);
}
END_TEST

START_TEST(sizes_of_32_bits_are_clamped)
{
    sim_start_context("6GiB");
    unsigned total;
    unsigned left;
    ck_assert_int_eq(sim.cuDeviceTotalMem(&total, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(total, UINT32_MAX);
    ck_assert_int_eq(sim.cuMemGetInfo(&left, &total), CUDA_SUCCESS);
    ck_assert_uint_eq(total, UINT32_MAX);
    sim_allocate((size_t)5 << 30);
    ck_assert_int_eq(sim.cuMemGetInfo(&left, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(left, 1u << 30);
    size_t total_bytes;
    ck_assert_int_eq(sim.cuDeviceTotalMem_v2(&total_bytes, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(total_bytes, (size_t)6 << 30);
}
END_TEST

START_TEST(each_device_has_its_own_memory)
{
    CUcontext first;
    CUcontext second;
    sim_start("1MiB", "2");
    ck_assert_int_eq(sim.cuCtxCreate_v2(&first, 0, 0), CUDA_SUCCESS);
    sim_allocate(MIB);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 1), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), MIB);
    sim_allocate(MIB);
    ck_assert_uint_eq(sim.oracle_bytes(0), MIB);
    ck_assert_uint_eq(sim.oracle_bytes(1), MIB);
    ck_assert_uint_eq(sim.oracle_bytes(2), 0);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(first), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_uint_eq(sim.oracle_bytes(1), MIB);
}
END_TEST

START_TEST(a_context_takes_its_memory_along_but_not_stream_ordered_memory)
{
    CUcontext context = sim_start_context("1MiB");
    CUdeviceptr ordered;
    CUdeviceptr linear = sim_allocate(4096);
    void *pinned;
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&pinned, 4096), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAllocAsync_ptsz(&ordered, 512, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 512);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2(ordered), CUDA_SUCCESS);
}
END_TEST

START_TEST(registered_memory_is_the_programs_and_known_once)
{
    sim_start_context("1MiB");
    static char buffer[8192];
    CUdeviceptr mapped;
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer),
                     CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, 4096, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer + 4095, 2, 0),
                     CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ck_assert_int_eq(sim.cuMemHostRegister(buffer + 4096, 4096, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostGetDevicePointer_v2(&mapped, buffer + 5, 0),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(mapped, (uintptr_t)buffer + 5);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, 1, CU_MEMHOSTREGISTER_IOMEMORY),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostGetDevicePointer_v2(&mapped, buffer, 0),
                     CUDA_ERROR_INVALID_VALUE);
    buffer[0] = 1;
}
END_TEST

START_TEST(flags_of_pinned_memory_are_given_back)
{
    sim_start_context("1MiB");
    void *pinned;
    unsigned flags;
    unsigned asked = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 100, asked), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostGetFlags(&flags, (char *)pinned + 99), CUDA_SUCCESS);
    ck_assert_uint_eq(flags, asked);
    ck_assert_int_eq(sim.cuMemHostGetFlags(&flags, &flags), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

enum { STRESS_ROUNDS = 20000, STRESS_SLOTS = 64, STRESS_THREADS = 2 };

/* Puts a block's own address into it, and finds it there when the block is given back: no
   block is handed out twice. */
static void toggle(CUdeviceptr *slot, size_t words)
{
    unsigned first;
    if (*slot != 0) {
        ck_assert_int_eq(sim.cuMemcpyDtoH_v2(&first, *slot, sizeof first), CUDA_SUCCESS);
        ck_assert_uint_eq(first, (unsigned)*slot);
        ck_assert_int_eq(sim.cuMemFree_v2(*slot), CUDA_SUCCESS);
        *slot = 0;
        return;
    }
    CUresult result = sim.cuMemAlloc_v2(slot, words * sizeof first);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return;
    ck_assert_int_eq(result, CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD32_v2(*slot, (unsigned)*slot, words), CUDA_SUCCESS);
}

static void churn(unsigned seed, void *unused)
{
    (void)unused;
    CUcontext context;
    CUdeviceptr held[STRESS_SLOTS] = {0};
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    for (int i = 0; i < STRESS_ROUNDS; i++) {
        size_t slot = (size_t)rand_r(&seed) % STRESS_SLOTS;
        toggle(&held[slot], 1 + (size_t)rand_r(&seed) % 2048);
    }
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
}

START_TEST(two_threads_share_one_device_without_losing_a_byte)
{
    sim_start("256KiB", "1");
    suite_run_threads(STRESS_THREADS, churn, NULL);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    CUcontext context;
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), 256 << 10);
    ck_assert_uint_gt(sim.oracle_calls("cuMemAlloc_v2"), STRESS_ROUNDS / 2);
}
END_TEST

SUITE_MAIN("simcuda/memory", all_of_the_memory_is_granted_and_not_a_byte_more,
           each_allocation_takes_whole_units_and_holds_what_was_asked,
           nothing_and_nowhere_are_invalid,
           only_the_start_of_a_live_block_of_the_kind_is_freed,
           every_kind_of_device_memory_is_counted_and_host_memory_is_not,
           page_locked_memory_is_counted_by_who_made_it, sizes_of_32_bits_are_clamped,
           each_device_has_its_own_memory,
           a_context_takes_its_memory_along_but_not_stream_ordered_memory,
           registered_memory_is_the_programs_and_known_once,
           flags_of_pinned_memory_are_given_back,
           two_threads_share_one_device_without_losing_a_byte)

/* What can be given to others: handles of memory for other processes, tokens for other
   devices, and the mark that orders copies. Each is for one block, and ends with it. */
#include "tests/sim_driver.h"

enum { BYTES = 4096, OPEN = 1 };

START_TEST(a_handle_opens_the_block_it_was_made_of)
{
    CUipcMemHandle handle;
    CUdeviceptr opened = 0;
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcCloseMemHandle(address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuIpcOpenMemHandle_v2(&opened, handle, OPEN), CUDA_SUCCESS);
    ck_assert_uint_eq(opened, address);
    ck_assert_uint_eq(sim.oracle_bytes(0), BYTES);
    ck_assert_int_eq(sim.cuIpcOpenMemHandle(&opened, handle, 0),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuIpcCloseMemHandle(opened), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcCloseMemHandle(opened), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_handle_ends_with_its_block_though_the_address_is_used_again)
{
    CUipcMemHandle first;
    CUipcMemHandle second;
    CUdeviceptr opened;
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(BYTES);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&first, address), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcOpenMemHandle_v2(&opened, first, OPEN),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(sim_allocate(BYTES), address);
    ck_assert_int_eq(sim.cuIpcOpenMemHandle_v2(&opened, first, OPEN),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&second, address), CUDA_SUCCESS);
    ck_assert_mem_ne(&first, &second, sizeof first);
}
END_TEST

START_TEST(only_whole_blocks_of_linear_memory_have_handles)
{
    CUipcMemHandle handle;
    CUdeviceptr address;
    void *pinned;
    sim_start_context("1MiB");
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&handle, sim_allocate(BYTES) + 1),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, BYTES, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&handle, address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, BYTES, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&handle, address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, BYTES, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuIpcGetMemHandle(&handle, (CUdeviceptr)(uintptr_t)pinned),
                     CUDA_ERROR_INVALID_VALUE);
    memset(&handle, 0, sizeof handle);
    ck_assert_int_eq(sim.cuIpcOpenMemHandle_v2(&address, handle, OPEN),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

static unsigned sync_memops(CUdeviceptr address)
{
    unsigned value = 42;
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
        CUDA_SUCCESS);
    return value;
}

START_TEST(marks_of_a_block_are_not_the_next_ones)
{
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens = {0};
    unsigned on = 1;
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(BYTES);
    ck_assert_uint_eq(sync_memops(address), 0);
    ck_assert_int_eq(
        sim.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
        CUDA_SUCCESS);
    ck_assert_uint_eq(sync_memops(address), 1);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_allocate(BYTES), address);
    ck_assert_uint_eq(sync_memops(address), 0);
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, address),
        CUDA_SUCCESS);
    ck_assert_uint_ne(tokens.p2pToken, 0);
    ck_assert_uint_eq(sync_memops(address), 1);
}
END_TEST

SUITE_MAIN("simcuda/exports", a_handle_opens_the_block_it_was_made_of,
           a_handle_ends_with_its_block_though_the_address_is_used_again,
           only_whole_blocks_of_linear_memory_have_handles,
           marks_of_a_block_are_not_the_next_ones)

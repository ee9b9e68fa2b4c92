/* A fault happens at the call that was named and at no other, changes nothing beside its
   result, and a broken context stays broken until its end. */
#include "tests/sim_driver.h"

enum { MIB = 1 << 20 };

START_TEST(the_named_call_fails_and_no_other)
{
    setenv("SIMCUDA_FAIL", "cuMemAlloc_v2:2,cuMemFree_v2:1,cuMemHostAlloc:1:304", 1);
    sim_start_context("1MiB");
    CUdeviceptr first = sim_allocate(1000);
    CUdeviceptr address = 42;
    void *pinned;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1000), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, 42);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1000);
    sim_allocate(500);
    ck_assert_int_eq(sim.cuMemFree_v2(first), CUDA_ERROR_UNKNOWN);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1500);
    ck_assert_int_eq(sim.cuMemFree_v2(first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 1000, 0), CUDA_ERROR_OPERATING_SYSTEM);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 1000, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_calls("cuMemAlloc_v2"), 3);
}
END_TEST

START_TEST(tests_can_add_faults_while_they_run)
{
    sim_start_context("1MiB");
    CUdeviceptr address;
    sim_allocate(1);
    ck_assert_int_eq(sim.fail_call("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY), 1);
    ck_assert_int_eq(sim.fail_call("cuNoSuchFunction", 1, CUDA_ERROR_UNKNOWN), 0);
    ck_assert_int_eq(sim.fail_call("cuMemAlloc_v2", 0, CUDA_ERROR_UNKNOWN), 0);
    ck_assert_int_eq(sim.fail_call("cuMemAlloc_v2", 1, CUDA_SUCCESS), 0);
    sim_allocate(1);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
    sim_allocate(1);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(sim.fail_call("cuMemAlloc_v2", 1, CUDA_ERROR_UNKNOWN), 1);
        ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_UNKNOWN);
    }
    for (int i = 0; i < 16; i++)
        ck_assert_int_eq(sim.fail_call("cuCtxSynchronize", 1, CUDA_ERROR_UNKNOWN), 1);
    ck_assert_int_eq(sim.fail_call("cuCtxSynchronize", 1, CUDA_ERROR_UNKNOWN), 0);
}
END_TEST

/* Every call that needs a sound context, once, with nothing that it could do harm with. */
static void check_all_answer(CUresult result, CUcontext context)
{
    CUdeviceptr address = 42;
    size_t bytes;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), result);
    ck_assert_int_eq(sim.cuMemFree_v2(42), result);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&bytes, NULL), result);
    ck_assert_int_eq(sim.cuCtxSynchronize(), result);
    ck_assert_int_eq(sim.cuCtxSynchronize_v2(context), result);
    ck_assert_int_eq(sim.cuStreamQuery(NULL), result);
    ck_assert_int_eq(sim.cuEventQuery(NULL), result);
    ck_assert_int_eq(sim.cuStreamDestroy_v2(NULL), result);
    ck_assert_int_eq(sim.cuPointerGetAttributes(0, NULL, NULL, 42), result);
    ck_assert_uint_eq(address, 42);
}

START_TEST(a_broken_context_answers_everything_alike_until_its_end)
{
    setenv("SIMCUDA_STICKY", "cuMemAlloc_v2:2", 1);
    CUcontext broken = sim_start_context("1MiB");
    CUcontext other;
    CUcontext current;
    sim_allocate(1000);
    sim_allocate(1000);
    check_all_answer(CUDA_ERROR_ILLEGAL_ADDRESS, broken);
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_eq(current, broken);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&other, 0, 0), CUDA_SUCCESS);
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuCtxSynchronize_v2(broken), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(broken), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1000);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
}
END_TEST

START_TEST(a_reset_mends_a_primary_context)
{
    setenv("SIMCUDA_STICKY", "cuCtxSynchronize:1:719", 1);
    CUcontext context;
    unsigned long long old_id;
    unsigned long long new_id;
    sim_start("1MiB", "1");
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxGetId(NULL, &old_id), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    check_all_answer(719, context);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxGetId(context, &new_id), CUDA_SUCCESS);
    ck_assert_uint_ne(old_id, new_id);
}
END_TEST

START_TEST(contexts_take_memory_while_they_live)
{
    setenv("SIMCUDA_CONTEXT_MEM", "300KiB", 1);
    CUcontext contexts[3];
    CUcontext primary;
    size_t free_bytes;
    sim_start("1MiB", "2");
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sim.cuCtxCreate_v2(&contexts[i], 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes, MIB - 900 * 1024);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 900 * 1024);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&primary, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(contexts[2]), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 600 * 1024);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 900 * 1024);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 600 * 1024);
    ck_assert_uint_eq(sim.oracle_taken_bytes(1), 0);
}
END_TEST

SUITE_MAIN("simcuda/faults", the_named_call_fails_and_no_other,
           tests_can_add_faults_while_they_run,
           a_broken_context_answers_everything_alike_until_its_end,
           a_reset_mends_a_primary_context, contexts_take_memory_while_they_live)

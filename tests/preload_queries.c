/* What a program asks about memory: all forms of a question agree with each other and with what
   was taken, any output may be left out, no number wraps, and what an address is has not changed
   by our being there. */
#include "tests/accounts_fixture.h"

static size_t total_of_device(void)
{
    size_t bytes = 0;
    ck_assert_int_eq(sim.cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
    return bytes;
}

/* All agree that so much is left of the ceiling. */
static void left_is(size_t bytes)
{
    size_t free_bytes, total_bytes;
    unsigned free_32, total_32, device_32;
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemGetInfo(&free_32, &total_32), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDeviceTotalMem(&device_32, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes, bytes);
    ck_assert_uint_eq(free_32, bytes);
    ck_assert_uint_eq(total_bytes, CEILING);
    ck_assert_uint_eq(total_32, CEILING);
    ck_assert_uint_eq(device_32, CEILING);
    ck_assert_uint_eq(total_of_device(), CEILING);
}

START_TEST(all_forms_move_by_what_was_taken)
{
    CUdeviceptr managed;
    accounts_start();
    left_is(CEILING);
    CUdeviceptr linear = sim_allocate(12345);
    left_is(CEILING - 12345);
    ck_assert_int_eq(sim.cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    left_is(CEILING - 13345);
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_SUCCESS);
    left_is(CEILING - 1000);
    sim_allocate(CEILING - 1000);
    left_is(0);
}
END_TEST

START_TEST(an_output_may_be_left_out)
{
    size_t bytes = 0;
    unsigned word = 0;
    CUdeviceptr base = 0;
    accounts_start();
    CUdeviceptr address = sim_allocate(1000);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(NULL, &bytes), CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, CEILING);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&bytes, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, CEILING - 1000);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(NULL, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemGetInfo(NULL, &word), CUDA_SUCCESS);
    ck_assert_uint_eq(word, CEILING);
    ck_assert_int_eq(sim.cuMemGetInfo(&word, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(word, CEILING - 1000);
    ck_assert_int_eq(sim.cuMemGetInfo(NULL, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(NULL, &bytes, address), CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, 1000);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, NULL, address + 9), CUDA_SUCCESS);
    ck_assert_uint_eq(base, address);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(NULL, NULL, address), CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, address),
        CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_question_that_fails_writes_nothing)
{
    size_t free_bytes = UNTOUCHED, total_bytes = UNTOUCHED;
    unsigned word = UNTOUCHED;
    accounts_start();
    sim.fail_call("cuMemGetInfo_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemGetInfo", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemGetInfo(&word, &word), CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuDeviceTotalMem_v2(&total_bytes, 7), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(sim.cuDeviceTotalMem(&word, -1), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_uint_eq(free_bytes, UNTOUCHED);
    ck_assert_uint_eq(total_bytes, UNTOUCHED);
    ck_assert_uint_eq(word, UNTOUCHED);
}
END_TEST

/* What is left is never more than the driver has. */
START_TEST(the_driver_may_have_less_than_the_ceiling)
{
    CUdeviceptr address = UNTOUCHED;
    setenv("SIMCUDA_CONTEXT_MEM", "40MiB", 1);
    sim_start_context("64MiB");
    left_is(24 * MIB);
    sim_allocate(20 * MIB);
    left_is(4 * MIB);
    /* It refuses below the ceiling, in its own words, and nothing is charged for it. */
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 5 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, UNTOUCHED);
    left_is(4 * MIB);
    sim_allocate(4 * MIB);
    left_is(0);
}
END_TEST

static unsigned word_of(CUpointer_attribute attribute, CUdeviceptr address)
{
    unsigned word = UNTOUCHED;
    ck_assert_int_eq(sim.cuPointerGetAttribute(&word, attribute, address), CUDA_SUCCESS);
    return word;
}

/* By each of the questions that tell it. */
static void is_memory_of(CUdeviceptr address, size_t bytes, unsigned type,
                         unsigned managed, CUcontext owner)
{
    CUdeviceptr base = 0, start = 0;
    size_t range = 0, size = 0;
    CUcontext context = NULL;
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *answers[] = {&context, &start, &size};
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, &range, address + bytes - 1),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuPointerGetAttributes(3, asked, answers, address + bytes / 2),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(start, address);
    ck_assert_uint_eq(range, bytes);
    ck_assert_uint_eq(size, bytes);
    ck_assert_ptr_eq(context, owner);
    ck_assert_uint_eq(word_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), type);
    ck_assert_uint_eq(word_of(CU_POINTER_ATTRIBUTE_IS_MANAGED, address), managed);
    ck_assert_uint_eq(word_of(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), 0);
}

START_TEST(an_address_is_what_the_program_asked_for)
{
    CUdeviceptr pitched, managed;
    size_t pitch;
    void *pinned;
    CUcontext context = accounts_start();
    is_memory_of(sim_allocate(1001), 1001, CU_MEMORYTYPE_DEVICE, 0, context);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&pitched, &pitch, 100, 3, 4), CUDA_SUCCESS);
    is_memory_of(pitched, 3 * pitch, CU_MEMORYTYPE_DEVICE, 0, context);
    ck_assert_int_eq(sim.cuMemAllocManaged(&managed, 1003, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    is_memory_of(managed, 1003, CU_MEMORYTYPE_DEVICE, 1, context);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 1004, 0), CUDA_SUCCESS);
    is_memory_of((uintptr_t)pinned, 1004, CU_MEMORYTYPE_HOST, 0, context);
    CUdeviceptr base;
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, NULL, 1), CUDA_ERROR_NOT_FOUND);
}
END_TEST

SUITE_MAIN("preload/queries", all_forms_move_by_what_was_taken, an_output_may_be_left_out,
           a_question_that_fails_writes_nothing,
           the_driver_may_have_less_than_the_ceiling,
           an_address_is_what_the_program_asked_for)

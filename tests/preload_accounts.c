/* What the driver gives is charged, to the byte and to the right account, and taken off by
   whatever call ends it; what fails changes nothing; what is not ours goes to the driver. */
#include "tests/accounts_fixture.h"

START_TEST(every_kind_of_device_memory_is_charged_what_it_takes)
{
    CUdeviceptr linear, pitched, managed;
    size_t pitch = 0;
    accounts_start();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&linear, 1001), CUDA_SUCCESS);
    charged_is(1001);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&pitched, &pitch, 1, 10, 4), CUDA_SUCCESS);
    ck_assert_uint_eq(pitch, 512);
    charged_is(1001 + 10 * 512);
    ck_assert_int_eq(sim.cuMemAllocManaged(&managed, 3003, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    charged_is(1001 + 10 * 512 + 3003);
    ck_assert_int_eq(sim.cuMemFree_v2(pitched), CUDA_SUCCESS);
    charged_is(1001 + 3003);
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_SUCCESS);
    charged_is(3003);
    ck_assert_int_eq(sim.cuMemFree_v2(managed), CUDA_SUCCESS);
    charged_is(0);
}
END_TEST

/* Of a width of 1 the least is 1 byte a row, and what it takes is 512. */
START_TEST(rows_that_turn_out_too_long_go_back_and_are_refused)
{
    CUdeviceptr address = UNTOUCHED;
    size_t pitch = UNTOUCHED;
    accounts_start();
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, CEILING / 512 + 1, 4),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_uint_eq(pitch, UNTOUCHED);
    charged_is(0);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, CEILING / 512, 4),
                     CUDA_SUCCESS);
    charged_is(CEILING);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    charged_is(0);
}
END_TEST

START_TEST(page_locked_memory_is_charged_in_pages_to_the_host)
{
    static _Alignas(PAGE) char buffer[4 * PAGE];
    void *first, *second, *third;
    accounts_start();
    pinned_is(0);
    ck_assert_int_eq(sim.cuMemHostAlloc(&first, 1, 0), CUDA_SUCCESS);
    pinned_is(PAGE);
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&second, PAGE + 1), CUDA_SUCCESS);
    pinned_is(3 * PAGE);
    ck_assert_int_eq(sim.cuMemAllocHost(&third, PAGE), CUDA_SUCCESS);
    pinned_is(4 * PAGE);
    /* Two bytes on two pages. */
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer + PAGE - 1, 2, 0), CUDA_SUCCESS);
    pinned_is(6 * PAGE);
    ck_assert_int_eq(sim.cuMemHostRegister(buffer + 2 * PAGE, PAGE, 0), CUDA_SUCCESS);
    pinned_is(7 * PAGE);
    charged_is(0);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer + PAGE - 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer + 2 * PAGE), CUDA_SUCCESS);
    pinned_is(4 * PAGE);
    ck_assert_int_eq(sim.cuMemFreeHost(first), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeHost(second), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeHost(third), CUDA_SUCCESS);
    pinned_is(0);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, PINNED_CEILING + 1, 0),
                     CUDA_ERROR_OUT_OF_MEMORY);
    pinned_is(0);
    buffer[0] = 1;
}
END_TEST

/* The driver was asked, once, and its answer was handed on. */
#define is_forwarded(symbol, wanted, ...)                                                \
    do {                                                                                 \
        uint64_t calls = sim.oracle_calls(#symbol);                                      \
        ck_assert_int_eq(sim.symbol(__VA_ARGS__), wanted);                               \
        ck_assert_uint_eq(sim.oracle_calls(#symbol), calls + 1);                         \
    } while (0)

START_TEST(a_pointer_that_is_not_ours_goes_to_the_driver)
{
    CUdeviceptr linear;
    void *pinned;
    char local;
    accounts_start();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&linear, 1000), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, PAGE, 0), CUDA_SUCCESS);
    const CUdeviceptr strangers[] = {0, 1, linear + 512, (uintptr_t)&local};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        is_forwarded(cuMemFree_v2, CUDA_ERROR_INVALID_VALUE, strangers[i]);
        void *host = (void *)(uintptr_t)strangers[i];
        is_forwarded(cuMemFreeHost, CUDA_ERROR_INVALID_VALUE, host);
        is_forwarded(cuMemHostUnregister, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, host);
    }
    /* Ours, but by the wrong call: it is kept as it was. */
    is_forwarded(cuMemFree_v2, CUDA_ERROR_INVALID_VALUE, (uintptr_t)pinned);
    is_forwarded(cuMemFreeHost, CUDA_ERROR_INVALID_VALUE, (void *)(uintptr_t)linear);
    charged_is(1000);
    pinned_is(PAGE);
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(linear), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
    charged_is(0);
    pinned_is(0);
}
END_TEST

START_TEST(an_allocation_that_the_driver_fails_is_not_charged_and_writes_nothing)
{
    static char buffer[PAGE];
    CUdeviceptr address = UNTOUCHED;
    size_t pitch = UNTOUCHED;
    void *host = (void *)UNTOUCHED;
    accounts_start();
    sim.fail_call("cuMemAlloc_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1000), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemAllocPitch_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, 1, 4),
                     CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemAllocManaged", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 1, CU_MEM_ATTACH_GLOBAL),
                     CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemHostAlloc", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemHostAlloc(&host, 1, 0), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemAllocHost_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&host, 1), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemAllocHost", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemAllocHost(&host, 1), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemHostRegister_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, 1, 0), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemHostRegister", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemHostRegister(buffer, 1, 0), CUDA_ERROR_UNKNOWN);
    charged_is(0);
    pinned_is(0);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_uint_eq(pitch, UNTOUCHED);
    ck_assert_ptr_eq(host, (void *)UNTOUCHED);
}
END_TEST

START_TEST(a_free_that_the_driver_fails_leaves_the_charge)
{
    static _Alignas(PAGE) char buffer[PAGE];
    void *pinned;
    accounts_start();
    CUdeviceptr address = sim_allocate(1000);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, 1, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, 1, 0), CUDA_SUCCESS);
    sim.fail_call("cuMemFree_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemFreeHost", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_ERROR_UNKNOWN);
    sim.fail_call("cuMemHostUnregister", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_ERROR_UNKNOWN);
    charged_is(1000);
    pinned_is(2 * PAGE);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    charged_is(0);
    pinned_is(0);
}
END_TEST

START_TEST(requests_that_are_none_get_the_drivers_own_answer)
{
    CUdeviceptr address = UNTOUCHED;
    size_t pitch = UNTOUCHED;
    void *host = (void *)UNTOUCHED;
    accounts_start();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAlloc_v2(NULL, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 2, 4),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, NULL, 512, 1 << 20, 4),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(NULL, &pitch, 512, 1 << 20, 4),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemAllocManaged(NULL, SIZE_MAX, CU_MEM_ATTACH_GLOBAL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostAlloc(NULL, SIZE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(NULL, SIZE_MAX, 0),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(&host, SIZE_MAX, 0),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_uint_eq(pitch, UNTOUCHED);
    ck_assert_ptr_eq(host, (void *)UNTOUCHED);
    charged_is(0);
    pinned_is(0);
}
END_TEST

START_TEST(without_a_context_the_driver_says_so_and_nothing_is_charged)
{
    CUdeviceptr address = UNTOUCHED;
    size_t pitch;
    void *host = (void *)UNTOUCHED;
    CUcontext context = accounts_start();
    ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, CEILING + 1),
                     CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, 1, 4),
                     CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 1, CU_MEM_ATTACH_GLOBAL),
                     CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemHostAlloc(&host, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(&host, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuMemFree_v2(1), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_ptr_eq(host, (void *)UNTOUCHED);
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    charged_is(0);
    pinned_is(0);
}
END_TEST

SUITE_MAIN("preload/accounts", every_kind_of_device_memory_is_charged_what_it_takes,
           rows_that_turn_out_too_long_go_back_and_are_refused,
           page_locked_memory_is_charged_in_pages_to_the_host,
           a_pointer_that_is_not_ours_goes_to_the_driver,
           an_allocation_that_the_driver_fails_is_not_charged_and_writes_nothing,
           a_free_that_the_driver_fails_leaves_the_charge,
           requests_that_are_none_get_the_drivers_own_answer,
           without_a_context_the_driver_says_so_and_nothing_is_charged)

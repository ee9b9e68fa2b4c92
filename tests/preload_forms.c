/* What no simulated driver does by itself: first forms, contexts that others use, too, handles
   that come again, a driver that takes more than was asked for. The ceilings are 850 bytes of a
   device and four pages. */
#include "tests/echo_fixture.h"

#define OK(call) ck_assert_int_eq(call, CUDA_SUCCESS)

enum {
    CEILING = 850,
    PAGE = 4096,
    CONTEXT = 0xc0,
    ADDRESS = 0x1000,
    POOL = 0x9000,
    STREAM = 0x5000,
};

static unsigned calls_of(const char *symbol)
{
    return row_of(symbol)->call_count;
}

static CUresult allocate(size_t bytes, uint64_t at)
{
    CUdeviceptr address;
    answer("cuMemAlloc_v2", 0, sizeof address, at);
    return hook_of("cuMemAlloc_v2")((uintptr_t)&address, bytes, 0, 0, 0, 0);
}

START_TEST(first_forms_of_rows_are_charged_with_the_pitch_that_the_driver_chose)
{
    unsigned address[2] = {5, 7}, pitch[2] = {6, 7}; /* 32 bits, and what stands behind */
    six_words *rows = hook_of("cuMemAllocPitch");
    answer_device();
    struct echo_row *row = row_of("cuMemAllocPitch");
    row->writes[0] = (struct echo_write){0, sizeof(unsigned), ADDRESS};
    row->writes[1] = (struct echo_write){1, sizeof(unsigned), 300};
    /* 1 byte a row would fit. */
    ck_assert_int_eq(rows((uintptr_t)address, (uintptr_t)pitch, 1, 3, 4, 0),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address[0], 5);
    ck_assert_uint_eq(pitch[0], 6);
    ck_assert_uint_eq(calls_of("cuMemFree_v2"), 1);
    ck_assert_uint_eq(row_of("cuMemFree_v2")->arguments[0], ADDRESS);
    ck_assert_uint_eq(free_bytes(), CEILING);

    row->writes[1].value = 250;
    OK(rows((uintptr_t)address, (uintptr_t)pitch, 1, 3, 4, 0));
    ck_assert_uint_eq(address[0], ADDRESS);
    ck_assert_uint_eq(pitch[0], 250);
    ck_assert_uint_eq(address[1], 7);
    ck_assert_uint_eq(pitch[1], 7);
    ck_assert_uint_eq(free_bytes(), CEILING - 750);
    OK(hook_of("cuMemFree")(ADDRESS, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING);
}
END_TEST

static CUresult lock_pages(const char *form, uintptr_t address, size_t bytes,
                           unsigned flags)
{
    return hook_of(form)(address, bytes, flags, 0, 0, 0);
}

START_TEST(memory_of_a_device_that_is_mapped_like_the_hosts_locks_none)
{
    answer_device();
    static const char *const forms[] = {"cuMemHostRegister", "cuMemHostRegister_v2"};
    for (size_t i = 0; i < 2; i++) {
        OK(lock_pages(forms[i], ADDRESS, 1 << 20, CU_MEMHOSTREGISTER_IOMEMORY));
        OK(lock_pages(forms[i], ADDRESS, 4 * PAGE, CU_MEMHOSTREGISTER_READ_ONLY));
        ck_assert_int_eq(lock_pages(forms[i], 2 * ADDRESS, 1, 0),
                         CUDA_ERROR_OUT_OF_MEMORY);
        OK(hook_of("cuMemHostUnregister")(ADDRESS, 0, 0, 0, 0, 0));
        OK(lock_pages(forms[i], 2 * ADDRESS, 1, 0));
        OK(hook_of("cuMemHostUnregister")(2 * ADDRESS, 0, 0, 0, 0, 0));
    }
}
END_TEST

START_TEST(memory_that_was_allocated_unseen_goes_by_any_call_and_changes_nothing)
{
    static const char *const calls[] = {"cuMemFree",      "cuMemFree_v2",
                                        "cuMemFreeAsync", "cuMemFreeAsync_ptsz",
                                        "cuMemFreeHost",  "cuMemHostUnregister"};
    answer_device();
    OK(allocate(300, ADDRESS));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        OK(hook_of(calls[i])(2 * ADDRESS, STREAM, 0, 0, 0, 0));
        ck_assert_uint_eq(calls_of(calls[i]), 1);
        ck_assert_uint_eq(free_bytes(), CEILING - 300);
    }
}
END_TEST

START_TEST(memory_that_was_allocated_at_once_may_go_in_the_order_of_a_stream)
{
    answer_device();
    static const char *const calls[] = {"cuMemFreeAsync", "cuMemFreeAsync_ptsz"};
    for (size_t i = 0; i < 2; i++) {
        OK(allocate(300, ADDRESS));
        row_of(calls[i])->result = CUDA_ERROR_INVALID_VALUE;
        ck_assert_int_eq(hook_of(calls[i])(ADDRESS, STREAM, 0, 0, 0, 0),
                         CUDA_ERROR_INVALID_VALUE);
        ck_assert_uint_eq(free_bytes(), CEILING - 300);
        row_of(calls[i])->result = CUDA_SUCCESS;
        OK(hook_of(calls[i])(ADDRESS, STREAM, 0, 0, 0, 0));
        ck_assert_uint_eq(free_bytes(), CEILING);
    }
}
END_TEST

START_TEST(a_context_that_is_used_by_several_ends_with_the_last)
{
    CUcontext context;
    answer_device();
    answer("cuCtxAttach", 0, sizeof context, CONTEXT);
    OK(allocate(300, ADDRESS));
    OK(hook_of("cuCtxAttach")((uintptr_t)&context, 0, 0, 0, 0, 0));
    OK(hook_of("cuCtxAttach")((uintptr_t)&context, 0, 0, 0, 0, 0));
    for (int users = 3; users > 0; users--) {
        row_of("cuCtxDetach")->result = CUDA_ERROR_UNKNOWN;
        ck_assert_int_eq(hook_of("cuCtxDetach")(CONTEXT, 0, 0, 0, 0, 0),
                         CUDA_ERROR_UNKNOWN);
        ck_assert_uint_eq(free_bytes(), CEILING - 300);
        row_of("cuCtxDetach")->result = CUDA_SUCCESS;
        OK(hook_of("cuCtxDetach")(CONTEXT, 0, 0, 0, 0, 0));
        ck_assert_uint_eq(free_bytes(), users > 1 ? CEILING - 300 : CEILING);
    }
}
END_TEST

START_TEST(a_handle_that_comes_again_is_another_context_on_its_own_device)
{
    answer_device();
    OK(allocate(300, ADDRESS));
    OK(hook_of("cuCtxDestroy_v2")(CONTEXT, 0, 0, 0, 0, 0));
    answer("cuCtxGetDevice", 0, sizeof(CUdevice), 1);
    OK(allocate(200, 2 * ADDRESS));
    ck_assert_uint_eq(free_bytes(), CEILING - 200);
    answer("cuCtxGetCurrent", 0, sizeof(CUcontext), CONTEXT + 1);
    answer("cuCtxGetDevice", 0, sizeof(CUdevice), 0);
    ck_assert_uint_eq(free_bytes(), CEILING);
    /* It was asked once for each. */
    unsigned asked = calls_of("cuCtxGetDevice");
    OK(allocate(100, 3 * ADDRESS));
    ck_assert_uint_eq(free_bytes(), CEILING - 100);
    ck_assert_uint_eq(calls_of("cuCtxGetDevice"), asked);
}
END_TEST

static void retain(void)
{
    CUcontext primary;
    answer("cuDevicePrimaryCtxRetain", 0, sizeof primary, CONTEXT);
    OK(hook_of("cuDevicePrimaryCtxRetain")((uintptr_t)&primary, 0, 0, 0, 0, 0));
}

START_TEST(a_primary_context_that_others_retain_unseen_lives_on)
{
    answer_device();
    retain();
    OK(allocate(300, ADDRESS));
    answer("cuDevicePrimaryCtxGetState", 2, sizeof(int), 1);
    OK(hook_of("cuDevicePrimaryCtxRelease_v2")(0, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING - 300);
    answer("cuDevicePrimaryCtxGetState", 2, sizeof(int), 0);
    OK(hook_of("cuDevicePrimaryCtxRelease_v2")(0, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING);
}
END_TEST

START_TEST(where_the_driver_does_not_say_retains_are_counted)
{
    answer_device();
    row_of("cuDevicePrimaryCtxGetState")->result = CUDA_ERROR_UNKNOWN;
    retain();
    row_of("cuDevicePrimaryCtxRetain")->result = CUDA_ERROR_UNKNOWN;
    CUcontext primary;
    ck_assert_int_eq(
        hook_of("cuDevicePrimaryCtxRetain")((uintptr_t)&primary, 0, 0, 0, 0, 0),
        CUDA_ERROR_UNKNOWN);
    row_of("cuDevicePrimaryCtxRetain")->result = CUDA_SUCCESS;
    retain();
    OK(allocate(300, ADDRESS));
    OK(hook_of("cuDevicePrimaryCtxRelease")(0, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING - 300);
    OK(hook_of("cuDevicePrimaryCtxRelease")(0, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING);
}
END_TEST

static void reserve(uint64_t bytes)
{
    answer("cuMemPoolGetAttribute", 2, sizeof bytes, bytes);
}

static void answer_pool(void)
{
    answer_device();
    answer("cuDeviceGetMemPool", 0, sizeof(CUmemoryPool), POOL);
    answer("cuStreamGetDevice", 1, sizeof(CUdevice), 0);
    reserve(0);
}

static CUresult allocate_ordered(const char *form, CUdeviceptr *address, size_t bytes)
{
    answer(form, 0, sizeof *address, ADDRESS);
    bool named = strncmp(form, "cuMemAllocFromPool", 18) == 0;
    return hook_of(form)((uintptr_t)address, bytes, named ? POOL : STREAM, STREAM, 0, 0);
}

static const struct {
    const char *allocate;
    const char *release;
} ordered[] = {
    {"cuMemAllocAsync", "cuMemFreeAsync"},
    {"cuMemAllocAsync_ptsz", "cuMemFreeAsync_ptsz"},
    {"cuMemAllocFromPoolAsync", "cuMemFreeAsync"},
    {"cuMemAllocFromPoolAsync_ptsz", "cuMemFreeAsync_ptsz"},
};

START_TEST(a_pool_is_charged_what_it_has_reserved)
{
    CUdeviceptr address;
    answer_pool();
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        reserve(512);
        OK(allocate_ordered(ordered[i].allocate, &address, 100));
        ck_assert_uint_eq(address, ADDRESS);
        ck_assert_uint_eq(free_bytes(), CEILING - 512);
        OK(hook_of(ordered[i].release)(ADDRESS, STREAM, 0, 0, 0, 0));
        ck_assert_uint_eq(free_bytes(), CEILING - 512);
        /* The driver gives it up later, and nobody calls: a question finds out. */
        reserve(0);
        ck_assert_uint_eq(free_bytes(), CEILING);
    }
}
END_TEST

START_TEST(what_a_pool_has_need_not_be_admitted_again)
{
    CUdeviceptr address;
    answer_pool();
    reserve(800);
    OK(allocate_ordered("cuMemAllocAsync", &address, 600));
    OK(hook_of("cuMemFreeAsync")(ADDRESS, STREAM, 0, 0, 0, 0));
    OK(allocate_ordered("cuMemAllocAsync", &address, 700));
    ck_assert_uint_eq(calls_of("cuMemPoolTrimTo"), 0);
    ck_assert_uint_eq(free_bytes(), CEILING - 800);
}
END_TEST

START_TEST(a_pool_that_grows_past_the_ceiling_is_trimmed_then_freed_and_refused)
{
    answer_pool();
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        CUdeviceptr address = 0xdead;
        unsigned freed = calls_of(ordered[i].release);
        unsigned trimmed = calls_of("cuMemPoolTrimTo");
        reserve(900);
        ck_assert_int_eq(allocate_ordered(ordered[i].allocate, &address, 100),
                         CUDA_ERROR_OUT_OF_MEMORY);
        ck_assert_uint_eq(address, 0xdead);
        ck_assert_uint_eq(calls_of(ordered[i].release), freed + 1);
        ck_assert_uint_eq(row_of(ordered[i].release)->arguments[0], ADDRESS);
        ck_assert_uint_eq(row_of(ordered[i].release)->arguments[1], STREAM);
        ck_assert_uint_ge(calls_of("cuMemPoolTrimTo"), trimmed + 1);
        ck_assert_uint_eq(row_of("cuMemPoolTrimTo")->arguments[0], POOL);
        reserve(0);
        ck_assert_uint_eq(free_bytes(), CEILING);
    }
}
END_TEST

START_TEST(a_request_that_does_not_fit_is_refused_before_the_driver_is_asked)
{
    CUdeviceptr address = 0xdead;
    answer_pool();
    OK(allocate(500, 2 * ADDRESS));
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        ck_assert_int_eq(allocate_ordered(ordered[i].allocate, &address, 351),
                         CUDA_ERROR_OUT_OF_MEMORY);
        ck_assert_uint_eq(calls_of(ordered[i].allocate), 0);
        ck_assert_uint_eq(address, 0xdead);
    }
    ck_assert_uint_eq(free_bytes(), CEILING - 500);
}
END_TEST

/* Not by us: the driver shrinks the pool when it is told to. */
START_TEST(idle_memory_of_a_pool_makes_room_for_everything_else)
{
    CUdeviceptr address;
    answer_pool();
    reserve(600);
    OK(allocate_ordered("cuMemAllocAsync", &address, 600));
    OK(hook_of("cuMemFreeAsync")(ADDRESS, STREAM, 0, 0, 0, 0));
    ck_assert_int_eq(allocate(400, 2 * ADDRESS), CUDA_ERROR_OUT_OF_MEMORY);
    /* All that it can give up was asked for, in the end. */
    ck_assert_uint_eq(calls_of("cuMemPoolTrimTo"), 2);
    ck_assert_uint_eq(row_of("cuMemPoolTrimTo")->arguments[1], 0);
    /* What could not fit if it gave up everything is refused without. */
    ck_assert_int_eq(allocate(CEILING + 1, 2 * ADDRESS), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(calls_of("cuMemPoolTrimTo"), 2);
    /* 150 are missing, and the rest is left to the pool if that is enough. */
    reserve(450);
    OK(allocate(400, 2 * ADDRESS));
    ck_assert_uint_eq(calls_of("cuMemPoolTrimTo"), 3);
    ck_assert_uint_eq(row_of("cuMemPoolTrimTo")->arguments[1], 450);
    ck_assert_uint_eq(free_bytes(), 0);
}
END_TEST

START_TEST(while_a_stream_is_captured_nothing_is_asked_and_nothing_charged)
{
    CUdeviceptr address;
    answer_pool();
    reserve(200);
    OK(allocate_ordered("cuMemAllocAsync", &address, 100));
    OK(hook_of("cuMemFreeAsync")(ADDRESS, STREAM, 0, 0, 0, 0));
    OK(hook_of("cuStreamBeginCapture_v2")(STREAM, 0, 0, 0, 0, 0));
    reserve(512);
    unsigned asked = calls_of("cuMemPoolGetAttribute");
    unsigned pools = calls_of("cuDeviceGetMemPool");
    OK(allocate_ordered("cuMemAllocAsync", &address, CEILING + 1));
    OK(hook_of("cuMemFreeAsync")(ADDRESS, STREAM, 0, 0, 0, 0));
    OK(allocate_ordered("cuMemAllocFromPoolAsync", &address, CEILING + 1));
    OK(hook_of("cuMemPoolTrimTo")(POOL, 0, 0, 0, 0, 0));
    /* Other memory is charged as ever. */
    OK(allocate(300, 2 * ADDRESS));
    ck_assert_uint_eq(free_bytes(), CEILING - 200 - 300);
    ck_assert_int_eq(allocate(600, 3 * ADDRESS), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(calls_of("cuMemPoolGetAttribute"), asked);
    ck_assert_uint_eq(calls_of("cuDeviceGetMemPool"), pools);
    ck_assert_uint_eq(calls_of("cuMemPoolTrimTo"), 1);
    /* What became of the pool is charged afterwards. */
    OK(hook_of("cuStreamEndCapture")(STREAM, (uintptr_t)&address, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING - 512 - 300);
}
END_TEST

START_TEST(a_pool_that_ends_is_charged_until_its_last_allocation_is_freed)
{
    CUdeviceptr address;
    answer_pool();
    reserve(512);
    OK(allocate_ordered("cuMemAllocFromPoolAsync", &address, 100));
    row_of("cuMemPoolDestroy")->result = CUDA_ERROR_UNKNOWN;
    ck_assert_int_eq(hook_of("cuMemPoolDestroy")(POOL, 0, 0, 0, 0, 0),
                     CUDA_ERROR_UNKNOWN);
    ck_assert_uint_eq(free_bytes(), CEILING - 512);
    row_of("cuMemPoolDestroy")->result = CUDA_SUCCESS;
    OK(hook_of("cuMemPoolDestroy")(POOL, 0, 0, 0, 0, 0));
    unsigned asked = calls_of("cuMemPoolGetAttribute");
    ck_assert_uint_eq(free_bytes(), CEILING - 512);
    OK(hook_of("cuMemFree_v2")(ADDRESS, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING);
    /* Its handle is no longer the driver's. */
    ck_assert_uint_eq(calls_of("cuMemPoolGetAttribute"), asked);
    /* Without allocations it ends at once. */
    reserve(256);
    OK(allocate_ordered("cuMemAllocFromPoolAsync", &address, 100));
    OK(hook_of("cuMemFreeAsync")(ADDRESS, STREAM, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING - 256);
    OK(hook_of("cuMemPoolDestroy")(POOL, 0, 0, 0, 0, 0));
    ck_assert_uint_eq(free_bytes(), CEILING);
}
END_TEST

START_TEST(a_pool_of_the_host_is_page_locked_memory)
{
    CUmemoryPool pool;
    CUdeviceptr address;
    CUmemPoolProps properties = {.location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    answer_pool();
    answer("cuMemPoolCreate", 0, sizeof pool, POOL);
    OK(hook_of("cuMemPoolCreate")((uintptr_t)&pool, (uintptr_t)&properties, 0, 0, 0, 0));
    reserve(3 * PAGE);
    OK(allocate_ordered("cuMemAllocFromPoolAsync", &address, PAGE));
    ck_assert_uint_eq(free_bytes(), CEILING);
    OK(lock_pages("cuMemHostRegister_v2", 2 * ADDRESS, PAGE, 0));
    ck_assert_int_eq(lock_pages("cuMemHostRegister_v2", 3 * ADDRESS, 1, 0),
                     CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

START_TEST(an_allocation_that_fails_leaves_the_pool_as_it_is)
{
    CUdeviceptr address;
    answer_pool();
    row_of("cuMemAllocAsync")->result = CUDA_ERROR_UNKNOWN;
    ck_assert_int_eq(allocate_ordered("cuMemAllocAsync", &address, 100),
                     CUDA_ERROR_UNKNOWN);
    ck_assert_uint_eq(free_bytes(), CEILING);
    /* Nor does it matter that the driver no longer answers anything. */
    row_of("cuMemPoolGetAttribute")->result = CUDA_ERROR_UNKNOWN;
    ck_assert_int_eq(allocate_ordered("cuMemAllocAsync", &address, 100),
                     CUDA_ERROR_UNKNOWN);
    ck_assert_uint_eq(free_bytes(), CEILING);
}
END_TEST

SUITE_MAIN_WITH("preload/forms", setup, NULL,
                first_forms_of_rows_are_charged_with_the_pitch_that_the_driver_chose,
                memory_of_a_device_that_is_mapped_like_the_hosts_locks_none,
                memory_that_was_allocated_unseen_goes_by_any_call_and_changes_nothing,
                memory_that_was_allocated_at_once_may_go_in_the_order_of_a_stream,
                a_context_that_is_used_by_several_ends_with_the_last,
                a_handle_that_comes_again_is_another_context_on_its_own_device,
                a_primary_context_that_others_retain_unseen_lives_on,
                where_the_driver_does_not_say_retains_are_counted,
                a_pool_is_charged_what_it_has_reserved,
                what_a_pool_has_need_not_be_admitted_again,
                a_pool_that_grows_past_the_ceiling_is_trimmed_then_freed_and_refused,
                a_request_that_does_not_fit_is_refused_before_the_driver_is_asked,
                idle_memory_of_a_pool_makes_room_for_everything_else,
                while_a_stream_is_captured_nothing_is_asked_and_nothing_charged,
                a_pool_that_ends_is_charged_until_its_last_allocation_is_freed,
                a_pool_of_the_host_is_page_locked_memory,
                an_allocation_that_fails_leaves_the_pool_as_it_is)

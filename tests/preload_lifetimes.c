/* With a context all that it owns ends, and is no longer charged: whichever call ends it, when
   the driver says so and not before, and whatever the driver does with its handle afterwards. */
#include "tests/accounts_fixture.h"
#include "tests/sim_kernels.h"

/* Something of each kind, on the current device: 10,000 bytes and two pages. */
enum { OWNED = 10000, OWNED_PINNED = 2 * PAGE };

static _Alignas(PAGE) char buffer[PAGE];

static void own(void)
{
    CUdeviceptr address;
    size_t pitch;
    void *pinned;
    sim_allocate(1000);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1, 4, 4), CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuMemAllocManaged(&address, OWNED - 1000 - 4 * 512, CU_MEM_ATTACH_GLOBAL),
        CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, PAGE, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, PAGE, 0), CUDA_SUCCESS);
    charged_is(OWNED);
    pinned_is(OWNED_PINNED);
}

static CUcontext create(CUdevice device)
{
    CUcontext context;
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
    return context;
}

static CUcontext retain(CUdevice device)
{
    CUcontext context;
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    return context;
}

static void ends_what_it_owns(CUresult (*destroy)(CUcontext context))
{
    CUcontext lasting = create(0), ending = create(0);
    CUdeviceptr kept;
    own();
    ck_assert_int_eq(sim.cuCtxSetCurrent(lasting), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&kept, 77), CUDA_SUCCESS);
    charged_is(OWNED + 77);
    ck_assert_int_eq(destroy(ending), CUDA_SUCCESS);
    charged_is(77);
    pinned_is(0);
    ck_assert_int_eq(sim.cuMemFree_v2(kept), CUDA_SUCCESS);
    charged_is(0);
}

START_TEST(a_context_that_is_destroyed_takes_its_memory_along)
{
    sim_start("1GiB", "1");
    ends_what_it_owns(sim.cuCtxDestroy_v2);
    ends_what_it_owns(sim.cuCtxDestroy);
}
END_TEST

START_TEST(a_context_that_is_not_destroyed_after_all_keeps_what_it_owns)
{
    CUcontext context = accounts_start();
    own();
    sim.fail_call("cuCtxDestroy_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_ERROR_UNKNOWN);
    charged_is(OWNED);
    CUdeviceptr address = sim_allocate(77);
    charged_is(OWNED + 77);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    charged_is(OWNED);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    create(0);
    charged_is(0);
    pinned_is(0);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(NULL), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(sim.cuCtxDestroy_v2((CUcontext)&context),
                     CUDA_ERROR_INVALID_CONTEXT);
    charged_is(0);
}
END_TEST

START_TEST(a_primary_context_ends_with_its_last_release)
{
    sim_start("1GiB", "1");
    for (int form = 0; form < 2; form++) {
        CUcontext watching = create(0), primary = retain(0);
        retain(0);
        retain(0);
        CUcontext refused = (CUcontext)UNTOUCHED;
        sim.fail_call("cuDevicePrimaryCtxRetain", 1, CUDA_ERROR_UNKNOWN);
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&refused, 0), CUDA_ERROR_UNKNOWN);
        ck_assert_ptr_eq(refused, (CUcontext)UNTOUCHED);
        ck_assert_int_eq(sim.cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
        own();
        CUresult (*release)(CUdevice) =
            form == 0 ? sim.cuDevicePrimaryCtxRelease : sim.cuDevicePrimaryCtxRelease_v2;
        for (int left = 2; left > 0; left--) {
            ck_assert_int_eq(release(0), CUDA_SUCCESS);
            charged_is(OWNED);
            pinned_is(OWNED_PINNED);
        }
        sim.fail_call("cuDevicePrimaryCtxRelease", 1, CUDA_ERROR_UNKNOWN);
        sim.fail_call("cuDevicePrimaryCtxRelease_v2", 1, CUDA_ERROR_UNKNOWN);
        ck_assert_int_eq(release(0), CUDA_ERROR_UNKNOWN);
        charged_is(OWNED);
        ck_assert_int_eq(release(0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuCtxSetCurrent(watching), CUDA_SUCCESS);
        charged_is(0);
        pinned_is(0);
        sim.cuDevicePrimaryCtxRelease(0);
        sim.cuDevicePrimaryCtxRelease_v2(0);
        charged_is(0);
    }
}
END_TEST

static void reset_ends_it(CUresult (*reset)(CUdevice device))
{
    CUcontext watching = create(0), primary = retain(0), current = NULL;
    CUdeviceptr address = UNTOUCHED;
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
    own();
    ck_assert_int_eq(reset(0), CUDA_SUCCESS);
    /* Its handle stays current, and is no context. */
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_eq(current, primary);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(watching), CUDA_SUCCESS);
    charged_is(0);
    pinned_is(0);
    /* Its next life owns what is allocated then. */
    ck_assert_ptr_eq(retain(0), primary);
    ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    own();
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    charged_is(OWNED);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(watching), CUDA_SUCCESS);
    charged_is(0);
    pinned_is(0);
}

START_TEST(a_primary_context_that_is_reset_takes_its_memory_along_and_lives_again)
{
    sim_start("1GiB", "1");
    reset_ends_it(sim.cuDevicePrimaryCtxReset_v2);
    reset_ends_it(sim.cuDevicePrimaryCtxReset);
}
END_TEST

START_TEST(a_reset_that_fails_ends_nothing)
{
    sim_start("1GiB", "1");
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(retain(0)), CUDA_SUCCESS);
    own();
    sim.fail_call("cuDevicePrimaryCtxReset_v2", 1, CUDA_ERROR_UNKNOWN);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(0), CUDA_ERROR_UNKNOWN);
    charged_is(OWNED);
    pinned_is(OWNED_PINNED);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(5), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(-1), CUDA_ERROR_INVALID_DEVICE);
    charged_is(OWNED);
}
END_TEST

START_TEST(each_context_charges_its_own_device)
{
    sim_start("1GiB", "2");
    CUcontext first = create(0), second = create(1);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(sim.cuCtxSetCurrent(first), CUDA_SUCCESS);
        sim_allocate(1000);
        ck_assert_int_eq(sim.cuCtxSetCurrent(second), CUDA_SUCCESS);
        sim_allocate(50);
        charged_is(50 * ((uint64_t)round + 1));
        ck_assert_int_eq(sim.cuCtxSetCurrent(first), CUDA_SUCCESS);
        charged_is(1000 * ((uint64_t)round + 1));
    }
    ck_assert_int_eq(sim.cuCtxDestroy_v2(second), CUDA_SUCCESS);
    charged_is(3000);
    second = create(1);
    charged_is(0);
    sim_allocate(5);
    charged_is(5);
}
END_TEST

enum { MORE_CONTEXTS = 300 }; /* than are remembered */

START_TEST(memory_of_more_contexts_than_are_remembered_is_charged_and_freed)
{
    static CUcontext contexts[MORE_CONTEXTS];
    static CUdeviceptr addresses[MORE_CONTEXTS];
    sim_start("1GiB", "1");
    for (int i = 0; i < MORE_CONTEXTS; i++) {
        contexts[i] = create(0);
        addresses[i] = sim_allocate(100);
        charged_is(100 * ((uint64_t)i + 1));
        ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
    }
    ck_assert_int_eq(sim.cuCtxPushCurrent_v2(contexts[0]), CUDA_SUCCESS);
    for (int i = 0; i < MORE_CONTEXTS; i++)
        ck_assert_int_eq(sim.cuMemFree_v2(addresses[i]), CUDA_SUCCESS);
    charged_is(0);
    for (int i = 1; i < MORE_CONTEXTS; i++)
        ck_assert_int_eq(sim.cuCtxDestroy_v2(contexts[i]), CUDA_SUCCESS);
    /* There is room for new ones again. */
    CUcontext context = create(0);
    sim_allocate(100);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    charged_is(0);
}
END_TEST

/* A program is not to do this. If it does, nothing stays charged for good. */
static struct {
    CUcontext context;
    CUdeviceptr address;
    CUresult result;
} on_its_way;

static void *allocate_slowly(void *unused)
{
    on_its_way.result = sim.cuCtxSetCurrent(on_its_way.context);
    if (on_its_way.result == CUDA_SUCCESS)
        on_its_way.result =
            sim.cuMemAllocManaged(&on_its_way.address, 1000, CU_MEM_ATTACH_GLOBAL);
    return unused;
}

START_TEST(an_allocation_that_returns_after_its_context_ended_is_not_charged)
{
    pthread_t thread;
    setenv("SIMCUDA_ALLOC_US", "200000", 1);
    on_its_way.context = accounts_start();
    ck_assert_int_eq(pthread_create(&thread, NULL, allocate_slowly, NULL), 0);
    while (sim.oracle_bytes(0) == 0)
        sched_yield();
    ck_assert_int_eq(sim.cuCtxDestroy_v2(on_its_way.context), CUDA_SUCCESS);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(on_its_way.result, CUDA_SUCCESS);
    create(0);
    charged_is(0);
}
END_TEST

static void *free_slowly(void *unused)
{
    on_its_way.result = sim.cuCtxSetCurrent(on_its_way.context);
    if (on_its_way.result == CUDA_SUCCESS)
        on_its_way.result = sim.cuMemFree_v2(on_its_way.address);
    return unused;
}

static void *destroy_slowly(void *unused)
{
    ck_assert_int_eq(sim.cuCtxDestroy_v2(on_its_way.context), CUDA_SUCCESS);
    return unused;
}

static void wait_for_call(const char *symbol, uint64_t calls)
{
    while (sim.oracle_calls(symbol) == calls)
        sched_yield();
}

/* Both wait for a kernel, and whichever is first the other comes too late. */
START_TEST(a_free_that_fails_since_its_context_ended_leaves_no_charge)
{
    pthread_t freeing, destroying;
    setenv("SIMCUDA_KERNELS", "skip", 1);
    accounts_start();
    for (uint64_t round = 1; round <= 20; round++) {
        on_its_way.context = create(0);
        const struct sim_kernels kernels = sim_load_kernels();
        on_its_way.address = sim_allocate(1000);
        sim_hold(&kernels, NULL, round);
        uint64_t calls = sim.oracle_calls("cuMemFree_v2");
        ck_assert_int_eq(pthread_create(&freeing, NULL, free_slowly, NULL), 0);
        wait_for_call("cuMemFree_v2", calls);
        calls = sim.oracle_calls("cuCtxDestroy_v2");
        ck_assert_int_eq(pthread_create(&destroying, NULL, destroy_slowly, NULL), 0);
        wait_for_call("cuCtxDestroy_v2", calls);
        ck_assert_int_ne(sim.release(round), 0);
        ck_assert_int_eq(pthread_join(freeing, NULL), 0);
        ck_assert_int_eq(pthread_join(destroying, NULL), 0);
        ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
        charged_is(0);
    }
}
END_TEST

SUITE_MAIN("preload/lifetimes", a_context_that_is_destroyed_takes_its_memory_along,
           a_context_that_is_not_destroyed_after_all_keeps_what_it_owns,
           a_primary_context_ends_with_its_last_release,
           a_primary_context_that_is_reset_takes_its_memory_along_and_lives_again,
           a_reset_that_fails_ends_nothing, each_context_charges_its_own_device,
           memory_of_more_contexts_than_are_remembered_is_charged_and_freed,
           an_allocation_that_returns_after_its_context_ended_is_not_charged,
           a_free_that_fails_since_its_context_ended_leaves_no_charge)

/* Calls wait for the work of streams exactly where the driver's calls do. */
#include "tests/sim_kernels.h"

#include <stdatomic.h>

enum { BYTES = 4096 };

static CUcontext context;
static struct sim_kernels kernels;

static void start(void)
{
    kernels = sim_start_kernels("0", &context);
}

/* A call in a thread of its own, which is over or is not. */
struct call {
    pthread_t thread;
    const char *symbol; /* whose calls are counted */
    CUresult (*act)(void);
    CUresult result;
    atomic_bool returned;
};

static void *make_call(void *argument)
{
    struct call *call = argument;
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    call->result = call->act();
    atomic_store_explicit(&call->returned, true, memory_order_release);
    return NULL;
}

static void begin_call(struct call *call)
{
    uint64_t before = sim.oracle_calls(call->symbol);
    ck_assert_int_eq(pthread_create(&call->thread, NULL, make_call, call), 0);
    while (sim.oracle_calls(call->symbol) == before)
        sched_yield();
}

static bool has_returned(struct call *call)
{
    return atomic_load_explicit(&call->returned, memory_order_acquire);
}

enum { SOON_US = 20000, LATE_US = 20000000 };

/* Whether the call waits for the kernel that holds ticket 1, which then ends. Where it
   should not, it gets all the time that a busy machine may need. */
static bool call_waits(struct call *call, bool expected)
{
    begin_call(call);
    for (int us = 0; us < (expected ? SOON_US : LATE_US) && !has_returned(call);
         us += 1000)
        usleep(1000);
    bool waited = !has_returned(call);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(pthread_join(call->thread, NULL), 0);
    ck_assert_int_eq(call->result, CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    return waited;
}

static CUdeviceptr device;
static CUdeviceptr other;
static unsigned char *locked;
static unsigned char plain[BYTES];
static CUstream held;

#define CALL(name, expression)                                                           \
    static CUresult name(void)                                                           \
    {                                                                                    \
        return expression;                                                               \
    }
CALL(free_device, sim.cuMemFree_v2(device))
CALL(free_locked, sim.cuMemFreeHost(locked))
CALL(unregister, sim.cuMemHostUnregister(plain))
CALL(synchronize_context, sim.cuCtxSynchronize())
CALL(synchronize_named, sim.cuCtxSynchronize_v2(context))
CALL(synchronize_default, sim.cuStreamSynchronize(NULL))
CALL(upload_locked, sim.cuMemcpyHtoD_v2(device, locked, BYTES))
CALL(upload_plain, sim.cuMemcpyHtoD_v2(device, plain, BYTES))
CALL(download_locked, sim.cuMemcpyDtoH_v2(locked, device, BYTES))
CALL(download_plain, sim.cuMemcpyDtoH_v2(plain, device, BYTES))
CALL(copy_device, sim.cuMemcpyDtoD_v2(device, other, BYTES))
CALL(copy_host, sim.cuMemcpy((uintptr_t)plain, (uintptr_t)locked, BYTES))
CALL(fill_device, sim.cuMemsetD8_v2(device, 1, BYTES))
CALL(fill_locked, sim.cuMemsetD8_v2((uintptr_t)locked, 1, BYTES))
CALL(upload_locked_async, sim.cuMemcpyHtoDAsync_v2(device, locked, BYTES, held))
CALL(upload_plain_async, sim.cuMemcpyHtoDAsync_v2(device, plain, BYTES, held))
CALL(download_locked_async, sim.cuMemcpyDtoHAsync_v2(locked, device, BYTES, held))
CALL(download_plain_async, sim.cuMemcpyDtoHAsync_v2(plain, device, BYTES, held))
CALL(copy_host_async, sim.cuMemcpyAsync((uintptr_t)plain, (uintptr_t)locked, BYTES, held))
CALL(fill_locked_async, sim.cuMemsetD8Async((uintptr_t)locked, 1, BYTES, held))
CALL(allocate, sim.cuMemAlloc_v2(&other, BYTES))

START_TEST(calls_wait_where_the_drivers_wait_and_nowhere_else)
{
    static struct {
        const char *symbol;
        CUresult (*act)(void);
        bool waits;
    } rows[] = {
        {"cuMemFree_v2", free_device, true},
        {"cuMemFreeHost", free_locked, true},
        {"cuMemHostUnregister", unregister, true},
        {"cuCtxSynchronize", synchronize_context, true},
        {"cuCtxSynchronize_v2", synchronize_named, true},
        {"cuStreamSynchronize", synchronize_default, true},
        {"cuMemcpyHtoD_v2", upload_locked, true},
        {"cuMemcpyHtoD_v2", upload_plain, true},
        {"cuMemcpyDtoH_v2", download_locked, true},
        {"cuMemcpyDtoH_v2", download_plain, true},
        {"cuMemcpyDtoD_v2", copy_device, false},
        {"cuMemcpy", copy_host, true},
        {"cuMemsetD8_v2", fill_device, false},
        {"cuMemsetD8_v2", fill_locked, true},
        {"cuMemcpyHtoDAsync_v2", upload_locked_async, false},
        {"cuMemcpyHtoDAsync_v2", upload_plain_async, false},
        {"cuMemcpyDtoHAsync_v2", download_locked_async, false},
        {"cuMemcpyDtoHAsync_v2", download_plain_async, true},
        {"cuMemcpyAsync", copy_host_async, true},
        {"cuMemsetD8Async", fill_locked_async, false},
        {"cuMemAlloc_v2", allocate, false},
    };
    start();
    held = sim_stream(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call call = {.symbol = rows[i].symbol, .act = rows[i].act};
        device = sim_allocate(BYTES);
        other = sim_allocate(BYTES);
        locked = sim_pinned(BYTES);
        if (rows[i].act == unregister)
            ck_assert_int_eq(sim.cuMemHostRegister_v2(plain, BYTES, 0), CUDA_SUCCESS);
        sim_hold(&kernels, held, 1);
        ck_assert_msg(call_waits(&call, rows[i].waits) == rows[i].waits, "row %zu: %s", i,
                      rows[i].symbol);
    }
}
END_TEST

START_TEST(freed_memory_is_there_until_the_work_is_done)
{
    start();
    struct call call = {.symbol = "cuMemFree_v2", .act = free_device};
    held = sim_stream(CU_STREAM_NON_BLOCKING);
    device = sim_allocate(BYTES);
    sim_hold(&kernels, held, 1);
    sim_kernel_fill(&kernels, held, device, BYTES, 3);
    begin_call(&call);
    ck_assert_uint_eq(sim.oracle_bytes(0), BYTES);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(pthread_join(call.thread, NULL), 0);
    ck_assert_int_eq(call.result, CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

SUITE_MAIN("simcuda/waits", calls_wait_where_the_drivers_wait_and_nowhere_else,
           freed_memory_is_there_until_the_work_is_done)

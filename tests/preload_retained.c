/* Defends: memory that the program frees comes back to it without the driver, and nothing that it
   can ask or do tells the difference, but for the time it takes. */
#include "tests/retained_fixture.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(void)
{
    retained_start("64MiB");
    retained_need(32 * MIB);
}

START_TEST(a_round_with_a_synchronisation_asks_the_driver_for_nothing)
{
    CUdeviceptr blocks[16];
    void *pinned[4];
    retained_start("64MiB");
    uint64_t asked_warm = 0, freed_warm = 0;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 16; i++)
            blocks[i] = sim_allocate((1 + i % 3) * 64 * KIB);
        for (unsigned i = 0; i < 4; i++)
            pinned[i] = sim_pinned((i + 1) * 10000);
        synchronise();
        for (unsigned i = 0; i < 16; i++)
            give(blocks[i]);
        for (unsigned i = 0; i < 4; i++)
            give_pinned(pinned[i]);
        if (round == 3) {
            asked_warm = asked();
            freed_warm = freed();
        }
    }
    ck_assert_uint_eq(asked(), asked_warm);
    ck_assert_uint_eq(freed(), freed_warm);
}
END_TEST

START_TEST(memory_in_use_by_a_stream_is_not_handed_out)
{
    start();
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr first = sim_allocate(MIB);
    sim_hold(&kernels, stream, 1);
    sim_kernel_fill(&kernels, stream, first, MIB, 9);
    give(first); /* and does not wait, as the driver's would for ever */
    CUdeviceptr second = sim_allocate(MIB);
    ck_assert_uint_ne(second, first);
    ck_assert_int_eq(sim.cuMemsetD8_v2(second, 1, MIB), CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    synchronise();
    ck_assert_uint_eq(sim_peek(second), 1);
    ck_assert_uint_eq(sim_allocate(MIB), first);
}
END_TEST

START_TEST(a_stream_that_is_waited_for_proves_nothing_of_the_others)
{
    start();
    CUstream busy = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream idle = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr first = sim_allocate(MIB);
    sim_hold(&kernels, busy, 1);
    sim_kernel_fill(&kernels, busy, first, MIB, 9);
    give(first);
    ck_assert_int_eq(sim.cuStreamSynchronize(idle), CUDA_SUCCESS);
    ck_assert_uint_ne(sim_allocate(MIB), first);
    ck_assert_int_eq(sim.release(1), 1);
    synchronise();
}
END_TEST

static CUdeviceptr in_use;

static void *wait_for_context(void *unused)
{
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    synchronise();
    return unused;
}

/* The other thread begins to wait, then more work comes and a free, then the wait ends. */
START_TEST(a_wait_that_had_begun_proves_nothing_of_later_work)
{
    pthread_t thread;
    start();
    CUstream one = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    in_use = sim_allocate(MIB);
    sim_hold(&kernels, one, 1);
    uint64_t before = sim.oracle_calls("cuCtxSynchronize");
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_context, NULL), 0);
    while (sim.oracle_calls("cuCtxSynchronize") == before)
        sched_yield();
    usleep(20000); /* it is waiting now */
    sim_hold(&kernels, other, 2);
    sim_kernel_fill(&kernels, other, in_use, MIB, 9);
    give(in_use);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_ne(sim_allocate(MIB), in_use);
    ck_assert_int_eq(sim.release(2), 1);
    synchronise();
}
END_TEST

/* As drivers do: the kernel waits for the program, which waits for memory, near the ceiling of
   what it had before. */
START_TEST(a_kernel_that_ends_after_a_later_allocation_never_hangs_the_program)
{
    start();
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    for (unsigned round = 0; round < 50; round++) {
        size_t bytes = (round % 7 + 1) * 100 * KIB;
        CUdeviceptr first = sim_allocate(bytes);
        give(first);
        sim_hold(&kernels, stream, round);
        CUdeviceptr second = sim_allocate(bytes + KIB), third = sim_allocate(bytes);
        void *pinned = sim_pinned(bytes);
        ck_assert_int_eq(sim.release(round), 1);
        synchronise();
        give(second);
        give(third);
        give_pinned(pinned);
    }
}
END_TEST

START_TEST(the_program_sees_the_size_that_it_asked_for)
{
    CUdeviceptr base = 0, start_address = 0;
    size_t bytes = 0;
    start();
    CUdeviceptr larger = sim_allocate(9 * 8 * KIB);
    give(larger);
    synchronise();
    CUdeviceptr smaller = sim_allocate(8 * 8 * KIB);
    ck_assert_uint_eq(smaller, larger);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, &bytes, smaller + 100),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(base, smaller);
    ck_assert_uint_eq(bytes, 8 * 8 * KIB);
    bytes = 0;
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, smaller),
        CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, 8 * 8 * KIB);
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&start_address, &bytes};
    bytes = 0;
    ck_assert_int_eq(sim.cuPointerGetAttributes(2, attributes, values, smaller + 5),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(start_address, smaller);
    ck_assert_uint_eq(bytes, 8 * 8 * KIB);
    /* Behind its end there is nothing. */
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(&base, &bytes, smaller + 8 * 8 * KIB),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(NULL, NULL, smaller), CUDA_SUCCESS);
}
END_TEST

/* Every question that there is, about memory that was freed and about nobody's. */
static void ask(CUdeviceptr address, CUresult answers[9])
{
    CUdeviceptr base;
    size_t bytes;
    unsigned flags, on = 1;
    CUmemorytype type = 0;
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type, *pinned = (void *)(uintptr_t)address;
    unsigned n = 0;
    answers[n++] = sim.cuMemGetAddressRange_v2(&base, &bytes, address);
    answers[n++] = sim.cuPointerGetAttribute(&type, attribute, address);
    answers[n++] = sim.cuPointerGetAttributes(1, &attribute, &value, address);
    answers[n++] = (CUresult)type;
    answers[n++] =
        sim.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
    answers[n++] = sim.cuMemHostGetFlags(&flags, pinned);
    answers[n++] = sim.cuMemHostGetDevicePointer_v2(&base, pinned, 0);
    answers[n++] = sim.cuMemFree_v2(address);
    answers[n++] = sim.cuMemFreeHost(pinned);
}

START_TEST(memory_that_was_freed_is_nobodys)
{
    CUresult nobodys[9], of_device[9], inside[9], of_pinned[9];
    start();
    CUdeviceptr device = sim_allocate(MIB);
    void *pinned = sim_pinned(MIB);
    give(device);
    give_pinned(pinned);
    ask(4096, nobodys);
    ask(device, of_device);
    ask(device + 512, inside);
    ask((CUdeviceptr)(uintptr_t)pinned, of_pinned);
    ck_assert_mem_eq(of_device, nobodys, sizeof nobodys);
    ck_assert_mem_eq(inside, nobodys, sizeof nobodys);
    ck_assert_mem_eq(of_pinned, nobodys, sizeof nobodys);
    synchronise();
    ck_assert_uint_eq(sim_allocate(MIB), device); /* and the driver has not freed it */
    ck_assert_int_eq(sim.cuMemsetD8_v2(device, 1, MIB), CUDA_SUCCESS);
    ck_assert_ptr_eq(sim_pinned(MIB), pinned);
}
END_TEST

START_TEST(kinds_and_flags_do_not_serve_each_other)
{
    void *plain, *again;
    start();
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&plain, MIB), CUDA_SUCCESS);
    give_pinned(plain);
    synchronise();
    void *others[] = {NULL, NULL, NULL};
    const unsigned flags[] = {0, CU_MEMHOSTALLOC_PORTABLE,
                              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(sim.cuMemHostAlloc(&others[i], MIB, flags[i]), CUDA_SUCCESS);
        ck_assert_ptr_ne(others[i], plain);
    }
    for (unsigned i = 0; i < 3; i++)
        give_pinned(others[i]);
    synchronise();
    for (unsigned i = 0; i < 3; i++) {
        unsigned seen = 99;
        ck_assert_int_eq(sim.cuMemHostAlloc(&again, MIB, flags[i]), CUDA_SUCCESS);
        ck_assert_ptr_eq(again, others[i]);
        ck_assert_int_eq(sim.cuMemHostGetFlags(&seen, again), CUDA_SUCCESS);
        ck_assert_uint_eq(seen, flags[i]);
    }
    ck_assert_int_eq(sim.cuMemAllocHost_v2(&again, MIB), CUDA_SUCCESS);
    ck_assert_ptr_eq(again, plain);
}
END_TEST

START_TEST(memory_that_others_can_reach_is_really_freed)
{
    unsigned on = 1, off = 0;
    start();
    ck_assert(is_kept(sim_allocate(MIB), MIB));
    CUdeviceptr marked = sim_allocate(3 * MIB);
    ck_assert_int_eq(
        sim.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, marked + 1000),
        CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, marked),
        CUDA_SUCCESS);
    ck_assert(!is_kept(marked, 3 * MIB));
}
END_TEST

START_TEST(managed_pitched_and_small_forms_are_never_kept)
{
    CUdeviceptr address;
    size_t pitch;
    start();
    uint64_t freed_before = freed();
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, MIB, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    give(address);
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1000, 1000, 4),
                     CUDA_SUCCESS);
    give(address);
    ck_assert_uint_eq(freed(), freed_before + 2);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(a_context_takes_its_memory_along)
{
    CUcontext second;
    start();
    CUdeviceptr kept = sim_allocate(MIB);
    void *kept_pinned = sim_pinned(MIB);
    give(kept);
    give_pinned(kept_pinned);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    synchronise();
    CUdeviceptr other = sim_allocate(MIB);
    ck_assert_uint_ne(other, kept);
    uint64_t freed_before = freed();
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_uint_eq(freed(), freed_before);
    ck_assert_uint_eq(sim.oracle_bytes(0), MIB);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 0);
    ck_assert(is_kept(other, MIB));
    ck_assert_int_eq(sim.cuCtxDestroy_v2(second), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

/* The primary context has one handle for all its lives. */
START_TEST(a_primary_context_begins_each_life_with_nothing)
{
    CUcontext primary;
    start();
    for (unsigned life = 0; life < 3; life++) {
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuCtxSetCurrent(primary), CUDA_SUCCESS);
        synchronise();
        uint64_t asked_before = asked();
        CUdeviceptr block = sim_allocate(MIB);
        ck_assert_uint_eq(asked(), asked_before + 1);
        ck_assert_int_eq(sim.cuMemsetD8_v2(block, 1, MIB), CUDA_SUCCESS);
        /* Another user comes and goes, and nothing ends. */
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
        ck_assert(is_kept(block, MIB));
        if (life == 0)
            ck_assert_int_eq(sim.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    }
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
}
END_TEST

START_TEST(a_block_goes_back_to_its_own_context_whichever_is_current)
{
    CUcontext second;
    start();
    CUdeviceptr block = sim_allocate(MIB);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    synchronise();
    give(block);
    synchronise();
    ck_assert_uint_ne(sim_allocate(MIB), block);
    ck_assert_int_eq(sim.cuCtxSetCurrent(context), CUDA_SUCCESS);
    synchronise();
    ck_assert_uint_eq(sim_allocate(MIB), block);
    /* Without one it is the driver's affair. */
    uint64_t freed_before = freed();
    ck_assert_int_eq(sim.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(NULL), CUDA_SUCCESS); /* each takes one off */
    (void)sim.cuMemFree_v2(block);
    ck_assert_uint_eq(freed(), freed_before + 1);
}
END_TEST

START_TEST(what_is_idle_is_free_for_whoever_asks)
{
    size_t free_before, free_bytes, total;
    start();
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_before, &total), CUDA_SUCCESS);
    give(sim_allocate(5 * MIB));
    ck_assert_uint_eq(sim.oracle_bytes(0), 5 * MIB);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes, free_before);
}
END_TEST

START_TEST(malloc_trim_gives_everything_back)
{
    start();
    give(sim_allocate(5 * MIB));
    give_pinned(sim_pinned(MIB));
    ck_assert_uint_eq(sim.oracle_bytes(0), 5 * MIB);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), MIB);
    ck_assert_int_eq(sim.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    malloc_trim(0);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_uint_eq(sim.oracle_pinned_bytes(), 0);
    CUcontext current = context;
    ck_assert_int_eq(sim.cuCtxGetCurrent(&current), CUDA_SUCCESS);
    ck_assert_ptr_null(current);
}
END_TEST

START_TEST(after_an_error_that_stays_nothing_is_kept_served_or_freed)
{
    CUdeviceptr address = 7;
    start();
    CUdeviceptr idle = sim_allocate(MIB), live = sim_allocate(2 * MIB);
    give(idle);
    synchronise();
    CUdeviceptr nobodys = 4096;
    uint64_t bytes = 1;
    unsigned char value = 1;
    (void)sim_launch(kernels.fill, sim_stream(0), (void *[]){&nobodys, &bytes, &value});
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    uint64_t freed_before = freed();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, MIB), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_uint_eq(address, 7);
    malloc_trim(0);
    ck_assert_uint_eq(freed(), freed_before);
    ck_assert_int_eq(sim.cuMemFree_v2(live), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(a_child_of_fork_leaves_the_driver_alone)
{
    start();
    CUdeviceptr live = sim_allocate(MIB);
    give(sim_allocate(2 * MIB));
    synchronise();
    uint64_t freed_before = freed();
    pid_t child = fork();
    if (child == 0) {
        malloc_trim(0);
        _exit(freed() == freed_before ? 42 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    ck_assert(is_kept(live, MIB));
}
END_TEST

SUITE_MAIN("preload/retained", a_round_with_a_synchronisation_asks_the_driver_for_nothing,
           memory_in_use_by_a_stream_is_not_handed_out,
           a_stream_that_is_waited_for_proves_nothing_of_the_others,
           a_wait_that_had_begun_proves_nothing_of_later_work,
           a_kernel_that_ends_after_a_later_allocation_never_hangs_the_program,
           the_program_sees_the_size_that_it_asked_for, memory_that_was_freed_is_nobodys,
           kinds_and_flags_do_not_serve_each_other,
           memory_that_others_can_reach_is_really_freed,
           managed_pitched_and_small_forms_are_never_kept,
           a_context_takes_its_memory_along,
           a_primary_context_begins_each_life_with_nothing,
           a_block_goes_back_to_its_own_context_whichever_is_current,
           what_is_idle_is_free_for_whoever_asks, malloc_trim_gives_everything_back,
           after_an_error_that_stays_nothing_is_kept_served_or_freed,
           a_child_of_fork_leaves_the_driver_alone)

/* Defends: where the driver itself has no room, idle memory goes back to it, and it is asked once
   more, by every call that allocates; and no more. */
#include "tests/retained_fixture.h"

static uint64_t allocations(void)
{
    return sim.oracle_calls("cuMemAlloc_v2");
}

START_TEST(a_driver_without_room_is_asked_once_more_when_idle_memory_is_gone)
{
    CUdeviceptr address = 7;
    retained_start("4MiB");
    CUdeviceptr live = sim_allocate(MIB);
    CUdeviceptr idle = sim_allocate(2 * MIB);
    give(idle);
    uint64_t before = allocations();
    CUdeviceptr large = sim_allocate(3 * MIB); /* 1 was left: 2 had to go */
    ck_assert_uint_eq(allocations(), before + 2);
    before = allocations();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 512), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, 7);
    ck_assert_uint_eq(allocations(), before + 1); /* nothing was idle */
    give(large);
    give(live);
}
END_TEST

START_TEST(a_refused_request_beside_idle_memory_is_asked_twice_at_most)
{
    CUdeviceptr address = 7;
    retained_start("4MiB");
    CUdeviceptr live = sim_allocate(3 * MIB);
    give(sim_allocate(MIB / 2));
    uint64_t before = allocations();
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, 7);
    ck_assert_uint_eq(allocations(), before + 2);
    ck_assert_uint_eq(sim.oracle_bytes(0), 3 * MIB);
    give(live);
}
END_TEST

START_TEST(every_allocating_call_of_the_driver_is_asked_once_more)
{
    CUdeviceptr address;
    size_t pitch;
    retained_start("64MiB");
    CUstream stream = sim_stream(0);
    give(sim_allocate(40 * MIB));
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, 40 * MIB, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    give(address);
    give(sim_allocate(40 * MIB));
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1024, 40 * 1024, 4),
                     CUDA_SUCCESS);
    give(address);
    give(sim_allocate(40 * MIB));
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, 33 * MIB, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
    synchronise();
}
END_TEST

/* A block of more than half of the device, again and again: it never serves itself in time, and
   the driver would be asked three times for two. */
START_TEST(what_did_not_fit_is_not_tried_again_and_again)
{
    retained_start("4MiB");
    uint64_t asked_before = asked(), freed_before = freed();
    enum { ROUNDS = 40 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        CUdeviceptr block = sim_allocate(3 * MIB - round * 512 * 100);
        synchronise();
        give(block);
    }
    uint64_t calls = asked() - asked_before + freed() - freed_before;
    ck_assert_uint_le(calls, 2 * ROUNDS + 2);
}
END_TEST

SUITE_MAIN("preload/retained_driver",
           a_driver_without_room_is_asked_once_more_when_idle_memory_is_gone,
           a_refused_request_beside_idle_memory_is_asked_twice_at_most,
           every_allocating_call_of_the_driver_is_asked_once_more,
           what_did_not_fit_is_not_tried_again_and_again)

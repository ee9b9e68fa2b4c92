/* Defends: a program that fits without retention fits with it. Idle memory counts against the
   ceilings, and gives way before they refuse. */
#include "tests/retained_fixture.h"

/* Of the device and of page-locked memory, by the environment. */
enum { CEILING = 8 * MIB };

START_TEST(live_memory_may_fill_the_ceiling_whatever_was_freed_before)
{
    retained_start("64MiB");
    for (unsigned pieces = 1; pieces <= 16; pieces++) {
        CUdeviceptr blocks[16];
        size_t bytes = CEILING / pieces;
        for (unsigned i = 0; i < pieces; i++)
            blocks[i] = sim_allocate(bytes);
        CUdeviceptr more = 7;
        ck_assert_int_eq(sim.cuMemAlloc_v2(&more, CEILING - pieces * bytes + 1),
                         CUDA_ERROR_OUT_OF_MEMORY);
        ck_assert_uint_eq(more, 7);
        if (pieces % 2)
            synchronise();
        for (unsigned i = 0; i < pieces; i++)
            give(blocks[i]);
    }
}
END_TEST

START_TEST(page_locked_memory_may_fill_its_ceiling_whatever_was_freed_before)
{
    retained_start("64MiB");
    for (unsigned pieces = 1; pieces <= 16; pieces *= 2) {
        void *blocks[16];
        for (unsigned i = 0; i < pieces; i++)
            blocks[i] = sim_pinned(CEILING / pieces);
        void *more = &more;
        ck_assert_int_eq(sim.cuMemHostAlloc(&more, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
        ck_assert_ptr_eq(more, &more);
        synchronise();
        for (unsigned i = 0; i < pieces; i++)
            give_pinned(blocks[i]);
    }
}
END_TEST

START_TEST(what_is_never_kept_finds_the_same_room)
{
    static _Alignas(4096) char buffer[CEILING];
    CUdeviceptr address;
    size_t pitch;
    retained_start("64MiB");
    give(sim_allocate(CEILING));
    ck_assert_int_eq(sim.cuMemAllocManaged(&address, CEILING, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    give(address);
    give(sim_allocate(CEILING));
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 1024, CEILING / 1024, 4),
                     CUDA_SUCCESS);
    give(address);
    give_pinned(sim_pinned(CEILING));
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, CEILING, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    buffer[0] = 1;
}
END_TEST

SUITE_MAIN("preload/retained_room",
           live_memory_may_fill_the_ceiling_whatever_was_freed_before,
           page_locked_memory_may_fill_its_ceiling_whatever_was_freed_before,
           what_is_never_kept_finds_the_same_room)

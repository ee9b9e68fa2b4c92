/* Defends: with TIDEMARK_REUSE memory that comes back holds what was asked for, over the whole
   request and whatever streams do; without, what it held. REUSED says which is expected. */
#include "tests/retained_fixture.h"

static unsigned char expected(unsigned char held)
{
    const char *reused = getenv("REUSED");
    if (reused && strcmp(reused, "zero") == 0)
        return 0;
    return reused && strcmp(reused, "poison") == 0 ? 0xff : held;
}

static void all_are(CUdeviceptr address, size_t bytes, unsigned char value)
{
    for (size_t i = 0; i < bytes; i++)
        if (sim_peek(address + i) != value)
            ck_abort_msg("byte %zu is %u", i, sim_peek(address + i));
}

START_TEST(memory_holds_what_it_should_when_it_comes_back)
{
    retained_start("64MiB");
    CUdeviceptr block = sim_allocate(MIB);
    void *pinned = sim_pinned(100000);
    ck_assert_int_eq(sim.cuMemsetD8_v2(block, 5, MIB), CUDA_SUCCESS);
    memset(pinned, 6, 100000);
    for (unsigned round = 0; round < 3; round++) {
        give(block);
        give_pinned(pinned);
        synchronise();
        ck_assert_uint_eq(sim_allocate(MIB - 100), block);
        ck_assert_ptr_eq(sim_pinned(99999), pinned);
        all_are(block, MIB - 100, expected(5));
        all_are((CUdeviceptr)(uintptr_t)pinned, 99999, expected(6));
    }
}
END_TEST

START_TEST(a_busy_stream_of_the_program_is_not_waited_for)
{
    retained_start("64MiB");
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr block = sim_allocate(MIB);
    ck_assert_int_eq(sim.cuMemsetD8_v2(block, 5, MIB), CUDA_SUCCESS);
    give(block);
    synchronise();
    sim_hold(&kernels, stream, 1);
    ck_assert_uint_eq(sim_allocate(MIB), block);
    all_are(block, MIB, expected(5));
    ck_assert_int_eq(sim.release(1), 1);
    synchronise();
}
END_TEST

SUITE_MAIN("preload/reuse", memory_holds_what_it_should_when_it_comes_back,
           a_busy_stream_of_the_program_is_not_waited_for)

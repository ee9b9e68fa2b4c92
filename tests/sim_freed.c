/* Memory shows its misuse: new memory is not zero, freed memory is gone or spoilt, and an
   address belongs to one live block or to none. */
#include "tests/sim_driver.h"

#include <stdint.h>

enum { FRESH = 0xd1, FREED = 0xf3, PAGE = 4096 };

/* Blocks of these sizes lie in slots, share pages, or have mappings of their own. */
static const size_t sizes[] = {1,         511,     512,      4095,
                               4096,      5000,    64 << 10, (512 << 10) - 1,
                               512 << 10, 1 << 20, 3 << 20};

enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

static unsigned char *bytes_at(CUdeviceptr address)
{
    return (unsigned char *)(uintptr_t)address;
}

static void check_filled(CUdeviceptr address, size_t bytes, unsigned char value)
{
    ck_assert_uint_eq(bytes_at(address)[0], value);
    ck_assert_uint_eq(bytes_at(address)[bytes / 2], value);
    ck_assert_uint_eq(bytes_at(address)[bytes - 1], value);
}

START_TEST(new_memory_is_filled_with_what_nobody_wrote)
{
    setenv("SIMCUDA_POISON", "on", 1);
    sim_start_context("64MiB");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        for (int round = 0; round < 3; round++) {
            void *pinned;
            CUdeviceptr address = sim_allocate(sizes[i]);
            check_filled(address, sizes[i], FRESH);
            ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0, sizes[i]), CUDA_SUCCESS);
            ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
            ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, sizes[i], 0), CUDA_SUCCESS);
            check_filled((uintptr_t)pinned, sizes[i], FRESH);
            memset(pinned, 0, sizes[i]);
            ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
        }
    }
}
END_TEST

START_TEST(freed_memory_that_stays_is_spoilt)
{
    setenv("SIMCUDA_POISON", "on", 1);
    sim_start_context("64MiB");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        CUdeviceptr address = sim_allocate(sizes[i]);
        ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
        check_filled(address, sizes[i], FREED);
    }
    static unsigned char buffer[PAGE] = {7};
    ck_assert_int_eq(sim.cuMemHostRegister_v2(buffer, PAGE, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(buffer[0], 7);
    ck_assert_int_eq(sim.cuMemHostUnregister(buffer), CUDA_SUCCESS);
    ck_assert_uint_eq(buffer[0], 7);
}
END_TEST

static bool reading_crashes(CUdeviceptr address)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        _exit(*(volatile unsigned char *)bytes_at(address) == 0 ? 0 : 0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

START_TEST(who_reads_freed_memory_crashes_where_that_was_asked_for)
{
    setenv("SIMCUDA_FREED", "unmap", 1);
    sim_start_context("64MiB");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *pinned;
        CUdeviceptr address = sim_allocate(sizes[i]);
        ck_assert(!reading_crashes(address));
        ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
        ck_assert(reading_crashes(address) == (sizes[i] >= PAGE));
        ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, sizes[i], 0), CUDA_SUCCESS);
        ck_assert(!reading_crashes((uintptr_t)pinned));
        ck_assert_int_eq(sim.cuMemFreeHost(pinned), CUDA_SUCCESS);
        ck_assert(reading_crashes((uintptr_t)pinned) == (sizes[i] >= PAGE));
    }
}
END_TEST

static void check_found(CUdeviceptr address, size_t bytes)
{
    CUdeviceptr base;
    size_t found_bytes;
    const size_t offsets[] = {0, bytes / 2, bytes - 1};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(
            sim.cuMemGetAddressRange_v2(&base, &found_bytes, address + offsets[i]),
            CUDA_SUCCESS);
        ck_assert_uint_eq(base, address);
        ck_assert_uint_eq(found_bytes, bytes);
    }
}

static void check_not_found(CUdeviceptr address)
{
    ck_assert_int_eq(sim.cuMemGetAddressRange_v2(NULL, NULL, address),
                     CUDA_ERROR_NOT_FOUND);
}

enum { ROUNDS = 20000, HELD = 300 };

START_TEST(every_address_of_a_block_leads_to_it_and_to_no_other)
{
    static struct {
        CUdeviceptr address;
        size_t bytes;
    } held[HELD];
    unsigned seed = 1;
    sim_start_context("4GiB");
    for (int round = 0; round < ROUNDS; round++) {
        size_t i = (size_t)rand_r(&seed) % HELD;
        if (held[i].bytes > 0) {
            check_found(held[i].address, held[i].bytes);
            ck_assert_int_eq(sim.cuMemFree_v2(held[i].address), CUDA_SUCCESS);
            check_not_found(held[i].address);
            check_not_found(held[i].address + held[i].bytes - 1);
        }
        held[i].bytes = 1 + (size_t)rand_r(&seed) % (1u << (1 + rand_r(&seed) % 21));
        held[i].address = sim_allocate(held[i].bytes);
    }
    size_t held_bytes = 0;
    for (size_t i = 0; i < HELD; i++)
        held_bytes += held[i].bytes;
    ck_assert_uint_eq(sim.oracle_bytes(0), held_bytes);
    check_not_found(0);
    check_not_found(UINT64_MAX);
    check_not_found((uintptr_t)&held);
}
END_TEST

START_TEST(pinned_memory_starts_at_a_page)
{
    sim_start_context("64MiB");
    for (int i = 0; i < 100; i++) {
        void *pinned;
        ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, sizes[i % SIZE_COUNT], 0),
                         CUDA_SUCCESS);
        ck_assert_uint_eq((uintptr_t)pinned % PAGE, 0);
    }
}
END_TEST

START_TEST(memory_of_the_driver_cannot_be_registered)
{
    sim_start_context("64MiB");
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *pinned;
        ck_assert_int_eq(sim.cuMemHostAlloc(&pinned, sizes[i], 0), CUDA_SUCCESS);
        /* It begins in a block, or it ends in one. */
        ck_assert_int_eq(sim.cuMemHostRegister_v2(pinned, sizes[i] + PAGE, 0),
                         CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        ck_assert_int_eq(sim.cuMemHostRegister_v2((char *)pinned - 1, 2, 0),
                         CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    }
}
END_TEST

SUITE_MAIN("simcuda/freed", new_memory_is_filled_with_what_nobody_wrote,
           freed_memory_that_stays_is_spoilt,
           who_reads_freed_memory_crashes_where_that_was_asked_for,
           every_address_of_a_block_leads_to_it_and_to_no_other,
           pinned_memory_starts_at_a_page, memory_of_the_driver_cannot_be_registered)

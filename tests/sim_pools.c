/* A pool takes memory of its device in chunks, says exactly how much it has and uses, and
   gives it back when the driver does; memory is free when its stream comes to it. */
#include "tests/sim_kernels.h"

#define MIB    ((size_t)1 << 20)
#define CHUNK  (32 * MIB)
#define DEVICE (1024 * MIB)

static CUcontext context;
static struct sim_kernels kernels;
static CUmemoryPool pool;

static void start(void)
{
    setenv("SIMCUDA_KERNELS", "skip", 1);
    context = sim_start_context("1GiB");
    kernels = sim_load_kernels();
    ck_assert_int_eq(sim.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
}

static uint64_t attribute(CUmemPool_attribute attribute)
{
    cuuint64_t value = 42;
    ck_assert_int_eq(sim.cuMemPoolGetAttribute(pool, attribute, &value), CUDA_SUCCESS);
    return value;
}

static CUresult set(CUmemPool_attribute attribute, cuuint64_t value)
{
    return sim.cuMemPoolSetAttribute(pool, attribute, &value);
}

static uint64_t reserved(void)
{
    uint64_t bytes = attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    size_t left;
    ck_assert_uint_eq(sim.oracle_reserved_bytes(0), bytes);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&left, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(DEVICE - left, sim.oracle_taken_bytes(0));
    return bytes;
}

static uint64_t used(void)
{
    return attribute(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}

static CUdeviceptr take(size_t bytes, CUstream stream)
{
    CUdeviceptr address;
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, bytes, stream), CUDA_SUCCESS);
    return address;
}

START_TEST(a_pool_grows_by_chunks_and_counts_whole_units)
{
    start();
    ck_assert_uint_eq(reserved(), 0);
    take(1000, NULL);
    ck_assert_uint_eq(reserved(), CHUNK);
    ck_assert_uint_eq(used(), 1024);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1000);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), CHUNK);
    take(CHUNK - 1024, NULL);
    ck_assert_uint_eq(reserved(), CHUNK);
    take(CHUNK + 1, NULL);
    ck_assert_uint_eq(reserved(), 3 * CHUNK);
    take(1, NULL);
    ck_assert_uint_eq(reserved(), 3 * CHUNK);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 3 * CHUNK);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH), used());
}
END_TEST

START_TEST(where_little_is_left_a_pool_takes_that)
{
    CUdeviceptr address = 42;
    start();
    sim_allocate(DEVICE - 10 * MIB);
    take(3 * MIB, NULL);
    ck_assert_uint_eq(reserved(), 4 * MIB);
    take(6 * MIB - 1000, NULL);
    ck_assert_uint_eq(reserved(), 10 * MIB);
    take(MIB, NULL);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, 1 * MIB, NULL),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, 42);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, SIZE_MAX, NULL),
                     CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

static CUresult synchronize_event(void)
{
    CUevent event = sim_event();
    ck_assert_int_eq(sim.cuEventRecord(event, NULL), CUDA_SUCCESS);
    return sim.cuEventSynchronize(event);
}

START_TEST(idle_chunks_go_back_at_each_kind_of_synchronisation)
{
    start();
    for (int i = 0; i < 3; i++) {
        CUdeviceptr address = take(1000, NULL);
        ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
        ck_assert_uint_eq(used(), 0);
        ck_assert_uint_eq(sim.oracle_bytes(0), 0);
        ck_assert_uint_eq(reserved(), CHUNK);
        ck_assert_int_eq(i == 0   ? sim.cuStreamSynchronize(NULL)
                         : i == 1 ? sim.cuCtxSynchronize()
                                  : synchronize_event(),
                         CUDA_SUCCESS);
        ck_assert_uint_eq(reserved(), 0);
    }
}
END_TEST

START_TEST(what_is_below_the_threshold_stays_until_it_is_trimmed)
{
    start();
    ck_assert_int_eq(set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, CHUNK), CUDA_SUCCESS);
    CUdeviceptr first = take(CHUNK, NULL);
    CUdeviceptr second = take(CHUNK, NULL);
    ck_assert_int_eq(sim.cuMemFreeAsync(first, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(second), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), 2 * CHUNK);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), CHUNK);
    take(1, NULL);
    ck_assert_int_eq(sim.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), CHUNK);
    first = take(CHUNK, NULL);
    ck_assert_int_eq(sim.cuMemFreeAsync(first, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemPoolTrimTo(pool, CHUNK + 1), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), 2 * CHUNK);
    ck_assert_int_eq(sim.cuMemPoolTrimTo(pool, CHUNK), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), CHUNK);
}
END_TEST

START_TEST(marks_can_only_be_lowered_and_counters_not_set)
{
    int reuse = 0;
    start();
    CUdeviceptr address = take(CHUNK, NULL);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), CHUNK);
    ck_assert_int_eq(set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0), CUDA_SUCCESS);
    ck_assert_int_eq(set(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    ck_assert_int_eq(set(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(set(99, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemPoolGetAttribute(
                         pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse),
                     CUDA_SUCCESS);
    ck_assert_int_eq(reuse, 1);
}
END_TEST

START_TEST(memory_is_free_when_its_stream_comes_to_it)
{
    start();
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING);
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr address = take(1000, held);
    sim_hold(&kernels, held, 1);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, held), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_uint_eq(used(), 1024);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, held), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_ne(take(1000, other), address);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(held), CUDA_SUCCESS);
    ck_assert_uint_eq(used(), 1024);
    ck_assert_uint_eq(sim.oracle_bytes(0), 1000);
}
END_TEST

START_TEST(a_stream_gets_back_at_once_what_was_freed_in_it)
{
    start();
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_hold(&kernels, held, 1);
    CUdeviceptr address = take(1000, held);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(sim.cuMemFreeAsync(address, held), CUDA_SUCCESS);
        ck_assert_uint_eq(take(900 + (size_t)i, held), address);
        ck_assert_uint_eq(sim.oracle_bytes(0), 900 + (uint64_t)i);
    }
    ck_assert_uint_eq(used(), 1024);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(held), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 1, 999), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(linear_memory_may_be_freed_in_a_stream)
{
    start();
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr address = sim_allocate(1000);
    sim_hold(&kernels, held, 1);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, held), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_bytes(0), 0);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 1024);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(held), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_taken_bytes(0), 0);
}
END_TEST

START_TEST(what_is_freed_is_free_even_after_an_error)
{
    start();
    CUstream held = sim_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr address = take(1000, held);
    sim_hold(&kernels, held, 1);
    sim_kernel_fill(&kernels, held, 4096, 1, 1);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, held), CUDA_SUCCESS);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(held), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(idle_chunks_go_back_before_other_memory_is_refused)
{
    start();
    CUdeviceptr address = take(DEVICE - MIB, NULL);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(reserved(), DEVICE);
    sim_allocate(DEVICE - MIB);
    ck_assert_uint_eq(reserved(), 0);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
}
END_TEST

static CUmemoryPool create(size_t limit_bytes)
{
    CUmemoryPool created;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                            .maxSize = limit_bytes};
    ck_assert_int_eq(sim.cuMemPoolCreate(&created, &props), CUDA_SUCCESS);
    return created;
}

START_TEST(a_pool_of_the_programs_has_its_own_limit)
{
    start();
    CUdeviceptr address;
    CUmemoryPool found = NULL;
    pool = create(40 * MIB);
    ck_assert_int_eq(sim.cuMemAllocFromPoolAsync(&address, 30 * MIB, pool, NULL),
                     CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address),
        CUDA_SUCCESS);
    ck_assert_ptr_eq(found, pool);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * MIB);
    ck_assert_int_eq(sim.cuMemAllocFromPoolAsync_ptsz(&address, 8 * MIB, pool, NULL),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(attribute(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 40 * MIB);
    ck_assert_int_eq(sim.cuMemAllocFromPoolAsync(&address, 3 * MIB, pool, NULL),
                     CUDA_ERROR_OUT_OF_MEMORY);
    take(3 * MIB, NULL);
    ck_assert_uint_eq(sim.oracle_reserved_bytes(0), 72 * MIB);
}
END_TEST

START_TEST(a_destroyed_pool_ends_with_its_last_memory)
{
    start();
    CUdeviceptr address;
    CUmemoryPool created = create(0);
    ck_assert_int_eq(sim.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuDeviceSetMemPool(0, created), CUDA_SUCCESS);
    address = take(1000, NULL);
    ck_assert_uint_eq(used(), 0);
    ck_assert_int_eq(sim.cuMemPoolDestroy(created), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemPoolDestroy(created), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemPoolTrimTo(created, 0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(sim.oracle_reserved_bytes(0), CHUNK);
    ck_assert_int_eq(sim.cuDeviceGetMemPool(&created, 0), CUDA_SUCCESS);
    ck_assert_ptr_eq(created, pool);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(sim.oracle_reserved_bytes(0), 0);
}
END_TEST

START_TEST(pools_of_other_places_are_refused_aloud)
{
    CUmemoryPool found;
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = host};
    start();
    ck_assert_int_eq(sim.cuMemPoolCreate(&found, &props), CUDA_ERROR_NOT_SUPPORTED);
    props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 1};
    ck_assert_int_eq(sim.cuMemPoolCreate(&found, &props), CUDA_ERROR_INVALID_DEVICE);
    ck_assert_int_eq(
        sim.cuMemGetDefaultMemPool(&found, &host, CU_MEM_ALLOCATION_TYPE_PINNED),
        CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuMemGetMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_MANAGED),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuMemGetMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_PINNED),
                     CUDA_SUCCESS);
    ck_assert_ptr_eq(found, pool);
    CUmemoryPool created = create(0);
    ck_assert_int_eq(sim.cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, created),
                     CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuMemGetDefaultMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_PINNED),
        CUDA_SUCCESS);
    ck_assert_ptr_eq(found, pool);
}
END_TEST

SUITE_MAIN("simcuda/pools", a_pool_grows_by_chunks_and_counts_whole_units,
           where_little_is_left_a_pool_takes_that,
           idle_chunks_go_back_at_each_kind_of_synchronisation,
           what_is_below_the_threshold_stays_until_it_is_trimmed,
           marks_can_only_be_lowered_and_counters_not_set,
           memory_is_free_when_its_stream_comes_to_it,
           a_stream_gets_back_at_once_what_was_freed_in_it,
           linear_memory_may_be_freed_in_a_stream,
           what_is_freed_is_free_even_after_an_error,
           idle_chunks_go_back_before_other_memory_is_refused,
           a_pool_of_the_programs_has_its_own_limit,
           a_destroyed_pool_ends_with_its_last_memory,
           pools_of_other_places_are_refused_aloud)

/* Stream-ordered memory on a driver that has pools: the pool that serves a request is charged,
   on its own device, with what it has reserved, for as long as it has it. */
#include "tests/accounts_fixture.h"
#include "tests/sim_kernels.h"

enum { CHUNK = 32 * MIB }; /* what a pool grows by */

static CUmemoryPool make_pool(CUdevice device)
{
    CUmemoryPool pool;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    ck_assert_int_eq(sim.cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
    return pool;
}

static void keep_all(CUmemoryPool pool)
{
    cuuint64_t threshold = UINT64_MAX;
    ck_assert_int_eq(
        sim.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
        CUDA_SUCCESS);
}

static CUdeviceptr take(size_t bytes, CUstream stream)
{
    CUdeviceptr address = 0;
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, bytes, stream), CUDA_SUCCESS);
    return address;
}

static CUdeviceptr take_from(CUmemoryPool pool, size_t bytes)
{
    CUdeviceptr address = 0;
    ck_assert_int_eq(sim.cuMemAllocFromPoolAsync(&address, bytes, pool, NULL),
                     CUDA_SUCCESS);
    return address;
}

static void give(CUdeviceptr address)
{
    ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
}

START_TEST(a_request_is_charged_as_its_pool_grows)
{
    accounts_start();
    CUdeviceptr first = take(1000, NULL), second = take(1000, NULL);
    ordered_bytes[0] = 2000;
    charged_is(CHUNK);
    give(first);
    ordered_bytes[0] = 1000;
    charged_is(CHUNK);
    ck_assert_int_eq(sim.cuMemFree_v2(second), CUDA_SUCCESS);
    ordered_bytes[0] = 0;
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    charged_is(0);
}
END_TEST

START_TEST(the_pool_that_serves_is_charged_whichever_it_is)
{
    accounts_start();
    CUmemoryPool pool = make_pool(0);
    CUdeviceptr named = take_from(pool, 1000);
    ordered_bytes[0] = 1000;
    charged_is(CHUNK);
    ck_assert_int_eq(sim.cuDeviceSetMemPool(0, pool), CUDA_SUCCESS);
    CUdeviceptr current = take(1000, NULL);
    ordered_bytes[0] = 2000;
    charged_is(CHUNK);
    give(named);
    give(current);
    ordered_bytes[0] = 0;
    charged_is(0);
}
END_TEST

START_TEST(the_device_of_the_stream_is_charged)
{
    CUcontext first, second;
    CUstream stream;
    sim_start("1GiB", "2");
    ck_assert_int_eq(sim.cuCtxCreate_v2(&first, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&second, 0, 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSetCurrent(first), CUDA_SUCCESS);
    take(1000, stream);
    charged_is(0);
    ck_assert_int_eq(sim.cuCtxSetCurrent(second), CUDA_SUCCESS);
    ordered_bytes[1] = 1000;
    charged_is(CHUNK);
}
END_TEST

START_TEST(stream_ordered_memory_outlives_its_context)
{
    CUcontext context = accounts_start();
    CUdeviceptr address = take(1000, NULL);
    sim_allocate(77);
    ordered_bytes[0] = 1000;
    charged_is(CHUNK + 77);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    charged_is(CHUNK);
    give(address);
    ordered_bytes[0] = 0;
    charged_is(0);
}
END_TEST

START_TEST(idle_memory_of_pools_makes_room)
{
    CUmemoryPool pool;
    CUdeviceptr refused = UNTOUCHED;
    accounts_start();
    ck_assert_int_eq(sim.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    keep_all(pool);
    give(take(1000, NULL));
    charged_is(CHUNK);
    CUdeviceptr all = sim_allocate(CEILING);
    charged_is(CEILING);
    ck_assert_int_eq(sim.cuMemFree_v2(all), CUDA_SUCCESS);
    /* What is in use makes none. */
    take(1000, NULL);
    ordered_bytes[0] = 1000;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&refused, CEILING - CHUNK + 1),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(refused, UNTOUCHED);
    sim_allocate(CEILING - CHUNK);
    charged_is(CEILING);
}
END_TEST

START_TEST(idle_memory_of_one_pool_makes_room_for_another)
{
    accounts_start();
    CUmemoryPool one = make_pool(0), other = make_pool(0);
    keep_all(one);
    give(take_from(one, 2 * CHUNK));
    charged_is(CEILING);
    take_from(other, 2 * CHUNK);
    ordered_bytes[0] = 2 * CHUNK;
    charged_is(CEILING);
}
END_TEST

/* 33 MiB would fit the ceiling, 64 do not fit beside 8. */
START_TEST(a_pool_that_must_grow_too_far_is_refused_and_left_as_it_was)
{
    CUdeviceptr address = UNTOUCHED;
    accounts_start();
    sim_allocate(8 * MIB);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, CHUNK + MIB, NULL),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    charged_is(8 * MIB);
    take(CHUNK, NULL);
    ordered_bytes[0] = CHUNK;
    charged_is(8 * MIB + CHUNK);
}
END_TEST

/* Its stream has not come to the free yet. */
START_TEST(what_a_refused_request_left_in_a_pool_leaves_no_room_for_others)
{
    CUdeviceptr address = UNTOUCHED;
    setenv("SIMCUDA_KERNELS", "skip", 1);
    accounts_start();
    const struct sim_kernels kernels = sim_load_kernels();
    CUstream stream = sim_stream(CU_STREAM_NON_BLOCKING);
    sim_allocate(CEILING - CHUNK + 1);
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuMemAllocAsync(&address, 1, stream), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(sim.oracle_reserved_bytes(0), CHUNK);
    ck_assert_uint_eq(charged_bytes(), CEILING);
    ck_assert_int_eq(sim.cuMemAlloc_v2(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address, UNTOUCHED);
    ck_assert_int_ne(sim.release(1), 0);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    charged_is(CEILING - CHUNK + 1);
    sim_allocate(CHUNK - 1);
    charged_is(CEILING);
}
END_TEST

START_TEST(what_was_given_up_unseen_need_not_be_asked_for)
{
    accounts_start();
    CUdeviceptr address = take(CEILING, NULL);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    /* Nobody has told us. */
    sim_allocate(CEILING);
    charged_is(CEILING);
}
END_TEST

START_TEST(a_pool_that_has_ended_is_charged_until_its_memory_is_free)
{
    accounts_start();
    CUmemoryPool pool = make_pool(0);
    CUdeviceptr first = take_from(pool, 1000), second = take_from(pool, 1000);
    ordered_bytes[0] = 2000;
    ck_assert_int_eq(sim.cuMemPoolDestroy(pool), CUDA_SUCCESS);
    charged_is(CHUNK);
    give(first);
    ordered_bytes[0] = 1000;
    charged_is(CHUNK);
    give(second);
    ordered_bytes[0] = 0;
    charged_is(0);
    ck_assert_int_eq(sim.cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
    charged_is(0);
}
END_TEST

START_TEST(what_is_taken_while_a_stream_is_captured_is_charged_afterwards)
{
    CUstream captured, other;
    CUgraph graph;
    size_t left;
    accounts_start();
    ck_assert_int_eq(sim.cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ck_assert_int_eq(
        sim.cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED),
        CUDA_SUCCESS);
    uint64_t asked = sim.oracle_calls("cuMemPoolGetAttribute");
    take(1000, other);
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&left, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(left, CEILING);
    ck_assert_uint_eq(sim.oracle_calls("cuMemPoolGetAttribute"), asked);
    ck_assert_int_eq(sim.cuStreamEndCapture(captured, &graph), CUDA_SUCCESS);
    CUdeviceptr address = take(1000, other);
    ordered_bytes[0] = 2000;
    charged_is(CHUNK);
    ck_assert_int_eq(sim.cuMemFreeAsync(address, other), CUDA_SUCCESS);
}
END_TEST

SUITE_MAIN("preload/pools", a_request_is_charged_as_its_pool_grows,
           the_pool_that_serves_is_charged_whichever_it_is,
           the_device_of_the_stream_is_charged,
           stream_ordered_memory_outlives_its_context, idle_memory_of_pools_makes_room,
           idle_memory_of_one_pool_makes_room_for_another,
           a_pool_that_must_grow_too_far_is_refused_and_left_as_it_was,
           what_a_refused_request_left_in_a_pool_leaves_no_room_for_others,
           what_was_given_up_unseen_need_not_be_asked_for,
           a_pool_that_has_ended_is_charged_until_its_memory_is_free,
           what_is_taken_while_a_stream_is_captured_is_charged_afterwards)

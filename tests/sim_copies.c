/* Data put into the simulated device comes out again, by every form of copy, and no copy
   leaves the block it is in. */
#include "tests/sim_driver.h"

#include <stdint.h>

enum { BYTES = 1000 };

static unsigned char sent[BYTES];
static unsigned char back[BYTES];

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(seed + i * 7);
}

/* Sends new data by one form, fetches it by another, and finds it whole. */
#define ROUND_TRIP(seed, upload, download)                                               \
    do {                                                                                 \
        fill(sent, BYTES, seed);                                                         \
        ck_assert_int_eq(upload, CUDA_SUCCESS);                                          \
        ck_assert_int_eq(download, CUDA_SUCCESS);                                        \
        ck_assert_mem_eq(sent, back, BYTES);                                             \
    } while (0)

START_TEST(every_form_of_linear_copy_carries_the_bytes)
{
    CUcontext context = sim_start_context("1MiB");
    CUdeviceptr a = sim_allocate(BYTES);
    CUdeviceptr b = sim_allocate(BYTES);
    CUdeviceptr host_sent = (uintptr_t)sent;
    CUdeviceptr host_back = (uintptr_t)back;
    CUstream stream;
    ck_assert_int_eq(sim.cuStreamCreate(&stream, 0), CUDA_SUCCESS);
    ROUND_TRIP(1, sim.cuMemcpyHtoD_v2(a, sent, BYTES),
               sim.cuMemcpyDtoH_v2(back, a, BYTES));
    ROUND_TRIP(2, sim.cuMemcpyHtoD_v2_ptds(a, sent, BYTES),
               sim.cuMemcpyDtoH_v2_ptds(back, a, BYTES));
    ROUND_TRIP(3, sim.cuMemcpyHtoDAsync_v2(a, sent, BYTES, stream),
               sim.cuMemcpyDtoHAsync_v2(back, a, BYTES, stream));
    ROUND_TRIP(4, sim.cuMemcpyHtoDAsync_v2_ptsz(a, sent, BYTES, NULL),
               sim.cuMemcpyDtoHAsync_v2_ptsz(back, a, BYTES, NULL));
    ROUND_TRIP(5, sim.cuMemcpy(a, host_sent, BYTES),
               sim.cuMemcpy_ptds(host_back, a, BYTES));
    ROUND_TRIP(6, sim.cuMemcpyAsync(a, host_sent, BYTES, stream),
               sim.cuMemcpyAsync_ptsz(host_back, a, BYTES, NULL));
    ck_assert_int_eq(sim.cuMemcpyDtoD_v2(b, a, BYTES), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, b, BYTES), CUDA_SUCCESS);
    ck_assert_mem_eq(sent, back, BYTES);
    ROUND_TRIP(7, sim.cuMemcpyHtoD_v2(a, sent, BYTES),
               sim.cuMemcpyDtoDAsync_v2(b, a, BYTES, stream) +
                   sim.cuMemcpyDtoH_v2(back, b, BYTES));
    ROUND_TRIP(8, sim.cuMemcpyHtoD_v2(a, sent, BYTES),
               sim.cuMemcpyPeer(b, context, a, context, BYTES) +
                   sim.cuMemcpyDtoH_v2(back, b, BYTES));
}
END_TEST

START_TEST(a_copy_past_the_end_of_a_block_is_invalid_and_moves_nothing)
{
    sim_start_context("1MiB");
    CUdeviceptr a = sim_allocate(BYTES);
    CUdeviceptr b = sim_allocate(BYTES);
    unsigned char large[BYTES + 1] = {0};
    fill(sent, BYTES, 3);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(a, sent, BYTES), CUDA_SUCCESS);
    memset(back, 9, BYTES);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, a + 1, BYTES), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(back[0], 9);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(a, large, BYTES + 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpyDtoD_v2(b, a + 1, BYTES), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpy(b + 1, a, BYTES), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2((uintptr_t)back, sent, 1),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(a, NULL, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyHtoD_v2(a, sent, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemFree_v2(a), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, a, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemcpyHtoDAsync_v2(b, sent, 1, (CUstream)large),
                     CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(a_rectangle_lands_where_pitch_and_offset_say)
{
    sim_start_context("1MiB");
    CUdeviceptr address;
    size_t pitch;
    ck_assert_int_eq(sim.cuMemAllocPitch_v2(&address, &pitch, 20, 10, 4), CUDA_SUCCESS);
    fill(sent, BYTES, 5);
    CUDA_MEMCPY2D_v2 up = {
        .srcXInBytes = 3,
        .srcY = 2,
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = sent,
        .srcPitch = 30,
        .dstXInBytes = 4,
        .dstY = 1,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = address,
        .dstPitch = pitch,
        .WidthInBytes = 16,
        .Height = 9,
    };
    ck_assert_int_eq(sim.cuMemcpy2D_v2(&up), CUDA_SUCCESS);
    for (size_t y = 0; y < 9; y++) {
        CUdeviceptr row = address + (1 + y) * pitch + 4;
        ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, row, 16), CUDA_SUCCESS);
        ck_assert_mem_eq(back, sent + (2 + y) * 30 + 3, 16);
    }
    CUDA_MEMCPY2D_v2 down = {
        .srcXInBytes = 4,
        .srcY = 1,
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = address,
        .srcPitch = pitch,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = back,
        .dstPitch = 16,
        .WidthInBytes = 16,
        .Height = 9,
    };
    ck_assert_int_eq(sim.cuMemcpy2DAsync_v2_ptsz(&down, NULL), CUDA_SUCCESS);
    for (size_t y = 0; y < 9; y++)
        ck_assert_mem_eq(back + y * 16, sent + (2 + y) * 30 + 3, 16);
    up.Height = 10;
    ck_assert_int_eq(sim.cuMemcpy2DUnaligned_v2(&up), CUDA_ERROR_INVALID_VALUE);
    up.Height = 9;
    up.srcPitch = 18;
    ck_assert_int_eq(sim.cuMemcpy2D_v2(&up), CUDA_ERROR_INVALID_VALUE);
    up.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    ck_assert_int_eq(sim.cuMemcpy2D_v2(&up), CUDA_ERROR_NOT_SUPPORTED);
    down.srcY = SIZE_MAX;
    ck_assert_int_eq(sim.cuMemcpy2D_v2_ptds(&down), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_box_lands_slice_by_slice)
{
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(4 * 5 * 6);
    fill(sent, BYTES, 11);
    CUDA_MEMCPY3D_v2 up = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = sent,
        .srcPitch = 4,
        .srcHeight = 3,
        .dstXInBytes = 1,
        .dstY = 2,
        .dstZ = 4,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = address,
        .dstPitch = 4,
        .dstHeight = 5,
        .WidthInBytes = 3,
        .Height = 3,
        .Depth = 2,
    };
    ck_assert_int_eq(sim.cuMemcpy3D_v2(&up), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(back, address, 4 * 5 * 6), CUDA_SUCCESS);
    for (size_t z = 0; z < 2; z++)
        for (size_t y = 0; y < 3; y++)
            ck_assert_mem_eq(back + ((4 + z) * 5 + 2 + y) * 4 + 1, sent + (z * 3 + y) * 4,
                             3);
    up.dstZ = 5;
    ck_assert_int_eq(sim.cuMemcpy3DAsync_v2(&up, NULL), CUDA_ERROR_INVALID_VALUE);
    up.dstLOD = 1;
    ck_assert_int_eq(sim.cuMemcpy3D_v2_ptds(&up), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(fills_write_values_of_every_width)
{
    sim_start_context("1MiB");
    CUdeviceptr address = sim_allocate(64);
    unsigned words[16];
    ck_assert_int_eq(sim.cuMemsetD8_v2(address, 0xab, 64), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD16Async(address + 4, 0x1234, 2, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD32_v2_ptds(address + 8, 0x89abcdef, 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemsetD2D32_v2(address + 16, 16, 7, 2, 3), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuMemcpyDtoH_v2(words, address, sizeof words), CUDA_SUCCESS);
    const unsigned expected[16] = {
        0xabababab, 0x12341234, 0x89abcdef, 0xabababab, 7, 7, 0xabababab, 0xabababab,
        7,          7,          0xabababab, 0xabababab, 7, 7, 0xabababab, 0xabababab,
    };
    ck_assert_mem_eq(words, expected, sizeof words);
    ck_assert_int_eq(sim.cuMemsetD8_v2(address + 1, 0, 64), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemsetD32_v2(address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemsetD2D8Async(address, 8, 0, 9, 2, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemsetD2D16Async_ptsz(address, 32, 0, 16, 3, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuMemsetD32Async(address, 0, SIZE_MAX / 2, NULL),
                     CUDA_ERROR_INVALID_VALUE);
}
END_TEST

SUITE_MAIN("simcuda/copies", every_form_of_linear_copy_carries_the_bytes,
           a_copy_past_the_end_of_a_block_is_invalid_and_moves_nothing,
           a_rectangle_lands_where_pitch_and_offset_say, a_box_lands_slice_by_slice,
           fills_write_values_of_every_width)

/* Fills of device memory with a value of 8, 16 or 32 bits. */
#include "tools/simcuda/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "policy/checked.h"
#include "tools/simcuda/block.h"
#include "tools/simcuda/stream.h"

/* `height` rows of `width` values, `pitch_bytes` apart. */
struct area {
    CUdeviceptr address;
    size_t pitch_bytes;
    size_t width;
    size_t height;
};

/* Whether the area can be filled with values of `value_bytes`: within one block, aligned. */
static bool is_fillable(const struct area *area, size_t value_bytes, uint64_t *row_bytes)
{
    uint64_t span;
    if (area->address % value_bytes != 0 ||
        !policy_checked_multiply(area->width, value_bytes, row_bytes))
        return false;
    if (area->height > 1 &&
        (area->pitch_bytes % value_bytes != 0 || *row_bytes > area->pitch_bytes))
        return false;
    return policy_checked_multiply(area->height - 1, area->pitch_bytes, &span) &&
           policy_checked_add(span, *row_bytes, &span) &&
           sim_block_covers(area->address, span);
}

static CUresult fill(struct area area, const void *value, size_t value_bytes)
{
    uint64_t row_bytes;
    if (area.width == 0 || area.height == 0)
        return CUDA_SUCCESS;
    if (!is_fillable(&area, value_bytes, &row_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t y = 0; y < area.height; y++) {
        char *row = (char *)(uintptr_t)(area.address + y * area.pitch_bytes);
        for (size_t x = 0; x < row_bytes; x += value_bytes)
            memcpy(row + x, value, value_bytes);
    }
    return CUDA_SUCCESS;
}

CUresult sim_fill_rows_8(CUdeviceptr address, size_t pitch, unsigned char value,
                         size_t width, size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value);
}

CUresult sim_fill_rows_16(CUdeviceptr address, size_t pitch, unsigned short value,
                          size_t width, size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value);
}

CUresult sim_fill_rows_32(CUdeviceptr address, size_t pitch, unsigned value, size_t width,
                          size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value);
}

CUresult sim_fill_8(CUdeviceptr address, unsigned char value, size_t count)
{
    return sim_fill_rows_8(address, 0, value, count, 1);
}

CUresult sim_fill_16(CUdeviceptr address, unsigned short value, size_t count)
{
    return sim_fill_rows_16(address, 0, value, count, 1);
}

CUresult sim_fill_32(CUdeviceptr address, unsigned value, size_t count)
{
    return sim_fill_rows_32(address, 0, value, count, 1);
}

CUresult sim_fill_rows_8_async(CUdeviceptr address, size_t pitch, unsigned char value,
                               size_t width, size_t height, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_fill_rows_8(address, pitch, value, width, height)
                                  : result;
}

CUresult sim_fill_rows_16_async(CUdeviceptr address, size_t pitch, unsigned short value,
                                size_t width, size_t height, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_fill_rows_16(address, pitch, value, width, height)
                                  : result;
}

CUresult sim_fill_rows_32_async(CUdeviceptr address, size_t pitch, unsigned value,
                                size_t width, size_t height, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_fill_rows_32(address, pitch, value, width, height)
                                  : result;
}

CUresult sim_fill_8_async(CUdeviceptr address, unsigned char value, size_t count,
                          CUstream stream)
{
    return sim_fill_rows_8_async(address, 0, value, count, 1, stream);
}

CUresult sim_fill_16_async(CUdeviceptr address, unsigned short value, size_t count,
                           CUstream stream)
{
    return sim_fill_rows_16_async(address, 0, value, count, 1, stream);
}

CUresult sim_fill_32_async(CUdeviceptr address, unsigned value, size_t count,
                           CUstream stream)
{
    return sim_fill_rows_32_async(address, 0, value, count, 1, stream);
}

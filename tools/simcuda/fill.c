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

/* Fills of memory that the host sees are waited for, unless a stream was asked for them. */
static bool is_seen_by_host(CUdeviceptr address)
{
    const struct sim_block *block = sim_block_find(address);
    return block != NULL && block->memory != SIM_DEVICE;
}

static CUresult fill(struct area area, const void *value, size_t value_bytes,
                     CUstream stream, bool is_call)
{
    uint64_t row_bytes;
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS || area.width == 0 || area.height == 0)
        return result;
    if (!is_fillable(&area, value_bytes, &row_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_op op = {.kind = SIM_OP_FILL,
                        .fill = {.address = area.address,
                                 .pitch_bytes = area.pitch_bytes,
                                 .row_bytes = row_bytes,
                                 .height = area.height,
                                 .value_bytes = (unsigned)value_bytes}};
    memcpy(op.fill.value, value, value_bytes);
    if (is_call)
        result = sim_stream_forbid_capture();
    if (result != CUDA_SUCCESS)
        return result;
    return sim_stream_run(stream, &op, is_call && is_seen_by_host(area.address));
}

CUresult sim_fill_rows_8(CUdeviceptr address, size_t pitch, unsigned char value,
                         size_t width, size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value, NULL,
                true);
}

CUresult sim_fill_rows_16(CUdeviceptr address, size_t pitch, unsigned short value,
                          size_t width, size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value, NULL,
                true);
}

CUresult sim_fill_rows_32(CUdeviceptr address, size_t pitch, unsigned value, size_t width,
                          size_t height)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value, NULL,
                true);
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
    return fill((struct area){address, pitch, width, height}, &value, sizeof value,
                stream, false);
}

CUresult sim_fill_rows_16_async(CUdeviceptr address, size_t pitch, unsigned short value,
                                size_t width, size_t height, CUstream stream)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value,
                stream, false);
}

CUresult sim_fill_rows_32_async(CUdeviceptr address, size_t pitch, unsigned value,
                                size_t width, size_t height, CUstream stream)
{
    return fill((struct area){address, pitch, width, height}, &value, sizeof value,
                stream, false);
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

/* Copies of rectangles and boxes between linear memory, row by row. Arrays are not
   simulated. */
#include "tools/simcuda/copy.h"

#include <stdbool.h>
#include <stddef.h>

#include "policy/checked.h"
#include "tools/simcuda/block.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/stream.h"

struct extent {
    size_t width_bytes;
    size_t height;
    size_t depth;
};

/* One side of a copy, as a program describes it. */
struct side {
    CUmemorytype type;
    uint64_t host;
    CUdeviceptr device;
    size_t x_bytes;
    size_t y;
    size_t z;
    size_t pitch_bytes;
    size_t slice_rows;
    size_t level; /* of a mipmap: arrays only */
};

/* *total += a * b */
static bool add_product(uint64_t a, uint64_t b, uint64_t *total)
{
    uint64_t product;
    return policy_checked_multiply(a, b, &product) &&
           policy_checked_add(*total, product, total);
}

/* From the first byte that is touched to the last. */
static bool measure(const struct side *side, struct extent extent, uint64_t slice_bytes,
                    uint64_t *offset, uint64_t *span)
{
    *offset = side->x_bytes;
    *span = extent.width_bytes;
    return add_product(side->y, side->pitch_bytes, offset) &&
           add_product(side->z, slice_bytes, offset) &&
           add_product(extent.height - 1, side->pitch_bytes, span) &&
           add_product(extent.depth - 1, slice_bytes, span);
}

/* Rows must not run into each other, nor slices; a single one has nothing to run into. */
static bool is_laid_out(const struct side *side, struct extent extent)
{
    uint64_t row_end;
    uint64_t slice_end;
    if (!policy_checked_add(side->x_bytes, extent.width_bytes, &row_end) ||
        !policy_checked_add(side->y, extent.height, &slice_end))
        return false;
    return (extent.height == 1 || row_end <= side->pitch_bytes) &&
           (extent.depth == 1 || slice_end <= side->slice_rows);
}

/* Device memory must be all in one block; host memory only where it begins in one. */
static CUresult resolve(const struct side *side, struct extent extent,
                        struct sim_walk *walk)
{
    uint64_t slice_bytes;
    uint64_t offset;
    uint64_t span;
    if (side->type == CU_MEMORYTYPE_ARRAY || side->level != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (side->type < CU_MEMORYTYPE_HOST || side->type > CU_MEMORYTYPE_UNIFIED ||
        !is_laid_out(side, extent) ||
        !policy_checked_multiply(side->pitch_bytes, side->slice_rows, &slice_bytes) ||
        !measure(side, extent, slice_bytes, &offset, &span))
        return CUDA_ERROR_INVALID_VALUE;

    uint64_t base = side->type == CU_MEMORYTYPE_HOST ? side->host : side->device;
    uint64_t first;
    if (base == 0 || !policy_checked_add(base, offset, &first))
        return CUDA_ERROR_INVALID_VALUE;
    bool known = side->type == CU_MEMORYTYPE_DEVICE || sim_block_find(base) != NULL;
    if (known && !sim_block_covers(first, span))
        return CUDA_ERROR_INVALID_VALUE;
    *walk = (struct sim_walk){
        .first = first, .row_bytes = side->pitch_bytes, .slice_bytes = slice_bytes};
    return CUDA_SUCCESS;
}

static CUresult copy_box(const struct side *to, const struct side *from,
                         struct extent extent, CUstream stream, enum sim_copy_form form)
{
    struct sim_copy copy = {.width_bytes = extent.width_bytes,
                            .height = extent.height,
                            .depth = extent.depth};
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS || extent.width_bytes == 0 || extent.height == 0 ||
        extent.depth == 0)
        return result;
    result = resolve(to, extent, &copy.to);
    if (result == CUDA_SUCCESS)
        result = resolve(from, extent, &copy.from);
    return result == CUDA_SUCCESS ? sim_copy_run(&copy, stream, form) : result;
}

static CUresult copy_2d(const CUDA_MEMCPY2D_v2 *copy, CUstream stream,
                        enum sim_copy_form form)
{
    if (copy == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct side to = {
        .type = copy->dstMemoryType,
        .host = (uintptr_t)copy->dstHost,
        .device = copy->dstDevice,
        .x_bytes = copy->dstXInBytes,
        .y = copy->dstY,
        .pitch_bytes = copy->dstPitch,
    };
    struct side from = {
        .type = copy->srcMemoryType,
        .host = (uintptr_t)copy->srcHost,
        .device = copy->srcDevice,
        .x_bytes = copy->srcXInBytes,
        .y = copy->srcY,
        .pitch_bytes = copy->srcPitch,
    };
    return copy_box(&to, &from, (struct extent){copy->WidthInBytes, copy->Height, 1},
                    stream, form);
}

static CUresult copy_3d(const CUDA_MEMCPY3D_v2 *copy, CUstream stream,
                        enum sim_copy_form form)
{
    if (copy == NULL || copy->reserved0 != NULL || copy->reserved1 != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct side to = {
        .type = copy->dstMemoryType,
        .host = (uintptr_t)copy->dstHost,
        .device = copy->dstDevice,
        .x_bytes = copy->dstXInBytes,
        .y = copy->dstY,
        .z = copy->dstZ,
        .pitch_bytes = copy->dstPitch,
        .slice_rows = copy->dstHeight,
        .level = copy->dstLOD,
    };
    struct side from = {
        .type = copy->srcMemoryType,
        .host = (uintptr_t)copy->srcHost,
        .device = copy->srcDevice,
        .x_bytes = copy->srcXInBytes,
        .y = copy->srcY,
        .z = copy->srcZ,
        .pitch_bytes = copy->srcPitch,
        .slice_rows = copy->srcHeight,
        .level = copy->srcLOD,
    };
    return copy_box(&to, &from,
                    (struct extent){copy->WidthInBytes, copy->Height, copy->Depth},
                    stream, form);
}

CUresult sim_copy_2d(const CUDA_MEMCPY2D_v2 *copy)
{
    return copy_2d(copy, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_3d(const CUDA_MEMCPY3D_v2 *copy)
{
    return copy_3d(copy, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_2d_async(const CUDA_MEMCPY2D_v2 *copy, CUstream stream)
{
    return copy_2d(copy, stream, SIM_COPY_ASYNC);
}

CUresult sim_copy_3d_async(const CUDA_MEMCPY3D_v2 *copy, CUstream stream)
{
    return copy_3d(copy, stream, SIM_COPY_ASYNC);
}

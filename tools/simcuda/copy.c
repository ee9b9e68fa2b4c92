/* Copies of one range. A device range must lie within one live block; so must a range of
   unknown kind that begins in one. Streams copy at once: work is never pending. */
#include "tools/simcuda/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tools/simcuda/block.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/stream.h"

static CUresult move(void *to, const void *from, size_t bytes, bool ranges_valid)
{
    if (!ranges_valid)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > 0)
        memmove(to, from, bytes);
    return CUDA_SUCCESS;
}

static void *pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

/* Memory that the driver knows is checked; pageable memory it takes on trust. */
static bool is_usable(CUdeviceptr address, size_t bytes)
{
    if (sim_block_find(address) != NULL)
        return sim_block_covers(address, bytes);
    return address != 0 || bytes == 0;
}

CUresult sim_copy_any(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return move(pointer(to), pointer(from), bytes,
                is_usable(to, bytes) && is_usable(from, bytes));
}

CUresult sim_copy_upload(CUdeviceptr to, const void *from, size_t bytes)
{
    return move(pointer(to), from, bytes,
                sim_block_covers(to, bytes) && is_usable((uintptr_t)from, bytes));
}

CUresult sim_copy_download(void *to, CUdeviceptr from, size_t bytes)
{
    return move(to, pointer(from), bytes,
                is_usable((uintptr_t)to, bytes) && sim_block_covers(from, bytes));
}

CUresult sim_copy_device(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return move(pointer(to), pointer(from), bytes,
                sim_block_covers(to, bytes) && sim_block_covers(from, bytes));
}

CUresult sim_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                       CUcontext from_context, size_t bytes)
{
    CUresult result = sim_context_check(to_context);
    if (result == CUDA_SUCCESS)
        result = sim_context_check(from_context);
    return result == CUDA_SUCCESS ? sim_copy_device(to, from, bytes) : result;
}

CUresult sim_copy_any_async(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_copy_any(to, from, bytes) : result;
}

CUresult sim_copy_upload_async(CUdeviceptr to, const void *from, size_t bytes,
                               CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_copy_upload(to, from, bytes) : result;
}

CUresult sim_copy_download_async(void *to, CUdeviceptr from, size_t bytes,
                                 CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_copy_download(to, from, bytes) : result;
}

CUresult sim_copy_device_async(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                               CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS ? sim_copy_device(to, from, bytes) : result;
}

CUresult sim_copy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                             CUcontext from_context, size_t bytes, CUstream stream)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS
               ? sim_copy_peer(to, to_context, from, from_context, bytes)
               : result;
}

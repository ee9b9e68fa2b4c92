/* Copies of one range. A device range must lie within one live block; so must a range of
   unknown kind that begins in one. */
#include "tools/simcuda/copy.h"

#include <stdbool.h>
#include <stddef.h>

#include "tools/simcuda/block.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/stream.h"

enum place { PAGEABLE, PAGE_LOCKED, ON_DEVICE };

static enum place place_of(uint64_t address)
{
    const struct sim_block *block = sim_block_find(address);
    if (block == NULL)
        return PAGEABLE;
    return block->memory == SIM_PINNED || block->memory == SIM_REGISTERED ? PAGE_LOCKED
                                                                          : ON_DEVICE;
}

CUresult sim_copy_run(struct sim_copy *copy, CUstream stream, enum sim_copy_form form)
{
    enum place to = place_of(copy->to.first);
    enum place from = place_of(copy->from.first);
    struct sim_op op = {.kind = SIM_OP_COPY};
    bool wait = to != ON_DEVICE && from != ON_DEVICE;
    if (from == ON_DEVICE && to != ON_DEVICE)
        wait = to == PAGEABLE || form == SIM_COPY_CALL;
    if (from == PAGE_LOCKED && to == ON_DEVICE)
        wait = form == SIM_COPY_CALL;
    copy->to.known = to != PAGEABLE;
    copy->from.known = from != PAGEABLE;
    copy->staged = from == PAGEABLE && !wait;
    op.copy = *copy;
    CUresult result = CUDA_SUCCESS;
    if (form == SIM_COPY_CALL)
        result = sim_stream_forbid_capture();
    if (result == CUDA_SUCCESS && copy->staged && form == SIM_COPY_CALL)
        result = sim_stream_synchronize(stream);
    return result == CUDA_SUCCESS ? sim_stream_run(stream, &op, wait) : result;
}

static CUresult move(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                     enum sim_copy_form form)
{
    struct sim_copy copy = {.to = {.first = to},
                            .from = {.first = from},
                            .width_bytes = bytes,
                            .height = 1,
                            .depth = 1};
    return bytes == 0 ? sim_stream_check(stream) : sim_copy_run(&copy, stream, form);
}

/* Memory that the driver knows is checked; pageable memory it takes on trust. */
static bool is_usable(CUdeviceptr address, size_t bytes)
{
    if (sim_block_find(address) != NULL)
        return sim_block_covers(address, bytes);
    return address != 0 || bytes == 0;
}

/* What is wrong with the stream is said before what is wrong with the ranges. */
static CUresult check(CUstream stream, bool ranges_valid)
{
    CUresult result = sim_stream_check(stream);
    return result == CUDA_SUCCESS && !ranges_valid ? CUDA_ERROR_INVALID_VALUE : result;
}

static CUresult copy_any(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                         enum sim_copy_form form)
{
    CUresult result = check(stream, is_usable(to, bytes) && is_usable(from, bytes));
    return result == CUDA_SUCCESS ? move(to, from, bytes, stream, form) : result;
}

static CUresult copy_upload(CUdeviceptr to, const void *from, size_t bytes,
                            CUstream stream, enum sim_copy_form form)
{
    CUdeviceptr source = (uintptr_t)from;
    CUresult result =
        check(stream, sim_block_covers(to, bytes) && is_usable(source, bytes));
    return result == CUDA_SUCCESS ? move(to, source, bytes, stream, form) : result;
}

static CUresult copy_download(void *to, CUdeviceptr from, size_t bytes, CUstream stream,
                              enum sim_copy_form form)
{
    CUdeviceptr target = (uintptr_t)to;
    CUresult result =
        check(stream, is_usable(target, bytes) && sim_block_covers(from, bytes));
    return result == CUDA_SUCCESS ? move(target, from, bytes, stream, form) : result;
}

static CUresult copy_device(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream, enum sim_copy_form form)
{
    CUresult result =
        check(stream, sim_block_covers(to, bytes) && sim_block_covers(from, bytes));
    return result == CUDA_SUCCESS ? move(to, from, bytes, stream, form) : result;
}

static CUresult check_peers(CUcontext to, CUcontext from)
{
    CUresult result = sim_context_check(to);
    return result == CUDA_SUCCESS ? sim_context_check(from) : result;
}

CUresult sim_copy_any(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_any(to, from, bytes, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_upload(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_upload(to, from, bytes, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_download(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_download(to, from, bytes, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_device(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_device(to, from, bytes, NULL, SIM_COPY_CALL);
}

CUresult sim_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                       CUcontext from_context, size_t bytes)
{
    CUresult result = check_peers(to_context, from_context);
    return result == CUDA_SUCCESS ? copy_device(to, from, bytes, NULL, SIM_COPY_CALL)
                                  : result;
}

CUresult sim_copy_any_async(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                            CUstream stream)
{
    return copy_any(to, from, bytes, stream, SIM_COPY_ASYNC);
}

CUresult sim_copy_upload_async(CUdeviceptr to, const void *from, size_t bytes,
                               CUstream stream)
{
    return copy_upload(to, from, bytes, stream, SIM_COPY_ASYNC);
}

CUresult sim_copy_download_async(void *to, CUdeviceptr from, size_t bytes,
                                 CUstream stream)
{
    return copy_download(to, from, bytes, stream, SIM_COPY_ASYNC);
}

CUresult sim_copy_device_async(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                               CUstream stream)
{
    return copy_device(to, from, bytes, stream, SIM_COPY_ASYNC);
}

CUresult sim_copy_peer_async(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                             CUcontext from_context, size_t bytes, CUstream stream)
{
    CUresult result = check_peers(to_context, from_context);
    return result == CUDA_SUCCESS ? copy_device(to, from, bytes, stream, SIM_COPY_ASYNC)
                                  : result;
}

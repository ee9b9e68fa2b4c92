/* What can be asked of a stream about its capture. */
#include "tools/simcuda/names.h"

#include <stddef.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/stream.h"

/* Asking about the default stream is no use of it: nothing is invalidated. */
static CUresult look(CUstream stream, const struct sim_capture **capture)
{
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    const struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (queue->kind == SIM_QUEUE_LEGACY && sim_capture_blocks_default(queue->context))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *capture = queue->capturing.capture;
    return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(const struct sim_capture *capture)
{
    if (capture == NULL)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult sim_capture_status(CUstream stream, CUstreamCaptureStatus *status)
{
    const struct sim_capture *capture;
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = look(stream, &capture);
    if (result == CUDA_SUCCESS)
        *status = status_of(capture);
    return result;
}

CUresult sim_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return sim_capture_info_v2(stream, status, id, NULL, NULL, NULL);
}

/* Nodes have no handles. */
CUresult sim_capture_info_v2(CUstream stream, CUstreamCaptureStatus *status,
                             cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *dependency_count)
{
    const struct sim_capture *capture;
    if (status == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (dependencies != NULL || dependency_count != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = look(stream, &capture);
    if (result != CUDA_SUCCESS)
        return result;
    *status = status_of(capture);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id != NULL)
        *id = capture->id;
    if (graph != NULL)
        *graph = capture->graph;
    return CUDA_SUCCESS;
}

CUresult sim_capture_info_v3(CUstream stream, CUstreamCaptureStatus *status,
                             cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies,
                             const struct CUgraphEdgeData_st **edges,
                             size_t *dependency_count)
{
    if (edges != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_capture_info_v2(stream, status, id, graph, dependencies, dependency_count);
}

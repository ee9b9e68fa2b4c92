/* What the tests of shim/driver_observe*.c share: a driver of which each call does as the test has
   set. Included once into a program. */
#ifndef TESTS_OBSERVE_FIXTURE_H
#define TESTS_OBSERVE_FIXTURE_H

#include "shim/driver_observe.h"

#include "shim/guard.h"
#include "shim/init.h"
#include "shim/retain.h"
#include "tests/suite.h"

static struct shim_driver fake;
static struct shim_settings settings;
static CUresult result; /* of what is looked at */
static CUcontext current;
static void (*meanwhile)(void); /* runs while the driver works */
static CUstreamCaptureStatus capture_status;

#define CONTEXT(number) ((CUcontext)(uintptr_t)(number))
#define STREAM(number)  ((CUstream)(uintptr_t)(number))

struct shim_driver *shim_driver_find(void)
{
    return &fake;
}

bool shim_recorder_watches_calls;

void shim_recorder_called(const char *symbol)
{
    ck_abort_msg("%s is no boundary here", symbol);
}

const struct shim_settings *shim_settings(void)
{
    return &settings;
}

uint64_t shim_retain_stamp(void)
{
    static _Atomic uint64_t clock;
    return 1 + atomic_fetch_add_explicit(&clock, 1, memory_order_acq_rel);
}

uint64_t shim_retain_seen(const struct shim_driver *driver, uint64_t address,
                          uint64_t *bytes)
{
    (void)driver;
    if (bytes)
        *bytes = 0;
    return address;
}

void shim_retain_synchronised(const struct shim_driver *driver, CUcontext context,
                              uint64_t stamp)
{
    (void)driver;
    (void)context;
    (void)stamp;
}

static inline CUresult work(void)
{
    ck_assert_int_eq(shim_guard_depth, 1);
    if (meanwhile)
        meanwhile();
    return result;
}

static inline CUresult get_current(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

/* Streams of a test belong to the context with a tenth of their number. */
static inline CUresult get_context(CUstream stream, CUcontext *context)
{
    *context = CONTEXT((uintptr_t)stream / 10);
    return CUDA_SUCCESS;
}

static inline CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = capture_status;
    return CUDA_SUCCESS;
}

/* Allocations of a test are of 0x100 bytes. */
static inline CUresult get_range(CUdeviceptr *start, size_t *bytes, CUdeviceptr address)
{
    *start = address & ~(CUdeviceptr)0xff;
    *bytes = 0x100;
    return CUDA_SUCCESS;
}

static inline CUresult on_context(CUcontext context)
{
    (void)context;
    return work();
}

static inline CUresult on_stream(CUstream stream)
{
    (void)stream;
    return work();
}

static inline CUresult on_capture(CUstream stream, CUstreamCaptureMode mode)
{
    (void)stream;
    (void)mode;
    return work();
}

static inline CUresult on_capture_to_graph(CUstream stream, CUgraph graph,
                                           const CUgraphNode *after,
                                           const CUgraphEdgeData *edges,
                                           size_t after_count, CUstreamCaptureMode mode)
{
    (void)stream;
    (void)graph;
    (void)after;
    (void)edges;
    (void)after_count;
    (void)mode;
    return work();
}

static inline CUresult on_end(CUstream stream, CUgraph *graph)
{
    (void)stream;
    (void)graph;
    return work();
}

static inline CUresult on_ipc(CUipcMemHandle *handle, CUdeviceptr address)
{
    (void)handle;
    (void)address;
    return work();
}

static inline CUresult on_range(void *handle, CUdeviceptr address, size_t bytes,
                                CUmemRangeHandleType type, unsigned long long flags)
{
    (void)handle;
    (void)address;
    (void)bytes;
    (void)type;
    (void)flags;
    return work();
}

static inline CUresult on_attribute(void *value, CUpointer_attribute attribute,
                                    CUdeviceptr address)
{
    (void)value;
    (void)attribute;
    (void)address;
    return work();
}

static inline CUresult on_attributes(unsigned count, CUpointer_attribute *attributes,
                                     void **values, CUdeviceptr address)
{
    (void)count;
    (void)attributes;
    (void)values;
    (void)address;
    return work();
}

static inline CUresult on_mark(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    (void)value;
    (void)attribute;
    (void)address;
    return work();
}

static inline void observe_setup(void)
{
    settings.options.enabled = true;
    current = CONTEXT(1);
    fake.call = (struct shim_driver_calls){
        .cuCtxGetCurrent = get_current,
        .cuCtxSynchronize = work,
        .cuCtxSynchronize_v2 = on_context,
        .cuIpcGetMemHandle = on_ipc,
        .cuMemGetAddressRange_v2 = get_range,
        .cuMemGetHandleForAddressRange = on_range,
        .cuPointerGetAttribute = on_attribute,
        .cuPointerGetAttributes = on_attributes,
        .cuPointerSetAttribute = on_mark,
        .cuStreamBeginCapture = on_stream,
        .cuStreamBeginCapture_ptsz = on_stream,
        .cuStreamBeginCapture_v2 = on_capture,
        .cuStreamBeginCapture_v2_ptsz = on_capture,
        .cuStreamBeginCaptureToGraph = on_capture_to_graph,
        .cuStreamBeginCaptureToGraph_ptsz = on_capture_to_graph,
        .cuStreamDestroy = on_stream,
        .cuStreamDestroy_v2 = on_stream,
        .cuStreamEndCapture = on_end,
        .cuStreamEndCapture_ptsz = on_end,
        .cuStreamGetCtx = get_context,
        .cuStreamIsCapturing = is_capturing,
        .cuStreamIsCapturing_ptsz = is_capturing,
    };
}

#endif

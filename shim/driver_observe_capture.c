/* Which streams are being captured. A capture counts from before the driver is asked to begin
   it, so that nobody takes the moment between for one without; it ends when the driver says so,
   when its stream is destroyed, or when its context has ended. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "shim/driver_observe.h"
#include "shim/hook.h"

/* Memory order
   [A] active counts up before the driver begins a capture and down after it was ended; it is a
       hint to others by nature, since a capture may begin after any look at it. The full order
       keeps the count before the driver's own work in every thread's view. It also keeps it
       before the look at `own`, and `own` before the look at it: of a capture that begins and a
       call of ours, one sees the other. [B] Figures. */

/* Every thread has a default stream of its own, under one handle. */
struct capture {
    CUstream stream;
    const void *thread; /* of a per-thread default stream, else NULL */
    CUcontext context;  /* NULL: not known */
    uint64_t begun;     /* a stamp, taken once the driver had begun it */
};

/* Under the lock. */
static struct capture captures[SHIM_OBSERVE_CAPTURES_MOST];
static unsigned capture_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The captures above, those that are about to begin, and those that found no place: of these
   nobody could tell the end, and one of them keeps us from calling the driver for ever. */
static _Atomic unsigned active;
static _Atomic unsigned own; /* calls of ours that a capture waits for */
static _Atomic uint64_t begun_count;

bool shim_observe_capturing(void)
{
    return atomic_load_explicit(&active, memory_order_seq_cst) > 0; /* A */
}

bool shim_observe_begin_own(void)
{
    atomic_fetch_add_explicit(&own, 1, memory_order_seq_cst); /* A */
    if (!shim_observe_capturing())
        return true;
    shim_observe_end_own();
    return false;
}

void shim_observe_end_own(void)
{
    atomic_fetch_sub_explicit(&own, 1, memory_order_seq_cst); /* A */
}

void shim_observe_forget_own(void)
{
    atomic_store_explicit(&own, 0, memory_order_seq_cst); /* A */
}

/* `per_thread`: by a function that takes NULL for the thread's own stream. */
static struct capture capture_of(CUstream stream, bool per_thread)
{
    bool is_own = stream == CU_STREAM_PER_THREAD || (!stream && per_thread);
    return (struct capture){
        .stream = is_own ? CU_STREAM_PER_THREAD : stream,
        .thread = is_own ? &shim_guard_depth : NULL,
    };
}

static CUcontext context_of(const struct shim_driver *driver,
                            const struct capture *capture)
{
    CUcontext context = NULL;
    if (!capture->thread && driver->call.cuStreamGetCtx &&
        driver->call.cuStreamGetCtx(capture->stream, &context) == CUDA_SUCCESS)
        return context;
    return shim_observe_current(driver);
}

static bool is_same(const struct capture *a, const struct capture *b)
{
    return a->stream == b->stream && a->thread == b->thread;
}

static void end_one(void)
{
    atomic_fetch_sub_explicit(&active, 1, memory_order_seq_cst); /* A */
}

static void remove_at(unsigned index)
{
    captures[index] = captures[--capture_count];
    end_one();
}

/* `stamp` was taken before the driver was asked: what began later is another capture, of a
   stream or a context with the same handle, or of the same stream. */
static void end(const struct capture *capture, uint64_t stamp)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = capture_count; i-- > 0;)
        if (is_same(&captures[i], capture) && captures[i].begun < stamp)
            remove_at(i);
    pthread_mutex_unlock(&lock);
}

void shim_capture_context_ended(CUcontext context, uint64_t stamp)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = capture_count; i-- > 0;)
        if (captures[i].context == context && captures[i].begun < stamp)
            remove_at(i);
    pthread_mutex_unlock(&lock);
}

static struct capture begin(const struct shim_driver *driver, CUstream stream,
                            bool per_thread)
{
    struct capture capture = capture_of(stream, per_thread);
    capture.context = context_of(driver, &capture);
    atomic_fetch_add_explicit(&active, 1, memory_order_seq_cst); /* A */
    while (atomic_load_explicit(&own, memory_order_seq_cst) > 0) /* A */
        sched_yield();
    return capture;
}

/* What the driver said to it. Another capture of the stream must have ended unseen. */
static void begun(struct capture *capture, CUresult result)
{
    if (result != CUDA_SUCCESS) {
        end_one();
        return;
    }
    atomic_fetch_add_explicit(&begun_count, 1, memory_order_relaxed); /* B */
    capture->begun = shim_observe_stamp();
    end(capture, capture->begun);
    pthread_mutex_lock(&lock);
    if (capture_count < SHIM_OBSERVE_CAPTURES_MOST)
        captures[capture_count++] = *capture;
    pthread_mutex_unlock(&lock);
}

typedef CUresult ask_function(CUstream stream, CUstreamCaptureStatus *status);

/* After an error the capture may be over or not; the driver knows. One that cannot be asked has
   ended it, except where it was not ours to end. */
static bool has_ended(ask_function *ask, CUstream stream, CUresult result)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (result == CUDA_SUCCESS)
        return true;
    if (ask && ask(stream, &status) == CUDA_SUCCESS)
        return status == CU_STREAM_CAPTURE_STATUS_NONE;
    return result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
           result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
}

CUresult cuStreamBeginCapture(CUstream stream)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCapture)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCapture(stream);
    struct capture capture = begin(driver, stream, false);
    CUresult result = driver->call.cuStreamBeginCapture(stream);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCapture_ptsz)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCapture_ptsz(stream);
    struct capture capture = begin(driver, stream, true);
    CUresult result = driver->call.cuStreamBeginCapture_ptsz(stream);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCapture_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCapture_v2(stream, mode);
    struct capture capture = begin(driver, stream, false);
    CUresult result = driver->call.cuStreamBeginCapture_v2(stream, mode);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCapture_v2_ptsz)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCapture_v2_ptsz(stream, mode);
    struct capture capture = begin(driver, stream, true);
    CUresult result = driver->call.cuStreamBeginCapture_v2_ptsz(stream, mode);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t after_count,
                                     CUstreamCaptureMode mode)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCaptureToGraph)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCaptureToGraph(stream, graph, after, edges,
                                                        after_count, mode);
    struct capture capture = begin(driver, stream, false);
    CUresult result = driver->call.cuStreamBeginCaptureToGraph(stream, graph, after,
                                                               edges, after_count, mode);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode *after,
                                          const CUgraphEdgeData *edges,
                                          size_t after_count, CUstreamCaptureMode mode)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamBeginCaptureToGraph_ptsz)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamBeginCaptureToGraph_ptsz(stream, graph, after, edges,
                                                             after_count, mode);
    struct capture capture = begin(driver, stream, true);
    CUresult result = driver->call.cuStreamBeginCaptureToGraph_ptsz(
        stream, graph, after, edges, after_count, mode);
    begun(&capture, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamEndCapture)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamEndCapture(stream, graph);
    struct capture capture = capture_of(stream, false);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuStreamEndCapture(stream, graph);
    if (has_ended(driver->call.cuStreamIsCapturing, stream, result))
        end(&capture, stamp);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamEndCapture_ptsz)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamEndCapture_ptsz(stream, graph);
    struct capture capture = capture_of(stream, true);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuStreamEndCapture_ptsz(stream, graph);
    if (has_ended(driver->call.cuStreamIsCapturing_ptsz, stream, result))
        end(&capture, stamp);
    return shim_hook_leave(driver, result);
}

/* With its stream a capture ends, and nobody will say so again. */
static void end_with_stream(CUstream stream, uint64_t stamp, CUresult result)
{
    struct capture capture = capture_of(stream, false);
    if (result == CUDA_SUCCESS && shim_observe_capturing())
        end(&capture, stamp);
}

CUresult cuStreamDestroy(CUstream stream)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamDestroy)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamDestroy(stream);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuStreamDestroy(stream);
    end_with_stream(stream, stamp, result);
    return shim_hook_leave(driver, result);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuStreamDestroy_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!shim_hook_enter())
        return driver->call.cuStreamDestroy_v2(stream);
    uint64_t stamp = shim_observe_stamp();
    CUresult result = driver->call.cuStreamDestroy_v2(stream);
    end_with_stream(stream, stamp, result);
    return shim_hook_leave(driver, result);
}

void shim_capture_report(struct pool_stats *stats)
{
    stats->observed_captures =
        atomic_load_explicit(&begun_count, memory_order_relaxed); /* B */
    stats->observed_open_captures =
        atomic_load_explicit(&active, memory_order_relaxed); /* B */
}

void shim_capture_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

void shim_capture_fork_done(void)
{
    pthread_mutex_unlock(&lock);
}

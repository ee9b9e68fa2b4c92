/* Defends: whatever is in flight on whichever stream when memory is freed, the next owner of the
   memory and the work in flight do not meet: 10,000 random schedules of two threads over two
   contexts, their streams, events and captures, in which memory is freed as soon as the work
   that uses it was submitted, as the driver's own frees allow. Every byte of every result is
   compared. SCHEDULES and SCHEDULES_SEED change how many, and repeat a run. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tests/sim_kernels.h"

enum {
    SCHEDULES = 10000,
    THREADS = 2,
    CONTEXTS = 2,
    STREAMS = 2,   /* of each thread in each context */
    STEPS = 10,    /* of each thread in a schedule */
    OPEN_MOST = 4, /* results that a thread has not looked at yet */
    UNIT = 2048,
    SIZES = 3,
    RECORDED = 3, /* kernels of a capture */
};

/* What a stream was asked to bring to the host. */
struct result {
    unsigned char *pinned; /* NULL: none */
    size_t bytes;
    unsigned char value;
    CUstream stream;
    unsigned context;
};

struct worker {
    unsigned index;
    uint64_t random;
    struct result results[OPEN_MOST];
    CUstream streams[CONTEXTS][STREAMS];
    CUevent events[CONTEXTS];
    uint64_t wrong, compared, captured;
    unsigned char next_value;
};

static CUcontext contexts[CONTEXTS];
static struct sim_kernels loaded[CONTEXTS];
static pthread_barrier_t barrier;
static pthread_mutex_t capturing = PTHREAD_MUTEX_INITIALIZER;
static unsigned schedule_count;
static uint64_t seed;

static uint64_t roll(struct worker *worker, uint64_t sides)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return (worker->random >> 16) % sides;
}

static void is_done(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS)
        ck_abort_msg("%s: %d", what, result);
}

#define DONE_BY(call) is_done(sim.call, #call)

static void enter(unsigned context)
{
    DONE_BY(cuCtxSetCurrent(contexts[context]));
}

static unsigned char value_of(struct worker *worker)
{
    worker->next_value = worker->next_value % 250 + 1;
    return worker->next_value;
}

/* To wait for a context in which a stream is captured is an error, whoever waits. */
static void wait_for_context(void)
{
    pthread_mutex_lock(&capturing);
    DONE_BY(cuCtxSynchronize());
    pthread_mutex_unlock(&capturing);
}

/* Waits for the work behind a result, by its stream, an event, or its whole context. */
static void wait_for(struct worker *worker, const struct result *result)
{
    enter(result->context);
    switch (roll(worker, 4)) {
    case 0:
        wait_for_context();
        break;
    case 1:
        DONE_BY(cuEventRecord(worker->events[result->context], result->stream));
        DONE_BY(cuEventSynchronize(worker->events[result->context]));
        break;
    default:
        DONE_BY(cuStreamSynchronize(result->stream));
        break;
    }
}

static void look_at(struct worker *worker, struct result *result)
{
    if (!result->pinned)
        return;
    wait_for(worker, result);
    bool is_right = true;
    for (size_t i = 0; i < result->bytes; i++)
        is_right = is_right && result->pinned[i] == result->value;
    worker->wrong += !is_right;
    worker->compared++;
    DONE_BY(cuMemFreeHost(result->pinned));
    result->pinned = NULL;
}

/* Device memory gets its contents in one of the ways that there are; page-locked memory that it
   came from is freed at once, and what comes to lie there next is written at once. */
static void fill(struct worker *worker, const struct result *result, CUdeviceptr address)
{
    const struct sim_kernels *kernels = &loaded[result->context];
    void *sent;
    if (roll(worker, 2)) {
        sim_kernel_fill(kernels, result->stream, address, result->bytes, result->value);
        return;
    }
    DONE_BY(cuMemAllocHost_v2(&sent, result->bytes));
    memset(sent, result->value, result->bytes);
    DONE_BY(cuMemcpyHtoDAsync_v2(address, sent, result->bytes, result->stream));
    DONE_BY(cuMemFreeHost(sent));
}

/* The work goes on in another stream, which waits for the first. */
static void change_stream(struct worker *worker, struct result *result)
{
    CUstream other = worker->streams[result->context][roll(worker, STREAMS)];
    if (other == result->stream)
        return;
    DONE_BY(cuEventRecord(worker->events[result->context], result->stream));
    DONE_BY(cuStreamWaitEvent(other, worker->events[result->context], 0));
    result->stream = other;
}

/* All but the last use of the device memory is in a graph. */
static void copy_by_graph(struct worker *worker, const struct result *result,
                          CUdeviceptr to, CUdeviceptr from)
{
    CUgraph graph;
    CUgraphExec executable;
    pthread_mutex_lock(&capturing);
    DONE_BY(cuStreamBeginCapture_v2(result->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (unsigned i = 0; i < RECORDED; i++)
        sim_kernel_copy(&loaded[result->context], result->stream, to, from,
                        result->bytes);
    DONE_BY(cuStreamEndCapture(result->stream, &graph));
    pthread_mutex_unlock(&capturing);
    DONE_BY(cuGraphInstantiateWithFlags(&executable, graph, 0));
    DONE_BY(cuGraphLaunch(executable, result->stream));
    DONE_BY(cuGraphExecDestroy(executable));
    DONE_BY(cuGraphDestroy(graph));
    worker->captured++;
}

static void copy(struct worker *worker, const struct result *result, CUdeviceptr to,
                 CUdeviceptr from)
{
    if (roll(worker, 8) == 0)
        copy_by_graph(worker, result, to, from);
    else
        sim_kernel_copy(&loaded[result->context], result->stream, to, from,
                        result->bytes);
}

/* Memory comes, work is submitted that uses it, memory goes; the result comes later. */
static void step(struct worker *worker)
{
    struct result *result = &worker->results[roll(worker, OPEN_MOST)];
    CUdeviceptr first, second;
    void *pinned;
    look_at(worker, result);
    *result = (struct result){
        .context = (unsigned)roll(worker, CONTEXTS),
        .bytes = (size_t)UNIT << roll(worker, SIZES),
        .value = value_of(worker),
    };
    enter(result->context);
    result->stream = worker->streams[result->context][roll(worker, STREAMS)];
    DONE_BY(cuMemAlloc_v2(&first, result->bytes));
    fill(worker, result, first);
    if (roll(worker, 2)) {
        change_stream(worker, result);
        DONE_BY(cuMemAlloc_v2(&second, result->bytes));
        copy(worker, result, second, first);
        DONE_BY(cuMemFree_v2(first));
        first = second;
    }
    DONE_BY(cuMemHostAlloc(&pinned, result->bytes, 0));
    memset(pinned, 0, result->bytes);
    DONE_BY(cuMemcpyDtoHAsync_v2(pinned, first, result->bytes, result->stream));
    DONE_BY(cuMemFree_v2(first));
    result->pinned = pinned;
    if (roll(worker, 4) == 0)
        wait_for_context();
}

static void run_schedule(struct worker *worker, unsigned schedule)
{
    worker->random =
        (seed + schedule * THREADS + worker->index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned i = 0; i < STEPS; i++)
        step(worker);
    for (unsigned i = 0; i < OPEN_MOST; i++)
        look_at(worker, &worker->results[i]);
}

static void open_streams(struct worker *worker)
{
    for (unsigned context = 0; context < CONTEXTS; context++) {
        enter(context);
        worker->events[context] = sim_event();
        for (unsigned i = 0; i < STREAMS; i++)
            worker->streams[context][i] = sim_stream(i % 2 ? CU_STREAM_NON_BLOCKING : 0);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    open_streams(worker);
    for (unsigned schedule = 0; schedule < schedule_count; schedule++) {
        pthread_barrier_wait(&barrier);
        run_schedule(worker, schedule);
    }
    return NULL;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void start(void)
{
    schedule_count = (unsigned)number("SCHEDULES", SCHEDULES);
    seed = number("SCHEDULES_SEED", (uint64_t)time(NULL));
    setenv("SIMCUDA_KERNELS", "skip", 1);
    setenv("SIMCUDA_STREAM_DELAY_US", "0-100", 1);
    sim_start("64MiB", "1");
    for (unsigned context = 0; context < CONTEXTS; context++) {
        DONE_BY(cuCtxCreate_v2(&contexts[context], 0, 0));
        loaded[context] = sim_load_kernels();
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
}

START_TEST(no_schedule_lets_old_work_and_new_owners_meet)
{
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t wrong = 0, compared = 0, captured = 0;
    start();
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].index = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        wrong += workers[i].wrong;
        compared += workers[i].compared;
        captured += workers[i].captured;
    }
    uint64_t asked = sim.oracle_calls("cuMemAlloc_v2");
    printf("%u schedules, SCHEDULES_SEED=%" PRIu64 ": %" PRIu64 " results, %" PRIu64
           " wrong, %" PRIu64 " captures, %" PRIu64 " allocations by the driver\n",
           schedule_count, seed, compared, wrong, captured, asked);
    fflush(stdout);
    ck_assert_uint_eq(compared, (uint64_t)schedule_count * THREADS * STEPS);
    ck_assert_uint_gt(captured, 0);
    /* And not for want of reuse. */
    ck_assert_uint_lt(asked, compared);
    ck_assert_uint_eq(wrong, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {no_schedule_lets_old_work_and_new_owners_meet};
    Suite *suite = suite_create("preload/schedules");
    TCase *all = tcase_create("preload/schedules");
    tcase_set_timeout(all, 600);
    tcase_add_test(all, tests[0]);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

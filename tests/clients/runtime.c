/* A small runtime that is written for the library: an example of pool/tidemark.h, and what its
   tests run.

     runtime BINDS

   The work is a chain of steps over tensors: fill a part of one, copy a part to the next. In
   every bind four threads record the steps as objects, one upload ships them, the steps are
   run as the device has them, and the output is compared with what the same steps give on
   the host. A kernel would run them on a real device; here a sequencer does, which reads
   them back from the device and asks the driver for each, so that a step that was shipped
   wrongly computes something wrong.

   Prints a line for each bind. Exit status: 1 when an output is wrong or a call failed. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pool/tidemark.h"
#include "shim/driver_abi.h"

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count);
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t count);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);

enum {
    RECORDERS = 4,
    TENSORS = 6,
    WORDS = 16384,             /* of each tensor */
    LANE = WORDS / RECORDERS,  /* of them, that one recorder's steps work on */
    STEPS = 2 * (TENSORS - 1), /* of each recorder */
    NAME_BYTES_MOST = 200,
};

enum step_kind { STEP_COPY, STEP_FILL };

/* The image of an object. */
struct step {
    uint32_t kind;
    uint32_t from, to;     /* tensors */
    uint32_t first, count; /* words */
    uint32_t value;
    char name[]; /* for whoever debugs the device */
};

struct recorder {
    pthread_t thread;
    unsigned index;
    struct tidemark_object steps[STEPS];
    enum tidemark_result result;
};

static struct recorder recorders[RECORDERS];
static pthread_barrier_t recording_begins, recording_is_done;

/* Written before a recording begins. */
static struct tidemark_bind *bind_in_flight; /* NULL: the recorders end */
static uint32_t bind_number;

static uint32_t input[WORDS], output[WORDS], on_host[TENSORS][WORDS];

static _Noreturn void fail(const char *what, int error)
{
    fprintf(stderr, "runtime: %s: %d\n", what, error);
    exit(EXIT_FAILURE);
}

static void expect(const char *what, enum tidemark_result result)
{
    if (result == TIDEMARK_DONE)
        return;
    fprintf(stderr, "runtime: %s: %s\n", what, tidemark_result_text(result));
    exit(EXIT_FAILURE);
}

/* The device, as the library asks for it. */

static int device_allocate(void *context, size_t bytes, uint64_t *address)
{
    CUdeviceptr got = 0;
    (void)context;
    CUresult result = cuMemAlloc_v2(&got, bytes);
    *address = got;
    return (int)result;
}

static int device_release(void *context, uint64_t address)
{
    (void)context;
    return (int)cuMemFree_v2(address);
}

static int device_clear(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    return (int)cuMemsetD8_v2(address, 0, bytes);
}

static int device_upload(void *context, uint64_t to, const void *from, size_t bytes)
{
    (void)context;
    return (int)cuMemcpyHtoD_v2(to, from, bytes);
}

static int device_download(void *context, void *to, uint64_t from, size_t bytes)
{
    (void)context;
    return (int)cuMemcpyDtoH_v2(to, from, bytes);
}

/* The recorders. Names have different lengths, so that objects have different sizes. */

static enum tidemark_result record_step(unsigned lane, unsigned number,
                                        struct tidemark_object *object)
{
    const unsigned tensor = number / 2;
    const size_t name_bytes = 8 + (lane * 31 + number * 17) % (NAME_BYTES_MOST - 8);
    enum tidemark_result result = tidemark_bind_claim(
        bind_in_flight, lane << 16 | number, sizeof(struct step) + name_bytes, object);
    if (result != TIDEMARK_DONE)
        return result;
    struct step *step = object->image;
    *step = (struct step){
        .kind = number % 2 == 0 ? STEP_COPY : STEP_FILL,
        .from = tensor,
        .to = tensor + 1,
        .first = lane * LANE + (number % 2) * number,
        .count = number % 2 == 0 ? LANE : number,
        .value = bind_number * 1000 + lane * 100 + number,
    };
    memset(step->name, 'a' + (int)number, name_bytes);
    return TIDEMARK_DONE;
}

static void *record(void *argument)
{
    struct recorder *recorder = argument;
    for (;;) {
        pthread_barrier_wait(&recording_begins);
        if (!bind_in_flight)
            return NULL;
        recorder->result = TIDEMARK_DONE;
        for (unsigned i = 0; i < STEPS && recorder->result == TIDEMARK_DONE; i++)
            recorder->result = record_step(recorder->index, i, &recorder->steps[i]);
        pthread_barrier_wait(&recording_is_done);
    }
}

/* Also what tells the thread that uploads that the objects are complete. */
static void run_recorders(void)
{
    pthread_barrier_wait(&recording_begins);
    pthread_barrier_wait(&recording_is_done);
    for (unsigned i = 0; i < RECORDERS; i++)
        expect("claim", recorders[i].result);
}

/* The device's side of the work. */

static void run_on_device(const struct step *step, const struct tidemark_tensor *tensors)
{
    const size_t at = step->first * sizeof(uint32_t);
    CUdeviceptr to = tensors[step->to].device + at;
    CUresult result = step->kind == STEP_FILL
                          ? cuMemsetD32_v2(to, step->value, step->count)
                          : cuMemcpyDtoD_v2(to, tensors[step->from].device + at,
                                            step->count * sizeof(uint32_t));
    if (result != CUDA_SUCCESS)
        fail("a step", (int)result);
}

/* Every step of every recorder, found by its address in what was read back. */
static void run_steps(const struct tidemark_upload *upload, const char *block,
                      const struct tidemark_tensor *tensors)
{
    for (unsigned r = 0; r < RECORDERS; r++) {
        for (unsigned i = 0; i < STEPS; i++) {
            uint64_t address;
            expect("address", tidemark_bind_address(bind_in_flight,
                                                    &recorders[r].steps[i], &address));
            const struct tidemark_header *header =
                (const void *)(block + (address - upload->address));
            if (!tidemark_header_is_object(header, upload->bind) ||
                header->key != (r << 16 | i))
                fail("no object where it should be", (int)i);
            run_on_device((const void *)(header + 1), tensors);
        }
    }
}

static void run(const struct tidemark_upload *upload, struct tidemark_tensor *tensors)
{
    void *mirror;
    expect("mirror", tidemark_bind_mirror(bind_in_flight, upload->bytes, 64, &mirror));
    CUresult result = cuMemcpyDtoH_v2(mirror, upload->address, upload->bytes);
    if (result != CUDA_SUCCESS)
        fail("reading back", (int)result);
    run_steps(upload, mirror, tensors);
}

/* The same work on the host, from the recorders' own order. */
static bool is_right(void)
{
    memcpy(on_host[0], input, sizeof(input));
    for (unsigned lane = 0; lane < RECORDERS; lane++) {
        for (unsigned i = 0; i < STEPS; i++) {
            uint32_t *to = on_host[i / 2 + 1];
            if (i % 2 == 0)
                memcpy(to + lane * LANE, on_host[i / 2] + lane * LANE,
                       LANE * sizeof(*to));
            else
                for (unsigned word = 0; word < i; word++)
                    to[lane * LANE + i + word] = bind_number * 1000 + lane * 100 + i;
        }
    }
    return memcmp(on_host[TENSORS - 1], output, sizeof(output)) == 0;
}

/* Names what comes next in a record of binds. */
static void enter(const char *phase)
{
    expect(phase, tidemark_bind_phase(bind_in_flight, phase));
}

static void run_bind(struct tidemark_set *set)
{
    struct tidemark_tensor tensors[TENSORS] = {{.host = input, .is_input = 1}};
    struct tidemark_upload upload;
    tensors[TENSORS - 1] = (struct tidemark_tensor){.host = output, .is_output = 1};
    for (unsigned i = 0; i < TENSORS; i++)
        tensors[i].bytes = sizeof(input);

    expect("open", tidemark_bind_open(set, 0, &bind_in_flight));
    enter("stage");
    expect("stage", tidemark_bind_stage(bind_in_flight, tensors, TENSORS));
    enter("record");
    run_recorders();
    enter("upload");
    expect("upload", tidemark_bind_upload(bind_in_flight, &upload));
    enter("run");
    run(&upload, tensors);
    enter("end");
    expect("end", tidemark_bind_end(bind_in_flight, 0));
}

static long minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void open_device(void)
{
    CUdevice device;
    CUcontext context;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS)
        result = cuCtxCreate_v2(&context, 0, device);
    if (result != CUDA_SUCCESS)
        fail("the device", (int)result);
}

static void start_recorders(void)
{
    pthread_barrier_init(&recording_begins, NULL, RECORDERS + 1);
    pthread_barrier_init(&recording_is_done, NULL, RECORDERS + 1);
    for (unsigned i = 0; i < RECORDERS; i++) {
        recorders[i].index = i;
        if (pthread_create(&recorders[i].thread, NULL, record, &recorders[i]) != 0)
            fail("a thread", (int)i);
    }
}

static void stop_recorders(void)
{
    bind_in_flight = NULL;
    pthread_barrier_wait(&recording_begins);
    for (unsigned i = 0; i < RECORDERS; i++)
        pthread_join(recorders[i].thread, NULL);
}

static void say(long faults)
{
    struct tidemark_counts counts;
    tidemark_bind_counts(bind_in_flight, &counts);
    printf("bind %" PRIu64 ": objects=%" PRIu64 " spilled=%" PRIu64 " bytes=%" PRIu64
           " uploads=%" PRIu64 " host_calls=%" PRIu64 " device_calls=%" PRIu64
           " faults=%ld\n",
           counts.bind, counts.objects, counts.spilled, counts.bytes, counts.uploads,
           counts.host_calls, counts.device_calls, faults);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    const unsigned long binds = count > 1 ? strtoul(arguments[1], NULL, 10) : 6;
    const struct tidemark_settings settings = {
        .slot_count = 1,
        .device = {.allocate = device_allocate,
                   .release = device_release,
                   .clear = device_clear,
                   .upload = device_upload,
                   .download = device_download},
    };
    struct tidemark_set *set;
    open_device();
    start_recorders();
    expect("a set", tidemark_set_open(&settings, &set));
    for (bind_number = 1; bind_number <= binds; bind_number++) {
        for (unsigned i = 0; i < WORDS; i++)
            input[i] = bind_number + i * 2654435761u;
        long before = minor_faults();
        run_bind(set);
        long faults = minor_faults() - before;
        if (!is_right())
            fail("the output is wrong in bind", (int)bind_number);
        say(faults);
    }
    stop_recorders();
    expect("close", tidemark_set_close(set));
    puts("every output is right");
    return EXIT_SUCCESS;
}

/* A program that does one thing which a report says was observed, and prints what came back:

     observed ROUTE WHAT

   ROUTE is how functions are found: dlsym; gpa (cuGetProcAddress); or ptsz, the same for the default
   stream of each thread, which is then what is captured. The table at the end names what there is. */
#include "shim/driver_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CALL(symbol, base name, since, parameters) */
/* clang-format off */
#define CALLS(CALL)                                                                      \
    CALL(cuInit, cuInit, 2000, (unsigned))                                               \
    CALL(cuCtxCreate_v2, cuCtxCreate, 3020, (CUcontext *, unsigned, CUdevice))           \
    CALL(cuCtxDestroy_v2, cuCtxDestroy, 4000, (CUcontext))                               \
    CALL(cuCtxSetCurrent, cuCtxSetCurrent, 4000, (CUcontext))                            \
    CALL(cuCtxSynchronize, cuCtxSynchronize, 2000, (void))                               \
    CALL(cuMemAlloc_v2, cuMemAlloc, 3020, (CUdeviceptr *, size_t))                       \
    CALL(cuMemFree_v2, cuMemFree, 3020, (CUdeviceptr))                                   \
    CALL(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, (CUipcMemHandle *, CUdeviceptr))    \
    CALL(cuPointerSetAttribute, cuPointerSetAttribute, 6000,                             \
         (const void *, CUpointer_attribute, CUdeviceptr))                               \
    CALL(cuStreamCreate, cuStreamCreate, 2000, (CUstream *, unsigned))                   \
    CALL(cuStreamDestroy_v2, cuStreamDestroy, 4000, (CUstream))                          \
    CALL(cuStreamBeginCapture_v2, cuStreamBeginCapture, 10010,                           \
         (CUstream, CUstreamCaptureMode))                                                \
    CALL(cuStreamEndCapture, cuStreamEndCapture, 10000, (CUstream, CUgraph *))
/* clang-format on */

static struct {
#define FIELD(symbol, base, since, parameters) CUresult(*symbol) parameters;
    CALLS(FIELD)
#undef FIELD
} driver;

static void *library;
static const char *route;
static CUcontext context;
static CUstream stream;
static CUgraph graph;

static void fetch(const char *symbol, const char *base, int since, void *field)
{
    CUresult (*look_up)(const char *, void **, int, cuuint64_t, int *);
    int status;
    void *found =
        dlsym(library, strcmp(route, "dlsym") == 0 ? symbol : "cuGetProcAddress_v2");
    if (found != NULL && strcmp(route, "dlsym") != 0) {
        memcpy(&look_up, &found, sizeof found);
        if (look_up(base, &found, since, strcmp(route, "ptsz") == 0 ? 2 : 0, &status) !=
            CUDA_SUCCESS)
            found = NULL;
    }
    if (found == NULL) {
        fprintf(stderr, "observed: no %s\n", symbol);
        exit(2);
    }
    memcpy(field, &found, sizeof found);
}

static void say(CUresult result)
{
    printf("%d ", result);
}

static void begin(void)
{
    say(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end(void)
{
    say(driver.cuStreamEndCapture(stream, &graph));
}

static void whole(void)
{
    begin();
    end();
    begin();
    end();
}

static void open(void)
{
    begin();
}

static void refused(void)
{
    begin();
    begin();
    end();
    say(driver.cuStreamBeginCapture_v2(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* The allocation breaks the capture, whose end then fails. */
static void broken(void)
{
    CUdeviceptr address;
    begin();
    say(driver.cuMemAlloc_v2(&address, 1000));
    end();
}

static void *end_elsewhere(void *unused)
{
    say(driver.cuCtxSetCurrent(context));
    end();
    return unused;
}

static void elsewhere(void)
{
    pthread_t thread;
    begin();
    pthread_create(&thread, NULL, end_elsewhere, NULL);
    pthread_join(thread, NULL);
}

static void destroyed(void)
{
    CUstream other;
    say(driver.cuStreamCreate(&other, 0));
    say(driver.cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
    say(driver.cuStreamDestroy_v2(other));
}

static void context_ended(void)
{
    begin();
    say(driver.cuCtxDestroy_v2(context));
}

static void waits(void)
{
    say(driver.cuCtxSynchronize());
    say(driver.cuCtxSynchronize());
    begin();
    say(driver.cuCtxSynchronize());
}

static void exports(void)
{
    CUdeviceptr address;
    CUipcMemHandle handle;
    unsigned on = 1;
    say(driver.cuMemAlloc_v2(&address, 1000));
    say(driver.cuIpcGetMemHandle(&handle, address));
    say(driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    say(driver.cuMemFree_v2(address));
    say(driver.cuIpcGetMemHandle(&handle, address));
}

static const struct {
    const char *name;
    void (*act)(void);
} table[] = {
    {"whole", whole},     {"open", open},           {"refused", refused},
    {"broken", broken},   {"elsewhere", elsewhere}, {"destroyed", destroyed},
    {"exports", exports}, {"waits", waits},         {"context-ended", context_ended},
};

int main(int argc, char **argv)
{
    library = argc == 3 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (library == NULL)
        return 2;
    route = argv[1];
#define FETCH(symbol, base, since, parameters)                                           \
    fetch(#symbol, #base, since, &driver.symbol);
    CALLS(FETCH)
#undef FETCH
    say(driver.cuInit(0));
    say(driver.cuCtxCreate_v2(&context, 0, 0));
    if (strcmp(route, "ptsz") != 0)
        say(driver.cuStreamCreate(&stream, 0));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, argv[2]) == 0)
            table[i].act();
    puts("");
    return 0;
}

/* A program that calls one function after another, those that there are, and prints what came back:

     tour ROUTE

   The same driver has to give the same lines on every run. ROUTE is how functions are found: dlsym
   or gpa (cuGetProcAddress, either form). No address is printed. */
#include "shim/driver_abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CALL(symbol, base name, since, parameters) */
/* clang-format off */
#define CALLS(CALL)                                                                      \
    CALL(cuInit, cuInit, 2000, (unsigned))                                               \
    CALL(cuDriverGetVersion, cuDriverGetVersion, 2020, (int *))                          \
    CALL(cuDeviceGet, cuDeviceGet, 2000, (CUdevice *, int))                              \
    CALL(cuDeviceTotalMem, cuDeviceTotalMem, 2000, (unsigned *, CUdevice))               \
    CALL(cuDeviceTotalMem_v2, cuDeviceTotalMem, 3020, (size_t *, CUdevice))              \
    CALL(cuCtxCreate_v2, cuCtxCreate, 3020, (CUcontext *, unsigned, CUdevice))           \
    CALL(cuCtxDestroy, cuCtxDestroy, 2000, (CUcontext))                                  \
    CALL(cuCtxDestroy_v2, cuCtxDestroy, 4000, (CUcontext))                               \
    CALL(cuCtxSetCurrent, cuCtxSetCurrent, 4000, (CUcontext))                            \
    CALL(cuCtxSynchronize, cuCtxSynchronize, 2000, (void))                               \
    CALL(cuCtxSynchronize_v2, cuCtxSynchronize, 13000, (CUcontext))                      \
    CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000,                       \
         (CUcontext *, CUdevice))                                                        \
    CALL(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, (CUdevice))             \
    CALL(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, (CUdevice))         \
    CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, (CUdevice))         \
    CALL(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, (CUdevice))     \
    CALL(cuMemAlloc, cuMemAlloc, 2000, (CUdeviceptr_v1 *, unsigned))                     \
    CALL(cuMemAlloc_v2, cuMemAlloc, 3020, (CUdeviceptr *, size_t))                       \
    CALL(cuMemAllocPitch_v2, cuMemAllocPitch, 3020,                                      \
         (CUdeviceptr *, size_t *, size_t, size_t, unsigned))                            \
    CALL(cuMemAllocManaged, cuMemAllocManaged, 6000, (CUdeviceptr *, size_t, unsigned))  \
    CALL(cuMemAllocAsync, cuMemAllocAsync, 11020, (CUdeviceptr *, size_t, CUstream))     \
    CALL(cuMemFree_v2, cuMemFree, 3020, (CUdeviceptr))                                   \
    CALL(cuMemFreeAsync, cuMemFreeAsync, 11020, (CUdeviceptr, CUstream))                 \
    CALL(cuMemGetInfo, cuMemGetInfo, 2000, (unsigned *, unsigned *))                     \
    CALL(cuMemGetInfo_v2, cuMemGetInfo, 3020, (size_t *, size_t *))                      \
    CALL(cuMemGetAddressRange_v2, cuMemGetAddressRange, 3020,                            \
         (CUdeviceptr *, size_t *, CUdeviceptr))                                         \
    CALL(cuPointerGetAttribute, cuPointerGetAttribute, 4000,                             \
         (void *, CUpointer_attribute, CUdeviceptr))                                     \
    CALL(cuPointerGetAttributes, cuPointerGetAttributes, 7000,                           \
         (unsigned, CUpointer_attribute *, void **, CUdeviceptr))                        \
    CALL(cuPointerSetAttribute, cuPointerSetAttribute, 6000,                             \
         (const void *, CUpointer_attribute, CUdeviceptr))                               \
    CALL(cuMemAllocHost, cuMemAllocHost, 2000, (void **, unsigned))                      \
    CALL(cuMemAllocHost_v2, cuMemAllocHost, 3020, (void **, size_t))                     \
    CALL(cuMemHostAlloc, cuMemHostAlloc, 2020, (void **, size_t, unsigned))              \
    CALL(cuMemFreeHost, cuMemFreeHost, 2000, (void *))                                   \
    CALL(cuMemHostRegister_v2, cuMemHostRegister, 6050, (void *, size_t, unsigned))      \
    CALL(cuMemHostUnregister, cuMemHostUnregister, 4000, (void *))                       \
    CALL(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, (CUipcMemHandle *, CUdeviceptr))    \
    CALL(cuStreamCreate, cuStreamCreate, 2000, (CUstream *, unsigned))                   \
    CALL(cuStreamDestroy_v2, cuStreamDestroy, 4000, (CUstream))                          \
    CALL(cuStreamSynchronize, cuStreamSynchronize, 2000, (CUstream))                     \
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
static bool by_symbol;

static void *look_up(const char *base, int since)
{
    CUresult (*first)(const char *, void **, int, cuuint64_t);
    CUresult (*second)(const char *, void **, int, cuuint64_t, int *);
    void *function = NULL;
    void *found = dlsym(library, "cuGetProcAddress_v2");
    if (found != NULL) {
        memcpy(&second, &found, sizeof found);
        return second(base, &function, since, 0, NULL) == CUDA_SUCCESS ? function : NULL;
    }
    found = dlsym(library, "cuGetProcAddress");
    memcpy(&first, &found, sizeof found);
    return found && first(base, &function, since, 0) == CUDA_SUCCESS ? function : NULL;
}

static void fetch(const char *symbol, const char *base, int since, void *field)
{
    void *found = by_symbol ? dlsym(library, symbol) : look_up(base, since);
    memcpy(field, &found, sizeof found);
    printf("%s %s\n", symbol, found != NULL ? "found" : "absent");
}

/* The result of a call with these arguments, in parentheses. */
#define DO(symbol, arguments)                                                            \
    printf(#symbol " %d\n", driver.symbol ? driver.symbol arguments : -1)

static CUdevice device;
static CUcontext context;

static void tour_queries(CUdeviceptr address)
{
    size_t bytes[2] = {0};
    unsigned words[2] = {0};
    CUdeviceptr start = 0;
    CUpointer_attribute kind = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *values[] = {&words[1]};
    DO(cuDeviceTotalMem, (words, device));
    DO(cuDeviceTotalMem_v2, (bytes, device));
    printf("total %u %zu\n", words[0], bytes[0]);
    DO(cuMemGetInfo, (&words[0], &words[1]));
    DO(cuMemGetInfo_v2, (&bytes[0], &bytes[1]));
    DO(cuMemGetInfo_v2, (NULL, &bytes[1]));
    DO(cuMemGetInfo_v2, (&bytes[0], NULL));
    printf("info %u %u %zu %zu\n", words[0], words[1], bytes[0], bytes[1]);
    DO(cuMemGetAddressRange_v2, (&start, &bytes[0], address));
    printf("range %d %zu\n", start == address, bytes[0]);
    DO(cuPointerGetAttribute, (words, kind, address));
    DO(cuPointerGetAttributes, (1, &kind, values, address));
    printf("kind %u %u\n", words[0], words[1]);
    words[0] = 1;
    DO(cuPointerSetAttribute, (words, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
}

static void tour_memory(void)
{
    CUdeviceptr address[4] = {0};
    CUdeviceptr_v1 low = 0;
    size_t pitch = 0;
    CUipcMemHandle handle;
    DO(cuMemAlloc_v2, (&address[0], 1000));
    DO(cuMemAlloc_v2, (&address[0], 0));
    DO(cuMemAlloc, (&low, 1000));
    DO(cuMemAllocPitch_v2, (&address[1], &pitch, 100, 3, 4));
    DO(cuMemAllocManaged, (&address[2], 3000, CU_MEM_ATTACH_GLOBAL));
    DO(cuMemAllocAsync, (&address[3], 4000, NULL));
    printf("pitch %zu\n", pitch);
    tour_queries(address[0]);
    DO(cuIpcGetMemHandle, (&handle, address[0]));
    DO(cuCtxSynchronize, ());
    DO(cuCtxSynchronize_v2, (context));
    DO(cuMemFreeAsync, (address[3], NULL));
    for (int i = 0; i < 3; i++)
        DO(cuMemFree_v2, (address[i]));
    DO(cuMemFree_v2, (address[0]));
    tour_queries(address[0]);
}

static void tour_host(void)
{
    static char page[1 << 16];
    void *pinned[3] = {NULL};
    DO(cuMemAllocHost, (&pinned[0], 1000));
    DO(cuMemAllocHost_v2, (&pinned[1], 1000));
    DO(cuMemHostAlloc, (&pinned[2], 1000, CU_MEMHOSTALLOC_PORTABLE));
    for (int i = 0; i < 3; i++)
        DO(cuMemFreeHost, (pinned[i]));
    DO(cuMemHostRegister_v2, (page, sizeof page, 0));
    DO(cuMemHostUnregister, (page));
}

static void tour_streams(void)
{
    CUstream stream = NULL;
    CUgraph graph = NULL;
    DO(cuStreamCreate, (&stream, 0));
    DO(cuStreamBeginCapture_v2, (stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    DO(cuStreamEndCapture, (stream, &graph));
    DO(cuStreamSynchronize, (stream));
    DO(cuStreamDestroy_v2, (stream));
}

static void tour_contexts(void)
{
    CUdeviceptr address = 0;
    CUcontext another;
    DO(cuCtxCreate_v2, (&another, 0, device));
    DO(cuMemAlloc_v2, (&address, 1000));
    DO(cuCtxDestroy, (another));
    DO(cuDevicePrimaryCtxRetain, (&another, device));
    DO(cuCtxSetCurrent, (another));
    DO(cuMemAlloc_v2, (&address, 1000));
    DO(cuDevicePrimaryCtxReset, (device));
    DO(cuDevicePrimaryCtxReset_v2, (device));
    DO(cuDevicePrimaryCtxRelease_v2, (device));
    DO(cuDevicePrimaryCtxRelease, (device));
    DO(cuCtxSetCurrent, (context));
}

int main(int argc, char **argv)
{
    int version = 0;
    library = argc == 2 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (library == NULL) {
        fputs("usage: tour ROUTE, with a libcuda.so.1 to be found\n", stderr);
        return 2;
    }
    by_symbol = strcmp(argv[1], "dlsym") == 0;
#define FETCH(symbol, base, since, parameters)                                           \
    fetch(#symbol, #base, since, &driver.symbol);
    CALLS(FETCH)
#undef FETCH
    DO(cuMemGetInfo_v2, (NULL, NULL));
    DO(cuInit, (0));
    DO(cuDriverGetVersion, (&version));
    printf("version %d\n", version);
    DO(cuDeviceGet, (&device, 0));
    DO(cuCtxCreate_v2, (&context, 0, device));
    tour_memory();
    tour_host();
    tour_streams();
    tour_contexts();
    DO(cuCtxDestroy_v2, (context));
    return 0;
}

/* A program that takes device memory in equal steps, and says how far it got:

     alloc_steps ROUTE STEP_BYTES COUNT [DEVICE]

   prints "granted N refused M first_error E total T free F", where total and free are
   what cuMemGetInfo says while everything granted is held. ROUTE is how it finds the
   driver's functions: dlsym, gpa (cuGetProcAddress) or gpa2 (cuGetProcAddress_v2). Built
   with ROUTE_PLT it is linked to the driver, and the one route is plt. */
#include "shim/driver_abi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
#define CALLS(CALL)                                                                      \
    CALL(cuInit, "cuInit", 2000, 0, (unsigned flags))                                       \
    CALL(cuDeviceGet, "cuDeviceGet", 2000, 0, (CUdevice *device, int ordinal))              \
    CALL(cuCtxCreate_v2, "cuCtxCreate", 3020, 0,                                            \
         (CUcontext *context, unsigned flags, CUdevice device))                          \
    CALL(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0, (CUcontext context))                     \
    CALL(cuMemAlloc_v2, "cuMemAlloc", 3020, 0, (CUdeviceptr *address, size_t bytes))        \
    CALL(cuMemFree_v2, "cuMemFree", 3020, 0, (CUdeviceptr address))                         \
    CALL(cuMemGetInfo_v2, "cuMemGetInfo", 3020, 0, (size_t *free, size_t *total))
/* clang-format on */
#include "tests/clients/route.h"

struct outcome {
    size_t granted_count;
    size_t refused_count;
    CUresult first_error;
};

static struct outcome take(CUdeviceptr *held, size_t count, size_t step_bytes)
{
    struct outcome outcome = {.first_error = CUDA_SUCCESS};
    for (size_t i = 0; i < count; i++) {
        CUresult result = driver.cuMemAlloc_v2(&held[outcome.granted_count], step_bytes);
        if (result == CUDA_SUCCESS) {
            outcome.granted_count++;
            continue;
        }
        if (outcome.refused_count++ == 0)
            outcome.first_error = result;
    }
    return outcome;
}

static bool give_back(const CUdeviceptr *held, size_t count)
{
    bool all_freed = true;
    for (size_t i = 0; i < count; i++)
        all_freed = driver.cuMemFree_v2(held[i]) == CUDA_SUCCESS && all_freed;
    return all_freed;
}

static int run(size_t step_bytes, size_t count, int ordinal)
{
    CUdevice device;
    CUcontext context;
    size_t free_bytes;
    size_t total_bytes;
    CUdeviceptr *held = calloc(count + 1, sizeof *held);
    if (held == NULL || driver.cuInit(0) != CUDA_SUCCESS ||
        driver.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        driver.cuCtxCreate_v2(&context, 0, device) != CUDA_SUCCESS)
        return EXIT_FAILURE;

    struct outcome outcome = take(held, count, step_bytes);
    if (driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS)
        return EXIT_FAILURE;
    printf("granted %zu refused %zu first_error %d total %zu free %zu\n",
           outcome.granted_count, outcome.refused_count, outcome.first_error, total_bytes,
           free_bytes);

    bool all_freed = give_back(held, outcome.granted_count);
    free(held);
    return driver.cuCtxDestroy_v2(context) == CUDA_SUCCESS && all_freed ? EXIT_SUCCESS
                                                                        : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fputs("usage: alloc_steps ROUTE STEP_BYTES COUNT [DEVICE]\n", stderr);
        return 2;
    }
    if (!resolve(argv[1])) {
        fprintf(stderr, "alloc_steps: no driver by %s\n", argv[1]);
        return 2;
    }
    return run(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
               argc == 5 ? atoi(argv[4]) : 0);
}

/* A program that takes memory by each call there is, in equal steps until it is refused, and
   says how far it got:

     call_steps ROUTE DEVICE_CEILING PINNED_CEILING STEP_BYTES [KEEP_BYTES]

   prints a line for each call: "SYMBOL: N steps, then RESULT; one back, M more; all at once
   RESULT; a byte more RESULT", and "touched" after a refusal that wrote an output. A call that
   the driver does not support is "SYMBOL: not supported". ROUTE is as in tests/clients/route.h.
   At last it takes KEEP_BYTES of managed memory, and ends without giving them back. */
#include "shim/driver_abi.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* clang-format off */
#define CALLS(CALL)                                                                      \
    CALL(cuInit, "cuInit", 2000, 0, (unsigned flags))                                    \
    CALL(cuCtxCreate_v2, "cuCtxCreate", 3020, 0,                                         \
         (CUcontext *context, unsigned flags, CUdevice device))                          \
    CALL(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0, (CUcontext context))                  \
    CALL(cuMemAlloc_v2, "cuMemAlloc", 3020, 0, (CUdeviceptr *address, size_t bytes))     \
    CALL(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, 0,                                 \
         (CUdeviceptr *address, size_t *pitch, size_t width, size_t height,              \
          unsigned element_bytes))                                                       \
    CALL(cuMemAllocManaged, "cuMemAllocManaged", 6000, 0,                                \
         (CUdeviceptr *address, size_t bytes, unsigned flags))                           \
    CALL(cuMemFree_v2, "cuMemFree", 3020, 0, (CUdeviceptr address))                      \
    CALL(cuMemAllocAsync, "cuMemAllocAsync", 11020, 0,                                   \
         (CUdeviceptr *address, size_t bytes, CUstream stream))                          \
    CALL(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, 2,                              \
         (CUdeviceptr *address, size_t bytes, CUstream stream))                          \
    CALL(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, 0,                   \
         (CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream))       \
    CALL(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, 2,              \
         (CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream))       \
    CALL(cuMemFreeAsync, "cuMemFreeAsync", 11020, 0,                                     \
         (CUdeviceptr address, CUstream stream))                                         \
    CALL(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, 2,                                \
         (CUdeviceptr address, CUstream stream))                                         \
    CALL(cuMemPoolCreate, "cuMemPoolCreate", 11020, 0,                                   \
         (CUmemoryPool *pool, const CUmemPoolProps *properties))                         \
    CALL(cuMemPoolDestroy, "cuMemPoolDestroy", 11020, 0, (CUmemoryPool pool))            \
    CALL(cuCtxSynchronize, "cuCtxSynchronize", 2000, 0, (void))                          \
    CALL(cuMemAllocHost, "cuMemAllocHost", 2000, 0, (void **address, unsigned bytes))    \
    CALL(cuMemAllocHost_v2, "cuMemAllocHost", 3020, 0, (void **address, size_t bytes))   \
    CALL(cuMemHostAlloc, "cuMemHostAlloc", 2020, 0,                                      \
         (void **address, size_t bytes, unsigned flags))                                 \
    CALL(cuMemFreeHost, "cuMemFreeHost", 2000, 0, (void *address))                       \
    CALL(cuMemHostRegister, "cuMemHostRegister", 4000, 0,                                \
         (void *address, size_t bytes, unsigned flags))                                  \
    CALL(cuMemHostRegister_v2, "cuMemHostRegister", 6050, 0,                             \
         (void *address, size_t bytes, unsigned flags))                                  \
    CALL(cuMemHostUnregister, "cuMemHostUnregister", 4000, 0, (void *address))
/* clang-format on */
#include "tests/clients/route.h"

enum {
    STEPS_MOST = 256,
    UNTOUCHED = 0xdead,
    UNIT_BYTES = 512, /* of a row */
};

static size_t pitch = UNTOUCHED;

static CUresult take_linear(uint64_t *address, size_t bytes)
{
    return driver.cuMemAlloc_v2(address, bytes);
}

static CUresult take_row(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocPitch_v2(address, &pitch, bytes, 1, 4);
}

/* A byte of each row is asked for, and a unit is what it takes. */
static CUresult take_rows(uint64_t *address, size_t bytes)
{
    size_t height = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    return driver.cuMemAllocPitch_v2(address, &pitch, 1, height, 4);
}

static CUresult take_managed(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocManaged(address, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUmemoryPool pool; /* made for the calls that name one */

static CUresult take_ordered(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocAsync(address, bytes, NULL);
}

static CUresult take_ordered_ptsz(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocAsync_ptsz(address, bytes, NULL);
}

static CUresult take_named(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocFromPoolAsync(address, bytes, pool, NULL);
}

static CUresult take_named_ptsz(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocFromPoolAsync_ptsz(address, bytes, pool, NULL);
}

static CUresult take_host(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocHost((void **)address, (unsigned)bytes);
}

static CUresult take_host_v2(uint64_t *address, size_t bytes)
{
    return driver.cuMemAllocHost_v2((void **)address, bytes);
}

static CUresult take_host_flags(uint64_t *address, size_t bytes)
{
    return driver.cuMemHostAlloc((void **)address, bytes, CU_MEMHOSTALLOC_PORTABLE);
}

/* Memory of ours, whose next part is locked. */
static CUresult lock_pages(CUresult (*lock)(void *, size_t, unsigned), uint64_t *address,
                           size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_UNKNOWN;
    CUresult result = lock(memory, bytes, 0);
    if (result == CUDA_SUCCESS)
        *address = (uintptr_t)memory;
    else
        munmap(memory, bytes);
    return result;
}

static CUresult take_lock(uint64_t *address, size_t bytes)
{
    return lock_pages(driver.cuMemHostRegister, address, bytes);
}

static CUresult take_lock_v2(uint64_t *address, size_t bytes)
{
    return lock_pages(driver.cuMemHostRegister_v2, address, bytes);
}

static CUresult give_device(uint64_t address)
{
    return driver.cuMemFree_v2(address);
}

/* Waits: then its place is free for any stream. */
static CUresult give_ordered(uint64_t address)
{
    CUresult result = driver.cuMemFreeAsync(address, NULL);
    return result == CUDA_SUCCESS ? driver.cuCtxSynchronize() : result;
}

static CUresult give_ordered_ptsz(uint64_t address)
{
    CUresult result = driver.cuMemFreeAsync_ptsz(address, NULL);
    return result == CUDA_SUCCESS ? driver.cuCtxSynchronize() : result;
}

static CUresult give_host(uint64_t address)
{
    return driver.cuMemFreeHost((void *)(uintptr_t)address);
}

static CUresult give_lock(uint64_t address)
{
    return driver.cuMemHostUnregister((void *)(uintptr_t)address);
}

struct call {
    const char *name;
    bool of_host;
    CUresult (*take)(uint64_t *address, size_t bytes);
    CUresult (*give)(uint64_t address);
};

static const struct call calls[] = {
    {"cuMemAlloc_v2", false, take_linear, give_device},
    {"cuMemAllocPitch_v2", false, take_row, give_device},
    {"cuMemAllocPitch_v2 by real pitch", false, take_rows, give_device},
    {"cuMemAllocManaged", false, take_managed, give_device},
    {"cuMemAllocAsync", false, take_ordered, give_ordered},
    {"cuMemAllocAsync_ptsz", false, take_ordered_ptsz, give_ordered_ptsz},
    {"cuMemAllocFromPoolAsync", false, take_named, give_ordered},
    {"cuMemAllocFromPoolAsync_ptsz", false, take_named_ptsz, give_ordered_ptsz},
    {"cuMemAllocHost", true, take_host, give_host},
    {"cuMemAllocHost_v2", true, take_host_v2, give_host},
    {"cuMemHostAlloc", true, take_host_flags, give_host},
    {"cuMemHostRegister", true, take_lock, give_lock},
    {"cuMemHostRegister_v2", true, take_lock_v2, give_lock},
};

/* Takes once; a refusal must have left the outputs alone. */
static CUresult take(const struct call *call, uint64_t *address, size_t bytes,
                     bool *was_touched)
{
    uint64_t taken = UNTOUCHED;
    pitch = UNTOUCHED;
    CUresult result = call->take(&taken, bytes);
    if (result == CUDA_SUCCESS)
        *address = taken;
    else
        *was_touched = *was_touched || taken != UNTOUCHED || pitch != UNTOUCHED;
    return result;
}

static size_t take_steps(const struct call *call, uint64_t *held, size_t bytes,
                         CUresult *refusal, bool *was_touched)
{
    size_t count = 0;
    while (count < STEPS_MOST &&
           (*refusal = take(call, &held[count], bytes, was_touched)) == CUDA_SUCCESS)
        count++;
    return count;
}

static bool run(const struct call *call, size_t ceiling_bytes, size_t step_bytes)
{
    static uint64_t held[2 * STEPS_MOST];
    bool was_touched = false;
    CUresult refusal, again;
    size_t count = take_steps(call, held, step_bytes, &refusal, &was_touched);
    if (refusal == CUDA_ERROR_NOT_SUPPORTED) {
        printf("%s: not supported\n", call->name);
        return count == 0;
    }
    bool given = count > 0 && call->give(held[--count]) == CUDA_SUCCESS;
    size_t more = take_steps(call, held + count, step_bytes, &again, &was_touched);
    for (size_t i = 0; i < count + more; i++)
        given = call->give(held[i]) == CUDA_SUCCESS && given;
    CUresult all = take(call, &held[0], ceiling_bytes, &was_touched);
    if (all == CUDA_SUCCESS)
        given = call->give(held[0]) == CUDA_SUCCESS && given;
    CUresult beyond = take(call, &held[0], ceiling_bytes + 1, &was_touched);
    printf("%s: %zu steps, then %d; one back, %zu more; all at once %d; "
           "a byte more %d%s\n",
           call->name, count + 1, refusal, more, all, beyond,
           was_touched ? "; touched" : "");
    return given;
}

int main(int argc, char **argv)
{
    CUcontext context;
    if (argc < 5 || argc > 6 || !resolve(argv[1]) || driver.cuInit(0) != CUDA_SUCCESS ||
        driver.cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS) {
        fputs("usage: call_steps ROUTE DEVICE_CEILING PINNED_CEILING STEP_BYTES "
              "[KEEP_BYTES]\n",
              stderr);
        return 2;
    }
    static const CUmemPoolProps of_device = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    bool given = driver.cuMemPoolCreate(&pool, &of_device) == CUDA_SUCCESS;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        given = run(&calls[i], strtoull(argv[calls[i].of_host ? 3 : 2], NULL, 10),
                    strtoull(argv[4], NULL, 10)) &&
                given;
    given = driver.cuMemPoolDestroy(pool) == CUDA_SUCCESS && given;
    uint64_t kept;
    if (argc == 6)
        given = take_managed(&kept, strtoull(argv[5], NULL, 10)) == CUDA_SUCCESS && given;
    else
        given = driver.cuCtxDestroy_v2(context) == CUDA_SUCCESS && given;
    return given ? EXIT_SUCCESS : EXIT_FAILURE;
}

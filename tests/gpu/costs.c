/* What memory and time the driver's calls take. */
#include "tests/gpu/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- memory: what cuMemGetInfo says before and after ---- */

static size_t free_bytes(void)
{
    size_t bytes = 0, total;
    CUresult result = driver.cuMemGetInfo_v2(&bytes, &total);
    if (result != CUDA_SUCCESS)
        probe_fail(PROBE_FAILED, "cuMemGetInfo_v2 answers %d", result);
    return bytes;
}

static void say_memory(const char *what, size_t asked, long long bytes)
{
    printf("memory\t%s\t%zu\t%lld\n", what, asked, bytes);
}

static long long taken_since(size_t before)
{
    return (long long)before - (long long)free_bytes();
}

static void print_contexts(void)
{
    size_t total_bytes = 0, reported_bytes = 0, before;
    CUcontext second, primary;
    (void)driver.cuDeviceTotalMem_v2(&total_bytes, 0);
    (void)driver.cuMemGetInfo_v2(&before, &reported_bytes);
    say_memory("total, by cuDeviceTotalMem", 0, (long long)total_bytes);
    say_memory("total, by cuMemGetInfo", 0, (long long)reported_bytes);
    say_memory("not free with one context", 0, (long long)(total_bytes - before));
    if (driver.cuCtxCreate_v2(&second, 0, 0) == CUDA_SUCCESS) {
        say_memory("a second context", 0, taken_since(before));
        (void)driver.cuCtxDestroy_v2(second);
        say_memory("left of the second context", 0, taken_since(before));
    }
    before = free_bytes();
    if (driver.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS) {
        say_memory("the primary context", 0, taken_since(before));
        (void)driver.cuDevicePrimaryCtxRelease_v2(0);
        say_memory("left of the primary context", 0, taken_since(before));
    }
}

static void print_one(size_t bytes)
{
    CUdeviceptr address;
    size_t before = free_bytes();
    if (driver.cuMemAlloc_v2(&address, bytes) != CUDA_SUCCESS)
        return;
    say_memory("cuMemAlloc", bytes, taken_since(before));
    (void)driver.cuMemFree_v2(address);
    say_memory("left after cuMemFree", bytes, taken_since(before));
}

static void print_many(size_t bytes)
{
    enum { COUNT = 1000 };
    static CUdeviceptr held[COUNT];
    size_t count = 0, before = free_bytes();
    while (count < COUNT && driver.cuMemAlloc_v2(&held[count], bytes) == CUDA_SUCCESS)
        count++;
    say_memory("cuMemAlloc, 1000 times", bytes, taken_since(before));
    while (count > 0)
        (void)driver.cuMemFree_v2(held[--count]);
}

static long long reserved_bytes(CUmemoryPool pool)
{
    uint64_t bytes = 0;
    return driver.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                        &bytes) == CUDA_SUCCESS
               ? (long long)bytes
               : -1;
}

static void print_pool(size_t bytes)
{
    CUdeviceptr address;
    CUmemoryPool pool;
    if (!probe_has(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) ||
        driver.cuDeviceGetDefaultMemPool(&pool, 0) != CUDA_SUCCESS)
        return;
    size_t before = free_bytes();
    if (driver.cuMemAllocAsync(&address, bytes, NULL) != CUDA_SUCCESS)
        return;
    (void)driver.cuCtxSynchronize();
    say_memory("cuMemAllocAsync", bytes, taken_since(before));
    say_memory("reserved by the pool", bytes, reserved_bytes(pool));
    (void)driver.cuMemFreeAsync(address, NULL);
    say_memory("after cuMemFreeAsync", bytes, taken_since(before));
    (void)driver.cuCtxSynchronize();
    say_memory("after cuCtxSynchronize", bytes, taken_since(before));
    (void)driver.cuMemPoolTrimTo(pool, 0);
    say_memory("after cuMemPoolTrimTo", bytes, taken_since(before));
}

static void print_others(size_t bytes)
{
    CUdeviceptr address;
    void *host;
    size_t before = free_bytes();
    if (driver.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
        say_memory("cuMemAllocManaged, not touched", bytes, taken_since(before));
        (void)driver.cuMemFree_v2(address);
    }
    before = free_bytes();
    if (driver.cuMemAllocHost_v2(&host, bytes) == CUDA_SUCCESS) {
        say_memory("cuMemAllocHost", bytes, taken_since(before));
        (void)driver.cuMemFreeHost(host);
    }
}

void probe_memory(void)
{
    static const size_t lengths[] = {1,       512,         65536,       1048576,
                                     2097152, 2097152 + 1, 3 * 1048576, 100 * 1048576};
    probe_open();
    print_contexts();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        print_one(lengths[i]);
    print_many(1);
    print_many(4096);
    print_pool(1048576);
    print_pool(100 * 1048576);
    print_others(16 * 1048576);
}

/* ---- time ---- */

enum {
    SAMPLES_MOST = 1000,
    SAMPLES_LEAST = 5,
    BUDGET_NS = 150000000, /* of a row; a pair of a GiB may take long */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static CUresult pair_linear(size_t bytes)
{
    CUdeviceptr address;
    CUresult result = driver.cuMemAlloc_v2(&address, bytes);
    return result == CUDA_SUCCESS ? driver.cuMemFree_v2(address) : result;
}

static CUresult pair_host(size_t bytes)
{
    void *address;
    CUresult result = driver.cuMemAllocHost_v2(&address, bytes);
    return result == CUDA_SUCCESS ? driver.cuMemFreeHost(address) : result;
}

static CUresult pair_ordered(size_t bytes)
{
    CUdeviceptr address;
    CUresult result = driver.cuMemAllocAsync(&address, bytes, NULL);
    return result == CUDA_SUCCESS ? driver.cuMemFreeAsync(address, NULL) : result;
}

static CUresult ask_free(size_t bytes)
{
    size_t total;
    return driver.cuMemGetInfo_v2(&bytes, &total);
}

static CUresult look_up(size_t bytes)
{
    void *function;
    (void)bytes;
    return driver.cuGetProcAddress
               ? driver.cuGetProcAddress("cuMemAlloc", &function, 12000, 0)
               : CUDA_ERROR_NOT_FOUND;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void print_time(const char *what, CUresult (*act)(size_t bytes), size_t bytes)
{
    static uint64_t samples[SAMPLES_MOST];
    size_t count = 0;
    CUresult result = act(bytes); /* the first is not like the others */
    for (uint64_t begin = now_ns();
         result == CUDA_SUCCESS && count < SAMPLES_MOST &&
         (count < SAMPLES_LEAST || now_ns() - begin < BUDGET_NS);
         count++) {
        uint64_t before = now_ns();
        result = act(bytes);
        samples[count] = now_ns() - before;
    }
    if (result != CUDA_SUCCESS) {
        printf("time\t%s\t%zu\t0\t%d\t0\t0\n", what, bytes, result);
        return;
    }
    qsort(samples, count, sizeof *samples, by_value);
    printf("time\t%s\t%zu\t%zu\t%llu\t%llu\t%llu\n", what, bytes, count,
           (unsigned long long)samples[count / 2], (unsigned long long)samples[0],
           (unsigned long long)samples[count - 1]);
}

void probe_times(void)
{
    static const size_t lengths[] = {1024,    4096,     65536,     1048576,
                                     2097152, 16777216, 134217728, 1073741824};
    size_t count = sizeof lengths / sizeof *lengths;
    probe_open();
    for (size_t i = 0; i < count; i++)
        print_time("cuMemAlloc and cuMemFree", pair_linear, lengths[i]);
    for (size_t i = 2; i < count - 1; i++)
        print_time("cuMemAllocHost and cuMemFreeHost", pair_host, lengths[i]);
    for (size_t i = 0; probe_has(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) && i < count;
         i++)
        print_time("cuMemAllocAsync and cuMemFreeAsync", pair_ordered, lengths[i]);
    print_time("cuMemGetInfo", ask_free, 0);
    print_time("cuGetProcAddress", look_up, 0);
}

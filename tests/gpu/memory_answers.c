/* Questions about allocations: what is refused, how, and what a refusal leaves behind. */
#include <stdlib.h>

#include "tests/gpu/answers.h"

enum { PAGE = 4096 };

static void ask_alloc(size_t bytes)
{
    CUdeviceptr address = UNTOUCHED;
    CUresult result = driver.cuMemAlloc_v2(&address, bytes);
    reply_output(result, address);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemFree_v2(address);
}

static void ask_host(size_t bytes)
{
    void *address = (void *)(uintptr_t)UNTOUCHED;
    CUresult result = driver.cuMemAllocHost_v2(&address, bytes);
    reply_output(result, (uintptr_t)address);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemFreeHost(address);
}

static void ask_info(void)
{
    size_t free_bytes = UNTOUCHED, total_bytes = UNTOUCHED;
    CUresult result = driver.cuMemGetInfo_v2(&free_bytes, &total_bytes);
    reply_output(result, free_bytes);
}

void ask_alloc_before(void)
{
    ask_alloc(PAGE);
}

void ask_free_before(void)
{
    reply("%d", driver.cuMemFree_v2(0));
}

void ask_host_before(void)
{
    ask_host(PAGE);
}

void ask_info_before(void)
{
    ask_info();
}

void ask_alloc_bare(void)
{
    ask_alloc(PAGE);
}

void ask_free_bare(void)
{
    reply("%d", driver.cuMemFree_v2(0));
}

void ask_host_bare(void)
{
    ask_host(PAGE);
}

void ask_info_bare(void)
{
    ask_info();
}

void ask_free_null(void)
{
    reply("%d", driver.cuMemFree_v2(0));
}

void ask_free_twice(void)
{
    reply("%d", driver.cuMemFree_v2(freed_block()));
}

void ask_free_unknown(void)
{
    reply("%d", driver.cuMemFree_v2(0x1000));
}

void ask_free_inside(void)
{
    CUdeviceptr address = block_of(PAGE);
    reply("%d", driver.cuMemFree_v2(address + 256));
    reply(", then %d", driver.cuMemFree_v2(address));
}

void ask_alloc_nothing(void)
{
    ask_alloc(0);
}

void ask_alloc_too_much(void)
{
    ask_alloc((size_t)1 << 60);
}

void ask_alloc_all(void)
{
    ask_alloc(SIZE_MAX);
}

static void ask_managed(size_t bytes, unsigned flags)
{
    CUdeviceptr address = UNTOUCHED;
    CUresult result = driver.cuMemAllocManaged(&address, bytes, flags);
    reply_output(result, address);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemFree_v2(address);
}

void ask_managed_nothing(void)
{
    ask_managed(0, CU_MEM_ATTACH_GLOBAL);
}

void ask_managed_no_flags(void)
{
    ask_managed(PAGE, 0);
}

void ask_managed_too_much(void)
{
    ask_managed((size_t)1 << 60, CU_MEM_ATTACH_GLOBAL);
}

static void ask_pitch(size_t width, size_t height, unsigned element_bytes)
{
    CUdeviceptr address = UNTOUCHED;
    size_t pitch = UNTOUCHED;
    CUresult result =
        driver.cuMemAllocPitch_v2(&address, &pitch, width, height, element_bytes);
    reply_output(result, address);
    if (result == CUDA_SUCCESS) {
        reply(", pitch %zu", pitch);
        (void)driver.cuMemFree_v2(address);
    } else if (pitch != UNTOUCHED) {
        reply(", pitch written");
    }
}

void ask_pitch_no_width(void)
{
    ask_pitch(0, 16, 4);
}

void ask_pitch_no_height(void)
{
    ask_pitch(16, 0, 4);
}

void ask_pitch_element(void)
{
    ask_pitch(16, 16, 3);
}

void ask_pitches(void)
{
    static const size_t widths[] = {1, 512, 513, 4097};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        reply(i ? "; " : "");
        ask_pitch(widths[i], 16, 4);
    }
}

void ask_host_nothing(void)
{
    ask_host(0);
}

void ask_host_flags(void)
{
    void *address = (void *)(uintptr_t)UNTOUCHED;
    CUresult result = driver.cuMemHostAlloc(&address, PAGE, 0xff00);
    reply_output(result, (uintptr_t)address);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemFreeHost(address);
}

void ask_host_too_much(void)
{
    ask_host((size_t)1 << 60);
}

void ask_free_host_null(void)
{
    reply("%d", driver.cuMemFreeHost(NULL));
}

void ask_free_host_unknown(void)
{
    void *address = malloc(PAGE);
    reply("%d", driver.cuMemFreeHost(address));
    free(address);
}

void ask_free_host_inside(void)
{
    char *address = pinned_of(2 * PAGE);
    reply("%d", driver.cuMemFreeHost(address + PAGE));
    reply(", then %d", driver.cuMemFreeHost(address));
}

/* ---- memory of the program's ---- */

static char *pages(void)
{
    void *address = NULL;
    if (posix_memalign(&address, PAGE, 4 * PAGE) != 0)
        probe_fail(PROBE_FAILED, "no memory");
    return address;
}

void ask_register_nothing(void)
{
    char *memory = pages();
    reply("%d", driver.cuMemHostRegister_v2(memory, 0, 0));
    free(memory);
}

void ask_register_null(void)
{
    reply("%d", driver.cuMemHostRegister_v2(NULL, PAGE, 0));
}

void ask_register_odd(void)
{
    char *memory = pages();
    CUresult result = driver.cuMemHostRegister_v2(memory + 100, 1000, 0);
    reply("%d", result);
    if (result == CUDA_SUCCESS)
        reply(", then %d", driver.cuMemHostUnregister(memory + 100));
    free(memory);
}

static void ask_again(size_t offset)
{
    char *memory = pages();
    if (driver.cuMemHostRegister_v2(memory, 2 * PAGE, 0) != CUDA_SUCCESS)
        probe_fail(PROBE_FAILED, "memory cannot be registered");
    CUresult result = driver.cuMemHostRegister_v2(memory + offset, 2 * PAGE, 0);
    reply("%d", result);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemHostUnregister(memory + offset);
    (void)driver.cuMemHostUnregister(memory);
    free(memory);
}

void ask_register_twice(void)
{
    ask_again(0);
}

void ask_register_over(void)
{
    ask_again(PAGE);
}

void ask_unregister_unknown(void)
{
    char *memory = pages();
    reply("%d", driver.cuMemHostUnregister(memory));
    free(memory);
}

void ask_unregister_inside(void)
{
    char *memory = pages();
    (void)driver.cuMemHostRegister_v2(memory, 2 * PAGE, 0);
    reply("%d", driver.cuMemHostUnregister(memory + PAGE));
    reply(", then %d", driver.cuMemHostUnregister(memory));
    free(memory);
}

/* ---- what a driver may not survive ---- */

void ask_alloc_no_output(void)
{
    reply("%d", driver.cuMemAlloc_v2(NULL, PAGE));
}

void ask_info_no_output(void)
{
    reply("%d", driver.cuMemGetInfo_v2(NULL, NULL));
}

void ask_free_pinned(void)
{
    reply("%d", driver.cuMemFree_v2((uintptr_t)pinned_of(PAGE)));
}

void ask_free_host_of_device(void)
{
    reply("%d", driver.cuMemFreeHost((void *)(uintptr_t)block_of(PAGE)));
}

void ask_free_host_twice(void)
{
    void *address = pinned_of(PAGE);
    (void)driver.cuMemFreeHost(address);
    reply("%d", driver.cuMemFreeHost(address));
}

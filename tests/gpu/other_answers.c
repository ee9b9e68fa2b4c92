/* Questions about contexts, about what a pointer is, and about stream-ordered memory. */
#include <stdlib.h>

#include "tests/gpu/answers.h"

enum { BYTES = 1000 };

/* ---- contexts ---- */

void ask_count_before(void)
{
    int count = UNTOUCHED;
    reply_output(driver.cuDeviceGetCount(&count), (uint64_t)count);
}

void ask_pop_bare(void)
{
    CUcontext context;
    reply("%d", driver.cuCtxPopCurrent_v2(&context));
}

void ask_destroy_null(void)
{
    reply("%d", driver.cuCtxDestroy_v2(NULL));
}

void ask_release_unretained(void)
{
    reply("%d", driver.cuDevicePrimaryCtxRelease_v2(0));
}

void ask_total_of_no_device(void)
{
    size_t bytes = UNTOUCHED;
    CUresult result = driver.cuDeviceTotalMem_v2(&bytes, 99);
    reply_output(result, bytes);
}

static CUcontext another_context(void)
{
    CUcontext context;
    if (driver.cuCtxCreate_v2(&context, 0, 0) != CUDA_SUCCESS)
        probe_fail(PROBE_FAILED, "no second context");
    return context;
}

void ask_free_elsewhere(void)
{
    CUdeviceptr address = block_of(BYTES);
    CUcontext other = another_context();
    reply("%d", driver.cuMemFree_v2(address));
    (void)driver.cuCtxDestroy_v2(other);
}

void ask_free_after_context(void)
{
    CUcontext other = another_context();
    CUdeviceptr address = block_of(BYTES);
    (void)driver.cuCtxDestroy_v2(other);
    reply("%d", driver.cuMemFree_v2(address));
}

void ask_host_after_context(void)
{
    CUcontext other = another_context();
    void *address = pinned_of(BYTES);
    (void)driver.cuCtxDestroy_v2(other);
    reply("%d", driver.cuMemFreeHost(address));
}

void ask_destroy_twice(void)
{
    CUcontext other = another_context();
    reply("%d, then ", driver.cuCtxDestroy_v2(other));
    reply("%d", driver.cuCtxDestroy_v2(other));
}

/* ---- pointers ---- */

/* Of an address inside of what begins at `start`. */
static void ask_range(CUdeviceptr address, CUdeviceptr start)
{
    CUdeviceptr found = UNTOUCHED;
    size_t bytes = UNTOUCHED;
    CUresult result = driver.cuMemGetAddressRange_v2(&found, &bytes, address);
    if (result == CUDA_SUCCESS)
        reply("0, %s, %zu bytes", found == start ? "its start" : "another start", bytes);
    else
        reply_output(result, found);
}

void ask_range_inside(void)
{
    CUdeviceptr address = block_of(BYTES);
    ask_range(address + BYTES / 2, address);
    (void)driver.cuMemFree_v2(address);
}

void ask_range_freed(void)
{
    CUdeviceptr address = freed_block();
    ask_range(address, address);
}

void ask_range_host(void)
{
    void *address = pinned_of(BYTES);
    ask_range((uintptr_t)address, (uintptr_t)address);
    (void)driver.cuMemFreeHost(address);
}

void ask_range_outputs(void)
{
    CUdeviceptr address = block_of(BYTES), start = UNTOUCHED;
    size_t bytes = UNTOUCHED;
    reply("both %d", driver.cuMemGetAddressRange_v2(NULL, NULL, address));
    reply(", the start's %d", driver.cuMemGetAddressRange_v2(NULL, &bytes, address));
    reply(", the size's %d", driver.cuMemGetAddressRange_v2(&start, NULL, address));
    (void)driver.cuMemFree_v2(address);
}

static void ask_type(CUdeviceptr address)
{
    unsigned type = UNTOUCHED;
    CUresult result =
        driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (result == CUDA_SUCCESS)
        reply("0, type %u", type);
    else
        reply_output(result, type);
}

void ask_type_device(void)
{
    CUdeviceptr address = block_of(BYTES);
    ask_type(address);
    reply("; ");
    ask_type(address + BYTES / 2);
    (void)driver.cuMemFree_v2(address);
}

void ask_type_freed(void)
{
    ask_type(freed_block());
}

void ask_type_pinned(void)
{
    void *address = pinned_of(BYTES);
    ask_type((uintptr_t)address);
    (void)driver.cuMemFreeHost(address);
}

void ask_type_host(void)
{
    void *address = malloc(BYTES);
    ask_type((uintptr_t)address);
    free(address);
}

void ask_type_managed(void)
{
    CUdeviceptr address;
    unsigned managed = UNTOUCHED;
    CUresult result = driver.cuMemAllocManaged(&address, BYTES, CU_MEM_ATTACH_GLOBAL);
    if (result != CUDA_SUCCESS) {
        reply("cuMemAllocManaged answers %d", result);
        return;
    }
    ask_type(address);
    result =
        driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
    reply("; %d, managed %u", result, managed & 1);
    (void)driver.cuMemFree_v2(address);
}

void ask_context_freed(void)
{
    CUcontext context = (CUcontext)(uintptr_t)UNTOUCHED;
    CUresult result = driver.cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                                                   freed_block());
    reply_output(result, (uintptr_t)context);
}

void ask_range_size(void)
{
    CUdeviceptr address = block_of(BYTES);
    size_t bytes = UNTOUCHED;
    CUresult result = driver.cuPointerGetAttribute(
        &bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + BYTES / 2);
    reply("%d, %zu bytes", result, bytes);
    (void)driver.cuMemFree_v2(address);
}

static void ask_attributes(CUdeviceptr address)
{
    static CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                               CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    unsigned type = UNTOUCHED, managed = UNTOUCHED;
    size_t bytes = UNTOUCHED;
    void *values[] = {&type, &managed, &bytes};
    CUresult result = driver.cuPointerGetAttributes(3, attributes, values, address);
    reply("%d, type ", result);
    reply(type == UNTOUCHED ? "untouched" : "%u", type);
    reply(managed == UNTOUCHED ? ", managed untouched" : ", managed %u", managed & 1);
    reply(bytes == UNTOUCHED ? ", size untouched" : ", size %zu", bytes);
}

void ask_attributes_freed(void)
{
    ask_attributes(freed_block());
}

void ask_attributes_unknown(void)
{
    ask_attributes(0x1000);
}

void ask_sync_memops(void)
{
    unsigned on = 1;
    CUdeviceptr address = block_of(BYTES);
    reply("%d",
          driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    (void)driver.cuMemFree_v2(address);
    reply(", %d", driver.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                               freed_block()));
}

static CUresult share(CUdeviceptr address)
{
    CUipcMemHandle handle;
    return driver.cuIpcGetMemHandle(&handle, address);
}

void ask_ipc_block(void)
{
    CUdeviceptr address = block_of(BYTES);
    reply("%d", share(address));
    reply(", %d", share(address + BYTES / 2));
    (void)driver.cuMemFree_v2(address);
}

void ask_ipc_freed(void)
{
    reply("%d", share(freed_block()));
}

/* ---- stream-ordered memory ---- */

/* False, and said, where the driver has none. */
static bool take_ordered(CUdeviceptr *address, size_t bytes)
{
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (driver.cuMemAllocAsync)
        result = driver.cuMemAllocAsync(address, bytes, NULL);
    if (result != CUDA_SUCCESS)
        reply("cuMemAllocAsync answers %d", result);
    return result == CUDA_SUCCESS;
}

static void ask_ordered(size_t bytes)
{
    CUdeviceptr address = UNTOUCHED;
    if (!driver.cuMemAllocAsync) {
        reply("not there");
        return;
    }
    CUresult result = driver.cuMemAllocAsync(&address, bytes, NULL);
    reply_output(result, address);
    if (result == CUDA_SUCCESS)
        (void)driver.cuMemFreeAsync(address, NULL);
}

void ask_ordered_nothing(void)
{
    ask_ordered(0);
}

void ask_ordered_too_much(void)
{
    ask_ordered((size_t)1 << 50);
}

void ask_ordered_free_null(void)
{
    if (driver.cuMemFreeAsync)
        reply("%d", driver.cuMemFreeAsync(0, NULL));
}

void ask_ordered_freed_at_once(void)
{
    CUdeviceptr address;
    if (take_ordered(&address, BYTES))
        reply("%d", driver.cuMemFree_v2(address));
}

void ask_ordered_of_linear(void)
{
    CUdeviceptr address = block_of(BYTES);
    CUresult result = driver.cuMemFreeAsync ? driver.cuMemFreeAsync(address, NULL)
                                            : CUDA_ERROR_NOT_FOUND;
    reply("%d", result);
    if (result != CUDA_SUCCESS)
        (void)driver.cuMemFree_v2(address);
}

void ask_ordered_twice(void)
{
    CUdeviceptr address;
    if (!take_ordered(&address, BYTES))
        return;
    reply("%d", driver.cuMemFreeAsync(address, NULL));
    reply(", then %d", driver.cuMemFreeAsync(address, NULL));
}

void ask_ordered_range(void)
{
    CUdeviceptr address;
    if (!take_ordered(&address, BYTES))
        return;
    ask_range(address, address);
    (void)driver.cuMemFreeAsync(address, NULL);
}

void ask_ordered_ipc(void)
{
    CUdeviceptr address;
    if (!take_ordered(&address, BYTES))
        return;
    reply("%d", share(address));
    (void)driver.cuMemFreeAsync(address, NULL);
}

#include "tools/simcuda/context.h"

#include "tools/simcuda/device.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/names.h"

enum {
    STACK_DEPTH = 64, /* contexts pushed by one thread; past that, out of memory */
    DEFAULT_STACK_BYTES = 1024,
    DEFAULT_FIFO_BYTES = 1 << 20,
    DEFAULT_HEAP_BYTES = 8 << 20,
};

static LIST_HEAD(, CUctx_st) every = LIST_HEAD_INITIALIZER(every);

static _Thread_local struct {
    CUcontext contexts[STACK_DEPTH];
    unsigned depth;
} stack;

CUcontext sim_context_new(CUdevice device, bool primary)
{
    CUcontext context = sim_object_create(SIM_CONTEXT, sizeof *context, NULL);
    if (context == NULL)
        return NULL;
    LIST_INIT(&context->objects);
    LIST_INIT(&context->blocks);
    LIST_INIT(&context->queues);
    LIST_INSERT_HEAD(&every, context, all);
    context->device = device;
    context->primary = primary;
    return context;
}

CUresult sim_context_begin(CUcontext context, unsigned flags)
{
    static uint64_t context_count;
    if (!sim_block_take(context->device, sim_knobs->context_bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->live = true;
    context->broken = CUDA_SUCCESS;
    context->flags = flags;
    context->id = ++context_count;
    context->cache_preference = 0;
    context->bank_size = 0;
    context->limits[CU_LIMIT_STACK_SIZE] = DEFAULT_STACK_BYTES;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = DEFAULT_FIFO_BYTES;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = DEFAULT_HEAP_BYTES;
    return CUDA_SUCCESS;
}

void sim_context_end(CUcontext context)
{
    context->live = false;
    context->ending = true;
    sim_queue_end_all(context);
    sim_works_drop(&context->gates);
    while (!LIST_EMPTY(&context->objects))
        sim_object_destroy(LIST_FIRST(&context->objects));
    while (!LIST_EMPTY(&context->blocks))
        sim_block_destroy(LIST_FIRST(&context->blocks));
    context->ending = false;
    sim_block_give(context->device, sim_knobs->context_bytes);
}

CUcontext sim_context_next(CUcontext context)
{
    return context == NULL ? LIST_FIRST(&every) : LIST_NEXT(context, all);
}

CUresult sim_context_drain_all(void)
{
    struct sim_works works = {0};
    CUresult result = CUDA_SUCCESS;
    CUcontext context;
    LIST_FOREACH(context, &every, all)
    if (context->live && !sim_queue_gather_all(context, &works))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = sim_works_wait(&works);
    sim_works_drop(&works);
    return result;
}

CUcontext sim_context_current(void)
{
    return stack.depth > 0 ? stack.contexts[stack.depth - 1] : NULL;
}

CUresult sim_context_check(CUcontext context)
{
    if (!sim_object_is(context, SIM_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    return context->live ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_context_push(CUcontext context)
{
    CUresult result = sim_context_check(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (stack.depth == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack.contexts[stack.depth++] = context;
    return CUDA_SUCCESS;
}

CUresult sim_context_pop(CUcontext *context)
{
    if (stack.depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context != NULL)
        *context = sim_context_current();
    stack.depth--;
    return CUDA_SUCCESS;
}

CUresult sim_context_set_current(CUcontext context)
{
    if (context == NULL) {
        if (stack.depth > 0)
            stack.depth--;
        return CUDA_SUCCESS;
    }
    if (stack.depth == 0)
        return sim_context_push(context);
    CUresult result = sim_context_check(context);
    if (result == CUDA_SUCCESS)
        stack.contexts[stack.depth - 1] = context;
    return result;
}

CUresult sim_context_get_current(CUcontext *context)
{
    if (context == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *context = sim_context_current();
    return CUDA_SUCCESS;
}

CUresult sim_context_create(CUcontext *context, unsigned flags, CUdevice device)
{
    if (context == NULL || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (stack.depth == STACK_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUcontext created = sim_context_new(device, false);
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = sim_context_begin(created, flags);
    if (result != CUDA_SUCCESS)
        return result;
    *context = created;
    return sim_context_push(created);
}

/* The extras of 11040 and 12050 share a device among contexts, which is not simulated. */
CUresult sim_context_create_v3(CUcontext *context,
                               struct CUexecAffinityParam_st *affinity,
                               int affinity_count, unsigned flags, CUdevice device)
{
    if (affinity != NULL || affinity_count != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_context_create(context, flags, device);
}

CUresult sim_context_create_v4(CUcontext *context, CUctxCreateParams *extras,
                               unsigned flags, CUdevice device)
{
    if (extras == NULL)
        return sim_context_create(context, flags, device);
    if (extras->cigParams != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    return sim_context_create_v3(context, extras->execAffinityParams,
                                 extras->numExecAffinityParams, flags, device);
}

/* Other threads keep the destroyed context on their stacks, and are told when they use
 * it. */
CUresult sim_context_destroy(CUcontext context)
{
    CUresult result = sim_context_check(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (context->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (sim_context_current() == context)
        stack.depth--;
    sim_context_end(context);
    return CUDA_SUCCESS;
}

/* What can be asked of a context and set on it. Settings that would only change how fast
   work runs are kept and given back. */
#include "tools/simcuda/context.h"

#include "tools/simcuda/names.h"
#include "tools/simcuda/pool.h"

enum {
    API_VERSION = 3020, /* what cuCtxGetApiVersion has said since then */
    LEAST_PRIORITY = 0,
    GREATEST_PRIORITY = -5,
};

/* Since 13000, NULL names the current context. */
static CUresult resolve(CUcontext *context)
{
    if (*context == NULL)
        *context = sim_context_current();
    CUresult result = sim_context_check(*context);
    return result == CUDA_SUCCESS ? (*context)->broken : result;
}

CUresult sim_context_device_of(CUdevice *device, CUcontext context)
{
    CUresult result = resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *device = context->device;
    return CUDA_SUCCESS;
}

CUresult sim_context_device(CUdevice *device)
{
    return sim_context_device_of(device, NULL);
}

CUresult sim_context_synchronize_one(CUcontext context)
{
    CUresult result = resolve(&context);
    if (result == CUDA_SUCCESS)
        result = sim_capture_forbid_context(context);
    if (result == CUDA_SUCCESS)
        result = sim_queue_drain(context);
    if (result == CUDA_SUCCESS)
        sim_pool_synchronized(context->device);
    return result == CUDA_SUCCESS ? context->broken : result;
}

CUresult sim_context_synchronize(void)
{
    return sim_context_synchronize_one(NULL);
}

CUresult sim_context_api_version(CUcontext context, unsigned *version)
{
    CUresult result = resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = API_VERSION;
    return CUDA_SUCCESS;
}

CUresult sim_context_id(CUcontext context, unsigned long long *id)
{
    CUresult result = resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult sim_context_get_flags(unsigned *flags)
{
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = sim_context_current()->flags;
    return CUDA_SUCCESS;
}

CUresult sim_context_set_flags(unsigned flags)
{
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_context_current()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult sim_context_get_limit(size_t *value, CUlimit limit)
{
    if (value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit < 0 || limit >= SIM_LIMIT_COUNT)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = sim_context_current()->limits[limit];
    return CUDA_SUCCESS;
}

CUresult sim_context_set_limit(CUlimit limit, size_t value)
{
    if (limit < 0 || limit >= SIM_LIMIT_COUNT)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    sim_context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult sim_context_get_cache(int *preference)
{
    if (preference == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *preference = sim_context_current()->cache_preference;
    return CUDA_SUCCESS;
}

CUresult sim_context_set_cache(int preference)
{
    sim_context_current()->cache_preference = preference;
    return CUDA_SUCCESS;
}

CUresult sim_context_get_banks(int *bank_size)
{
    if (bank_size == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *bank_size = sim_context_current()->bank_size;
    return CUDA_SUCCESS;
}

CUresult sim_context_set_banks(int bank_size)
{
    sim_context_current()->bank_size = bank_size;
    return CUDA_SUCCESS;
}

CUresult sim_context_priorities(int *least, int *greatest)
{
    if (least != NULL)
        *least = LEAST_PRIORITY;
    if (greatest != NULL)
        *greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

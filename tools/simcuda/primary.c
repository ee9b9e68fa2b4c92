/* The primary context of each device: one handle for the life of the process, live while
   somebody retains it and nobody reset it. */
#include "tools/simcuda/context.h"

#include "tools/simcuda/device.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/names.h"

static struct {
    CUcontext context; /* NULL until first retained */
    unsigned retain_count;
    unsigned flags;
} primaries[SIM_DEVICE_LIMIT];

static bool is_live(CUdevice device)
{
    return primaries[device].context != NULL && primaries[device].context->live;
}

CUresult sim_primary_retain(CUcontext *context, CUdevice device)
{
    if (context == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (primaries[device].context == NULL)
        primaries[device].context = sim_context_new(device, true);
    if (primaries[device].context == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    while (primaries[device].context->ending)
        sim_entry_wait();
    if (!is_live(device)) {
        CUresult result =
            sim_context_begin(primaries[device].context, primaries[device].flags);
        if (result != CUDA_SUCCESS)
            return result;
    }
    primaries[device].retain_count++;
    *context = primaries[device].context;
    return CUDA_SUCCESS;
}

/* Ends what the context owns and keeps the count: whoever retained it still releases it. */
CUresult sim_primary_reset(CUdevice device)
{
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (is_live(device))
        sim_context_end(primaries[device].context);
    return CUDA_SUCCESS;
}

CUresult sim_primary_release(CUdevice device)
{
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (primaries[device].retain_count == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--primaries[device].retain_count > 0)
        return CUDA_SUCCESS;
    return sim_primary_reset(device);
}

CUresult sim_primary_state(CUdevice device, unsigned *flags, int *active)
{
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (flags == NULL || active == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = primaries[device].flags;
    *active = is_live(device);
    return CUDA_SUCCESS;
}

CUresult sim_primary_set_flags(CUdevice device, unsigned flags)
{
    if (!sim_device_exists(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    primaries[device].flags = flags;
    if (is_live(device))
        primaries[device].context->flags = flags;
    return CUDA_SUCCESS;
}

#include "tools/simcuda/device.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/simcuda/knobs.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/version.h"

static enum { FRESH, READY, LOST } state;

bool sim_device_ready(void)
{
    return state == READY;
}

void sim_device_lose(void)
{
    if (state == READY)
        state = LOST;
}

bool sim_device_exists(CUdevice device)
{
    return device >= 0 && device < sim_knobs->device_count;
}

int sim_device_bus(CUdevice device)
{
    return device + 1;
}

CUresult sim_device_init(unsigned flags)
{
    if (state == LOST)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0 || !sim_knobs_valid())
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_knobs->device_count == 0)
        return CUDA_ERROR_NO_DEVICE;
    state = READY;
    return CUDA_SUCCESS;
}

CUresult sim_device_driver_version(int *version)
{
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = sim_version;
    return CUDA_SUCCESS;
}

CUresult sim_device_get(CUdevice *device, int ordinal)
{
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult sim_device_count(int *count)
{
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sim_knobs->device_count;
    return CUDA_SUCCESS;
}

/* What every question about one device needs: somewhere to answer, and the device. */
static CUresult askable(const void *answer, CUdevice device)
{
    if (answer == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_device_exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult sim_device_name(char *name, int capacity, CUdevice device)
{
    CUresult result = askable(name, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (capacity <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)capacity, "Simulated CUDA device");
    return CUDA_SUCCESS;
}

CUresult sim_device_uuid(CUuuid *uuid, CUdevice device)
{
    CUresult result = askable(uuid, device);
    if (result != CUDA_SUCCESS)
        return result;
    static const char text[] = "simulated-devic";
    memcpy(uuid->bytes, text, sizeof text);
    uuid->bytes[sizeof uuid->bytes - 1] = (char)device;
    return CUDA_SUCCESS;
}

CUresult sim_device_attribute(int *value, CUdevice_attribute attribute, CUdevice ordinal)
{
    CUresult result = askable(value, ordinal);
    if (result != CUDA_SUCCESS)
        return result;
    const struct {
        CUdevice_attribute number;
        int value;
    } rows[] = {
#define ATTRIBUTE(name, number, value) {number, value},
#include "tools/simcuda/attributes.def"
#undef ATTRIBUTE
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].number == attribute) {
            *value = rows[i].value;
            return CUDA_SUCCESS;
        }
    }
    return attribute > 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_device_properties(CUdevprop *properties, CUdevice device)
{
    CUresult result = askable(properties, device);
    if (result != CUDA_SUCCESS)
        return result;
    *properties = (CUdevprop){
        .maxThreadsPerBlock = SIM_BLOCK_THREADS,
        .maxThreadsDim = {SIM_BLOCK_THREADS, SIM_BLOCK_THREADS, 64},
        .maxGridSize = {65535, 65535, 65535},
        .sharedMemPerBlock = SIM_SHARED_BYTES,
        .totalConstantMemory = 65536,
        .SIMDWidth = SIM_WARP_THREADS,
        .memPitch = INT_MAX,
        .regsPerBlock = 65536,
        .clockRate = 1500000,
        .textureAlign = 512,
    };
    return CUDA_SUCCESS;
}

CUresult sim_device_capability(int *major, int *minor, CUdevice device)
{
    CUresult result = askable(minor, device);
    if (result == CUDA_SUCCESS)
        result = sim_device_attribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                      device);
    if (result == CUDA_SUCCESS)
        result = sim_device_attribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                      device);
    return result;
}

CUresult sim_device_total(size_t *bytes, CUdevice device)
{
    CUresult result = askable(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = sim_knobs->device_bytes;
    return result;
}

/* Before 3020 sizes had 32 bits; what does not fit is the most that does. */
CUresult sim_device_total_32(unsigned *bytes, CUdevice device)
{
    CUresult result = askable(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = sim_knobs->device_bytes < UINT_MAX ? (unsigned)sim_knobs->device_bytes
                                                    : UINT_MAX;
    return result;
}

CUresult sim_device_bus_id(char *bus_id, int capacity, CUdevice device)
{
    CUresult result = askable(bus_id, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (capacity <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(bus_id, (size_t)capacity, "0000:%02X:00.0",
             (unsigned)sim_device_bus(device));
    return CUDA_SUCCESS;
}

/* "domain:bus:slot", hexadecimal, the domain optional; ".function" may follow. */
static bool parse_bus_id(const char *text, unsigned *domain, unsigned *bus,
                         unsigned *slot)
{
    if (sscanf(text, "%x:%x:%x", domain, bus, slot) == 3)
        return true;
    *domain = 0;
    return sscanf(text, "%x:%x", bus, slot) == 2;
}

CUresult sim_device_by_bus_id(CUdevice *device, const char *bus_id)
{
    unsigned domain;
    unsigned bus;
    unsigned slot;
    if (device == NULL || bus_id == NULL || !parse_bus_id(bus_id, &domain, &bus, &slot))
        return CUDA_ERROR_INVALID_VALUE;
    for (CUdevice candidate = 0; sim_device_exists(candidate); candidate++) {
        if (domain == 0 && slot == 0 && bus == (unsigned)sim_device_bus(candidate)) {
            *device = candidate;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

/* No device reaches another's memory: copies between them go through the driver. */
CUresult sim_device_peer_access(int *possible, CUdevice device, CUdevice peer)
{
    CUresult result = askable(possible, device);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_device_exists(peer))
        return CUDA_ERROR_INVALID_DEVICE;
    *possible = 0;
    return CUDA_SUCCESS;
}

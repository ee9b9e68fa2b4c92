#include "tools/tidemark/admit_devices.h"

#include <stdlib.h>
#include <string.h>

#include "policy/quantity.h"

/* Reads the device at *text and moves *text past it. */
static bool read_index(const char **text, uint64_t *index)
{
    size_t length = strspn(*text, "0123456789");

    /* No host has devices of more digits, and none of these wraps. */
    if (length == 0 || length > 4)
        return false;
    *index = strtoul(*text, NULL, 10);
    *text += length;
    return true;
}

const struct admit_device *admit_devices_find(const struct admit_devices *devices,
                                              uint64_t index)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->list[i].index == index)
            return &devices->list[i];
    return NULL;
}

static bool add(struct admit_devices *devices, struct admit_device device)
{
    if (devices->count == ADMIT_DEVICES_MAX ||
        admit_devices_find(devices, device.index) != NULL)
        return false;
    devices->list[devices->count++] = device;
    return true;
}

bool admit_devices_add_limit(struct admit_devices *devices, const char *text)
{
    struct admit_device device;

    return read_index(&text, &device.index) && *text++ == '=' &&
           policy_quantity_parse_bytes(text, &device.limit_bytes) && add(devices, device);
}

bool admit_devices_add(struct admit_devices *devices, const char *text)
{
    struct admit_device device = {.limit_bytes = 0};

    return read_index(&text, &device.index) && *text == '\0' && add(devices, device);
}

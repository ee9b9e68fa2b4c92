/* The devices that a command line names, each once. */
#ifndef TIDEMARK_ADMIT_DEVICES_H
#define TIDEMARK_ADMIT_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADMIT_DEVICES_MAX = 64 }; /* more than one host has */

struct admit_device {
    uint64_t index;
    uint64_t limit_bytes; /* 0: none is known, which adds no cap */
};

struct admit_devices {
    struct admit_device list[ADMIT_DEVICES_MAX];
    size_t count;
};

#define ADMIT_DEVICE_LIMIT_RULE "must be N=BYTES, for each device once and for at most 64"
#define ADMIT_DEVICE_RULE       "must be a device's number, each once and at most 64"

/* Adds what "N=BYTES", or "N" alone, names; false, and nothing changed, when the text is not of
   that form, or the device is there already. */
bool admit_devices_add_limit(struct admit_devices *devices, const char *text);
bool admit_devices_add(struct admit_devices *devices, const char *text);

/* NULL when it is not there. */
const struct admit_device *admit_devices_find(const struct admit_devices *devices,
                                              uint64_t index);

#endif

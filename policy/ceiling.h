/* What is allowed on one device: a request of the user and the limit that the device
   reports become the ceiling, with the place it came from. Pure; never asks a device. */
#ifndef POLICY_CEILING_H
#define POLICY_CEILING_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/quantity.h"

enum policy_ceiling_kind {
    POLICY_CEILING_DEVICE,  /* what the device reports, less headroom (the default) */
    POLICY_CEILING_NONE,    /* unbudgeted */
    POLICY_CEILING_BYTES,   /* an explicit size */
    POLICY_CEILING_PERCENT, /* a share of what headroom leaves of the device */
};

/* What the user asked for. */
struct policy_ceiling_request {
    enum policy_ceiling_kind kind;
    uint64_t bytes;               /* POLICY_CEILING_BYTES only, at least 1 */
    struct policy_fraction share; /* POLICY_CEILING_PERCENT only */
};

enum policy_ceiling_source {
    POLICY_CEILING_FROM_REQUEST, /* the request decided */
    POLICY_CEILING_FROM_CAP,     /* an explicit request was cut to what headroom leaves */
    POLICY_CEILING_FROM_DEVICE,  /* device limit less headroom, by default */
    POLICY_CEILING_UNBUDGETED,   /* none requested, or no limit reported */
};

/* A resolved ceiling. `bytes` is UINT64_MAX when nothing is limited. */
struct policy_ceiling {
    uint64_t bytes;              /* B_effective, at least 1 */
    uint64_t requested_bytes;    /* B_requested; 0 when unbudgeted */
    uint64_t device_limit_bytes; /* L_d; 0 when the device reports none */
    uint64_t headroom_bytes;     /* ceil(f * L_d) */
    enum policy_ceiling_source source;
};

/* max(1, min(B_requested, L_d - ceil(f * L_d))); a device that reports no limit
   (device_limit_bytes 0) adds no cap. The headroom is applied once. */
struct policy_ceiling policy_ceiling_resolve(const struct policy_ceiling_request *request,
                                             struct policy_fraction headroom,
                                             uint64_t device_limit_bytes);

/* Reads "device", "none", a size of at least one byte, or a percentage. */
POLICY_MUST_CHECK bool policy_ceiling_parse(const char *text,
                                            struct policy_ceiling_request *request);

/* One word for reports: "request", "request capped by headroom", "device less headroom",
   "unbudgeted". */
const char *policy_ceiling_source_text(enum policy_ceiling_source source);

#endif

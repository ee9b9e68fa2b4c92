/* What is allowed of one kind of memory: a request of the user and all that there is become
   the ceiling, with the place it came from. All that there is, is what a device reports, or
   the memory that the process may use. Pure; never asks a device or the kernel. */
#ifndef POLICY_CEILING_H
#define POLICY_CEILING_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/quantity.h"

enum policy_ceiling_kind {
    POLICY_CEILING_DEVICE,  /* what the device reports, less headroom (the default) */
    POLICY_CEILING_NONE,    /* unbudgeted */
    POLICY_CEILING_BYTES,   /* an explicit size */
    POLICY_CEILING_PERCENT, /* a share of what headroom leaves */
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
    uint64_t bytes;           /* B_effective, at least 1 */
    uint64_t requested_bytes; /* B_requested; 0 when unbudgeted */
    uint64_t total_bytes;     /* L, all that there is; 0 when that is not known */
    uint64_t headroom_bytes;  /* ceil(f * L) */
    enum policy_ceiling_source source;
};

/* max(1, min(B_requested, L - ceil(f * L))); where L is not known (total_bytes 0) it adds
   no cap. The headroom is applied once. */
struct policy_ceiling policy_ceiling_resolve(const struct policy_ceiling_request *request,
                                             struct policy_fraction headroom,
                                             uint64_t total_bytes);

/* Reads "device", "none", a size of at least one byte, or a percentage. */
POLICY_MUST_CHECK bool policy_ceiling_parse(const char *text,
                                            struct policy_ceiling_request *request);

/* The same for memory of the host, of which there is no default limit: "device" is not read. */
POLICY_MUST_CHECK bool policy_ceiling_parse_host(const char *text,
                                                 struct policy_ceiling_request *request);

/* One word for reports: "request", "request capped by headroom", "device less headroom",
   "unbudgeted". */
const char *policy_ceiling_source_text(enum policy_ceiling_source source);

#endif

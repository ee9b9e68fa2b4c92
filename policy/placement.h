/* Where buffers may lie in one address space, so that two whose lives overlap never share
   an address. Buffers are placed one after the other, each in the smallest gap that its
   contemporaries leave. Several orders are tried, with the buffer that rises highest moved
   forward and forward again; the lowest result counts. The same plan is placed alike
   everywhere. Pure: the caller lends the memory to work in. */
#ifndef POLICY_PLACEMENT_H
#define POLICY_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "policy/gaps.h"
#include "policy/rank.h"
#include "policy/space.h"
#include "policy/verdict.h"

/* What a plan takes: four numbers, of which none stands for another. */
struct policy_high_water {
    uint64_t logical_high_water_bytes;  /* the largest offset at which a buffer ends */
    uint64_t peak_live_bytes;           /* most reserved at one moment: the lower bound */
    uint64_t artefact_overhead_bytes;   /* logical high-water less peak live */
    uint64_t runtime_reservation_bytes; /* logical high-water in whole units */
};

struct policy_placement_verdict {
    struct policy_verdict verdict; /* as of policy_space_admit */
    size_t buffer;                 /* the one refused; `count`: the space itself is */
    uint64_t offset;               /* where it was tried */
    uint64_t peak_live_bytes;      /* 0 if malformed; UINT64_MAX also stands for more */
};

/* What the caller lends; the contents do not matter, before or after. */
struct policy_placement_work {
    struct policy_rank *ranks;   /* two a buffer */
    struct policy_place *places; /* one a buffer */
    uint64_t *offsets;           /* one a buffer */
};

/* Places `count` buffers as low as it finds, and holds the result to the limits of the
   space. Refused: something is malformed, cannot be had even alone, or lies beyond a limit
   in the lowest plan that was found; *offsets and *high_water are then untouched. */
struct policy_placement_verdict
policy_placement_plan(const struct policy_space *space,
                      const struct policy_buffer *buffers, size_t count,
                      const struct policy_placement_work *work, uint64_t *offsets,
                      struct policy_high_water *high_water);

#endif

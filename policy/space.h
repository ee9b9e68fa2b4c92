/* An address space, and the one check of whether a range of it can be had. Three limits are
   kept apart: what 64-bit arithmetic can express, what an address can, and what storage
   there is. A space whose storage is not known is still held to the other two. Pure. */
#ifndef POLICY_SPACE_H
#define POLICY_SPACE_H

#include <stdint.h>

#include "policy/verdict.h"

struct policy_space {
    uint64_t base;            /* address of offset 0 */
    uint64_t largest_address; /* the most that an address, exclusive ends included, is */
    uint64_t capacity_bytes;  /* of the storage; UINT64_MAX: not known */
    uint64_t unit_bytes;      /* storage is reserved in whole units, at least 1 */
    uint64_t
        external_peak_bytes; /* most that others were recorded to hold of the storage */
};

/* Whether `bytes`, rounded up to `alignment`, can be had from `offset` on. Of the verdict:
   reserved_bytes is what would be taken from there on, and asked_bytes again where that
   cannot be represented; held_bytes is how much of limit_bytes lies before it: the start
   address, or the storage in use. */
struct policy_verdict policy_space_admit(const struct policy_space *space,
                                         uint64_t offset, uint64_t bytes,
                                         uint64_t alignment);

/* The same from the first offset, at or after `offset`, of which the address is a multiple
   of `alignment`. *aligned_offset is written only when admitted. */
struct policy_verdict policy_space_place(const struct policy_space *space,
                                         uint64_t offset, uint64_t bytes,
                                         uint64_t alignment, uint64_t *aligned_offset);

/* What the verdict's limit leaves beside what is held. */
uint64_t policy_space_left(const struct policy_verdict *verdict);

/* Where a refusal's limit comes from: "capacity", "largest_address", "64-bit arithmetic";
   "" where there is none. */
const char *policy_space_limit_source(enum policy_verdict_kind kind);

#endif

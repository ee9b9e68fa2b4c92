/* Whether something fits a ceiling beside what is there already. One test serves the charge of
   a run (policy/ledger.h) and the plan of a program, so that they cannot disagree. Pure. */
#ifndef POLICY_ADMIT_H
#define POLICY_ADMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/ceiling.h"
#include "policy/checked.h"
#include "policy/reservation.h"
#include "policy/verdict.h"

/* The test: held + bytes <= limit. asked_bytes and reserved_bytes are both `bytes`; short_bytes is
   what is missing, whether the sum is too large for the limit or for 64 bits. */
struct policy_verdict policy_admit_bytes(uint64_t held_bytes, uint64_t bytes,
                                         uint64_t limit_bytes);

/* A plan over several devices has to fit the least of their ceilings: the index of the
   first such; `count` is at least 1. An unbudgeted device caps nothing. */
size_t policy_admit_least(const struct policy_ceiling *ceilings, size_t count);

/* What needs no report to be refused: a ceiling that rests on the limit a growing pool
   reports (POLICY_GROWING_POOL), and resident bytes that leave nothing of the ceiling.
   short_bytes is then what a program of one byte would lack. */
struct policy_verdict policy_admit_early(const struct policy_ceiling *ceiling,
                                         bool pool_grows, uint64_t resident_bytes);

/* resident + reservation <= ceiling. The verdict's asked_bytes is the raw peak. */
struct policy_verdict policy_admit(const struct policy_ceiling *ceiling,
                                   uint64_t resident_bytes,
                                   const struct policy_reservation *reservation);

/* A refinement of what is resident may only raise the bound. False, and *resident_bytes
   untouched, for a lower one. */
POLICY_MUST_CHECK bool policy_admit_refine(uint64_t *resident_bytes,
                                           uint64_t refined_bytes);

/* Whether the largest single request may find no block that holds it, although the sum
   fits: a sum says nothing of pieces. */
bool policy_admit_is_fragile(const struct policy_reservation *reservation,
                             uint64_t largest_block_bytes);

#endif

#include "policy/space.h"

#include <stdbool.h>

#include "policy/checked.h"

/* By how much held + needed exceeds the limit. */
static uint64_t excess(uint64_t held_bytes, uint64_t needed_bytes, uint64_t limit_bytes)
{
    uint64_t sum;
    if (held_bytes <= limit_bytes)
        return needed_bytes - (limit_bytes - held_bytes);
    return policy_checked_add(held_bytes - limit_bytes, needed_bytes, &sum) ? sum
                                                                            : UINT64_MAX;
}

/* Whether held + needed stay within the limit; the verdict has the numbers either way. */
static bool within(struct policy_verdict *verdict, enum policy_verdict_kind otherwise,
                   uint64_t held_bytes, uint64_t needed_bytes, uint64_t limit_bytes)
{
    verdict->held_bytes = held_bytes;
    verdict->limit_bytes = limit_bytes;
    if (policy_checked_range(held_bytes, needed_bytes, limit_bytes))
        return true;
    verdict->kind = otherwise;
    verdict->short_bytes = excess(held_bytes, needed_bytes, limit_bytes);
    return false;
}

/* *sum = a + b, if 64 bits can hold it. */
static bool add(struct policy_verdict *verdict, uint64_t a, uint64_t b, uint64_t *sum)
{
    return within(verdict, POLICY_SIZE_OVERFLOW, a, b, UINT64_MAX) &&
           policy_checked_add(a, b, sum);
}

/* *rounded = bytes rounded up, if 64 bits can hold it. */
static bool round_up(struct policy_verdict *verdict, uint64_t bytes, uint64_t unit_bytes,
                     uint64_t *rounded)
{
    return policy_checked_align_up(bytes, unit_bytes, UINT64_MAX, rounded) ||
           add(verdict, bytes, unit_bytes - bytes % unit_bytes, rounded);
}

struct policy_verdict policy_space_admit(const struct policy_space *space,
                                         uint64_t offset, uint64_t bytes,
                                         uint64_t alignment)
{
    struct policy_verdict verdict = {
        .kind = POLICY_ADMITTED, .asked_bytes = bytes, .reserved_bytes = bytes};
    uint64_t start, end, storage_bytes, total_bytes;
    if (alignment == 0 || space->unit_bytes == 0) {
        verdict.kind = POLICY_MALFORMED;
        return verdict;
    }
    if (!round_up(&verdict, bytes, alignment, &verdict.reserved_bytes) ||
        !add(&verdict, space->base, offset, &start) ||
        !within(&verdict, POLICY_ADDRESS_BEYOND, start, verdict.reserved_bytes,
                space->largest_address))
        return verdict;
    /* The whole unit that the range ends in is taken, and must be addressable too. */
    if (!add(&verdict, offset, verdict.reserved_bytes, &end) ||
        !round_up(&verdict, end, space->unit_bytes, &storage_bytes))
        return verdict;
    verdict.reserved_bytes = storage_bytes - offset;
    if (!within(&verdict, POLICY_ADDRESS_BEYOND, start, verdict.reserved_bytes,
                space->largest_address) ||
        !add(&verdict, space->external_peak_bytes, storage_bytes, &total_bytes))
        return verdict;
    (void)within(&verdict, POLICY_OVER_CAPACITY, total_bytes - verdict.reserved_bytes,
                 verdict.reserved_bytes, space->capacity_bytes);
    return verdict;
}

struct policy_verdict policy_space_place(const struct policy_space *space,
                                         uint64_t offset, uint64_t bytes,
                                         uint64_t alignment, uint64_t *aligned_offset)
{
    struct policy_verdict verdict = policy_space_admit(space, offset, bytes, alignment);
    uint64_t address, aligned;
    /* A later start is not admitted where this one is not. */
    if (verdict.kind != POLICY_ADMITTED)
        return verdict;
    if (!add(&verdict, space->base, offset, &address) ||
        !round_up(&verdict, address, alignment, &aligned))
        return verdict;
    verdict = policy_space_admit(space, aligned - space->base, bytes, alignment);
    if (verdict.kind == POLICY_ADMITTED)
        *aligned_offset = aligned - space->base;
    return verdict;
}

uint64_t policy_space_left(const struct policy_verdict *verdict)
{
    return verdict->held_bytes < verdict->limit_bytes
               ? verdict->limit_bytes - verdict->held_bytes
               : 0;
}

const char *policy_space_limit_source(enum policy_verdict_kind kind)
{
    if (kind == POLICY_OVER_CAPACITY)
        return "capacity";
    if (kind == POLICY_ADDRESS_BEYOND)
        return "largest_address";
    return kind == POLICY_SIZE_OVERFLOW ? "64-bit arithmetic" : "";
}

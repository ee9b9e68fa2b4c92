#include "policy/admit.h"

#include "policy/must.h"

/* What may still be charged; 0 also when more is held than this ceiling allows. */
static uint64_t room_bytes(uint64_t held_bytes, uint64_t limit_bytes)
{
    return held_bytes < limit_bytes ? limit_bytes - held_bytes : 0;
}

struct policy_verdict policy_admit_bytes(uint64_t held_bytes, uint64_t bytes,
                                         uint64_t limit_bytes)
{
    struct policy_verdict verdict = {
        .kind = POLICY_ADMITTED,
        .asked_bytes = bytes,
        .reserved_bytes = bytes,
        .held_bytes = held_bytes,
        .limit_bytes = limit_bytes,
    };
    uint64_t total_bytes;
    if (!policy_checked_add(held_bytes, bytes, &total_bytes)) {
        verdict.kind = POLICY_SIZE_OVERFLOW;
        /* The room ends at UINT64_MAX at the latest, and `bytes` went past that. */
        verdict.short_bytes = bytes - room_bytes(held_bytes, limit_bytes);
    } else if (total_bytes > limit_bytes) {
        verdict.kind = POLICY_OVER_CEILING;
        verdict.short_bytes = total_bytes - limit_bytes;
    }
    return verdict;
}

size_t policy_admit_least(const struct policy_ceiling *ceilings, size_t count)
{
    size_t least = 0;

    must(count > 0);
    for (size_t i = 1; i < count; i++) {
        if (ceilings[i].bytes < ceilings[least].bytes)
            least = i;
    }
    return least;
}

struct policy_verdict policy_admit_early(const struct policy_ceiling *ceiling,
                                         bool pool_grows, uint64_t resident_bytes)
{
    struct policy_verdict verdict = {
        .kind = POLICY_ADMITTED,
        .held_bytes = resident_bytes,
        .limit_bytes = ceiling->bytes,
    };
    if (pool_grows && ceiling->source == POLICY_CEILING_FROM_DEVICE) {
        verdict.kind = POLICY_GROWING_POOL;
    } else if (resident_bytes >= ceiling->bytes) {
        verdict.kind = POLICY_OVER_CEILING;
        verdict.short_bytes = resident_bytes - (ceiling->bytes - 1);
    }
    return verdict;
}

struct policy_verdict policy_admit(const struct policy_ceiling *ceiling,
                                   uint64_t resident_bytes,
                                   const struct policy_reservation *reservation)
{
    struct policy_verdict verdict = policy_admit_early(ceiling, false, resident_bytes);

    if (verdict.kind == POLICY_ADMITTED)
        verdict = policy_admit_bytes(resident_bytes, reservation->bytes, ceiling->bytes);
    verdict.asked_bytes = reservation->peak_bytes;
    verdict.reserved_bytes = reservation->bytes;
    return verdict;
}

bool policy_admit_refine(uint64_t *resident_bytes, uint64_t refined_bytes)
{
    if (refined_bytes < *resident_bytes)
        return false;
    *resident_bytes = refined_bytes;
    return true;
}

bool policy_admit_is_fragile(const struct policy_reservation *reservation,
                             uint64_t largest_block_bytes)
{
    return reservation->largest_request_bytes > largest_block_bytes;
}

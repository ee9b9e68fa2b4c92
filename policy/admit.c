#include "policy/admit.h"

#include "policy/ledger.h"
#include "policy/must.h"

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

    if (verdict.kind == POLICY_ADMITTED) {
        /* What a run would be told that charges this where so much is held. */
        struct policy_ledger_account account = {.charged_bytes = resident_bytes};
        verdict = policy_ledger_charge(&account, ceiling, reservation->bytes);
    }
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

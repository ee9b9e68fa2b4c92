/* The decisions of policy/, as tidemark.h has them for programs. */
#include "pool/tidemark.h"

#include <assert.h>

#include "policy/admit.h"
#include "policy/ceilings.h"
#include "policy/ledger.h"
#include "policy/reservation.h"
#include "policy/space.h"

static_assert(sizeof(struct tidemark_account) >= sizeof(struct policy_ledger_account) &&
                  _Alignof(struct tidemark_account) >=
                      _Alignof(struct policy_ledger_account),
              "an account of a program is one of ours");

static enum tidemark_result result_of(enum policy_verdict_kind kind)
{
    switch (kind) {
    case POLICY_ADMITTED:
        return TIDEMARK_DONE;
    case POLICY_OVER_CEILING:
    case POLICY_GROWING_POOL:
        return TIDEMARK_OVER_BUDGET;
    case POLICY_SIZE_OVERFLOW:
        return TIDEMARK_TOO_LARGE;
    case POLICY_OVER_CAPACITY:
        return TIDEMARK_OVER_CAPACITY;
    case POLICY_ADDRESS_BEYOND:
        return TIDEMARK_ADDRESS_BEYOND;
    case POLICY_DRIVER_REFUSED:
        return TIDEMARK_DEVICE_REFUSED;
    case POLICY_MALFORMED:
        break;
    }
    return TIDEMARK_MALFORMED;
}

static enum tidemark_result tell(const struct policy_verdict *from,
                                 struct tidemark_verdict *verdict)
{
    enum tidemark_result result = result_of(from->kind);
    if (verdict && result != TIDEMARK_MALFORMED)
        *verdict = (struct tidemark_verdict){
            .asked_bytes = from->asked_bytes,
            .reserved_bytes = from->reserved_bytes,
            .held_bytes = from->held_bytes,
            .limit_bytes = from->limit_bytes,
            .short_bytes = from->short_bytes,
        };
    return result;
}

static enum tidemark_ceiling_source source_of(enum policy_ceiling_source source)
{
    switch (source) {
    case POLICY_CEILING_FROM_REQUEST:
        return TIDEMARK_CEILING_REQUESTED;
    case POLICY_CEILING_FROM_CAP:
        return TIDEMARK_CEILING_CAPPED;
    case POLICY_CEILING_FROM_DEVICE:
        return TIDEMARK_CEILING_DEVICE;
    case POLICY_CEILING_UNBUDGETED:
        break;
    }
    return TIDEMARK_CEILING_NONE;
}

enum tidemark_result tidemark_ceiling(const char *request, const char *headroom,
                                      unsigned device, uint64_t total_bytes,
                                      struct tidemark_ceiling *ceiling)
{
    struct policy_ceilings requests;
    struct policy_ceilings_fault fault;
    struct policy_fraction fraction;

    if (!ceiling ||
        !policy_ceilings_parse(request ? request : "device", &requests, &fault) ||
        !policy_quantity_parse_fraction(headroom ? headroom : "0.15", &fraction))
        return TIDEMARK_MALFORMED;
    struct policy_ceiling resolved = policy_ceiling_resolve(
        policy_ceilings_of(&requests, device), fraction, total_bytes);
    *ceiling = (struct tidemark_ceiling){
        .bytes = resolved.bytes,
        .requested_bytes = resolved.requested_bytes,
        .total_bytes = resolved.total_bytes,
        .headroom_bytes = resolved.headroom_bytes,
        .source = source_of(resolved.source),
    };
    return TIDEMARK_DONE;
}

enum tidemark_result tidemark_admit(const struct tidemark_ceiling *ceiling,
                                    uint64_t held_bytes, uint64_t bytes,
                                    struct tidemark_verdict *verdict)
{
    if (!ceiling)
        return TIDEMARK_MALFORMED;
    struct policy_verdict admitted =
        policy_admit_bytes(held_bytes, bytes, ceiling->bytes);
    return tell(&admitted, verdict);
}

enum tidemark_result tidemark_reservation(const struct tidemark_program *program,
                                          uint64_t *bytes)
{
    if (!program || !bytes)
        return TIDEMARK_MALFORMED;
    struct policy_record record = {
        .bytes = {[POLICY_COUNTER_PEAK] = program->peak_bytes,
                  [POLICY_COUNTER_ARGUMENT] = program->argument_bytes,
                  [POLICY_COUNTER_OUTPUT] = program->output_bytes,
                  [POLICY_COUNTER_ALIAS] = program->alias_bytes,
                  [POLICY_COUNTER_TEMP] = program->temporary_bytes},
    };
    struct policy_reservation reservation;
    struct policy_record_fault fault;
    /* A program has nothing in host memory. */
    for (unsigned counter = 0; counter < POLICY_COUNTER_COUNT; counter++)
        record.is_known[counter] = true;
    if (!policy_reservation_of(&record, &reservation, &fault))
        return result_of(fault.kind);
    *bytes = reservation.bytes;
    return TIDEMARK_DONE;
}

static struct policy_ledger_account *account_of(struct tidemark_account *account)
{
    return (struct policy_ledger_account *)(void *)account;
}

enum tidemark_result tidemark_charge(struct tidemark_account *account,
                                     const struct tidemark_ceiling *ceiling,
                                     uint64_t bytes, struct tidemark_verdict *verdict)
{
    if (!account || !ceiling)
        return TIDEMARK_MALFORMED;
    const struct policy_ceiling limit = {.bytes = ceiling->bytes};
    struct policy_verdict charged =
        policy_ledger_charge(account_of(account), &limit, bytes);
    return tell(&charged, verdict);
}

enum tidemark_result tidemark_refund(struct tidemark_account *account, uint64_t bytes)
{
    return account && policy_ledger_try_refund(account_of(account), bytes)
               ? TIDEMARK_DONE
               : TIDEMARK_MALFORMED;
}

uint64_t tidemark_charged(const struct tidemark_account *account, uint64_t *peak_bytes,
                          uint64_t *refusals)
{
    static const struct policy_ledger_account nothing;
    const struct policy_ledger_account *of =
        account ? (const struct policy_ledger_account *)(const void *)account : &nothing;
    if (peak_bytes)
        *peak_bytes =
            atomic_load_explicit(&of->peak_bytes, memory_order_relaxed); /* figures */
    if (refusals)
        *refusals = atomic_load_explicit(&of->refusals, memory_order_relaxed);
    return policy_ledger_charged(of);
}

enum tidemark_result tidemark_align_up(uint64_t value, uint64_t alignment,
                                       uint64_t maximum, uint64_t *aligned)
{
    if (alignment == 0 || !aligned)
        return TIDEMARK_MALFORMED;
    return policy_checked_align_up(value, alignment, maximum, aligned)
               ? TIDEMARK_DONE
               : TIDEMARK_TOO_LARGE;
}

enum tidemark_result tidemark_space_place(const struct tidemark_space *space,
                                          uint64_t offset, uint64_t bytes,
                                          uint64_t alignment, uint64_t *place,
                                          struct tidemark_verdict *verdict)
{
    if (!space || !place)
        return TIDEMARK_MALFORMED;
    const struct policy_space within = {
        .base = space->base,
        .largest_address = space->largest_address,
        .capacity_bytes = space->capacity_bytes,
        .unit_bytes = space->unit_bytes,
        .external_peak_bytes = space->external_peak_bytes,
    };
    struct policy_verdict placed =
        policy_space_place(&within, offset, bytes, alignment, place);
    return tell(&placed, verdict);
}

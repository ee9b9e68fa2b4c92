#include "policy/reservation.h"

enum { REQUEST_UNIT_BYTES = 256 }; /* allocators of devices round requests up to this */

const struct policy_counter_row policy_counter_rows[POLICY_COUNTER_COUNT] = {
#define COUNTER(identifier, role, name)                                                  \
    [POLICY_COUNTER_##identifier] = {name, POLICY_ROLE_##role},
    POLICY_COUNTERS(COUNTER)
#undef COUNTER
};

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool refuse(struct policy_record_fault *fault, enum policy_verdict_kind kind,
                   enum policy_counter counter, const char *sentence)
{
    *fault = (struct policy_record_fault){kind, counter, sentence};
    return false;
}

static bool is_complete(const struct policy_record *record,
                        struct policy_record_fault *fault)
{
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++) {
        if (policy_counter_rows[i].role == POLICY_ROLE_METADATA)
            continue;
        if (!record->is_known[i])
            return refuse(fault, POLICY_MALFORMED, i, "is absent, and absent is not 0");
    }
    return true;
}

static bool is_of_one_space(const struct policy_record *record,
                            struct policy_record_fault *fault)
{
    static const char mixed[] =
        "is not 0: mixed host/default allocation spaces are unsupported";
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++) {
        if (policy_counter_rows[i].role == POLICY_ROLE_HOST && record->bytes[i] != 0)
            return refuse(fault, POLICY_MALFORMED, i, mixed);
    }
    return true;
}

/* argument + output - alias + temp. */
static bool sum_up(const struct policy_record *record, uint64_t *allocation_bytes,
                   struct policy_record_fault *fault)
{
    static const char beyond[] = "takes the sum beyond 64 bits";
    uint64_t argument = record->bytes[POLICY_COUNTER_ARGUMENT];
    uint64_t output = record->bytes[POLICY_COUNTER_OUTPUT];
    uint64_t alias = record->bytes[POLICY_COUNTER_ALIAS];
    uint64_t sum;

    if (alias > argument || alias > output)
        return refuse(fault, POLICY_MALFORMED, POLICY_COUNTER_ALIAS,
                      "exceeds the arguments or the outputs, and it is part of both");
    /* Subtracted first, so that only a result that is too large overflows. */
    if (!policy_checked_add(argument - alias, output, &sum))
        return refuse(fault, POLICY_SIZE_OVERFLOW, POLICY_COUNTER_OUTPUT, beyond);
    if (!policy_checked_add(sum, record->bytes[POLICY_COUNTER_TEMP], allocation_bytes))
        return refuse(fault, POLICY_SIZE_OVERFLOW, POLICY_COUNTER_TEMP, beyond);
    return true;
}

bool policy_reservation_of(const struct policy_record *record,
                           struct policy_reservation *reservation,
                           struct policy_record_fault *fault)
{
    uint64_t peak_bytes = record->bytes[POLICY_COUNTER_PEAK];
    uint64_t allocation_bytes, request_bytes;

    if (!is_complete(record, fault) || !is_of_one_space(record, fault) ||
        !sum_up(record, &allocation_bytes, fault))
        return false;
    /* Temporaries are allocated as one piece; arguments and outputs may be many. */
    if (!policy_checked_align_up(record->bytes[POLICY_COUNTER_TEMP], REQUEST_UNIT_BYTES,
                                 UINT64_MAX, &request_bytes))
        return refuse(fault, POLICY_SIZE_OVERFLOW, POLICY_COUNTER_TEMP,
                      "cannot be rounded up to a whole request");
    *reservation = (struct policy_reservation){
        .bytes = greater(peak_bytes, allocation_bytes),
        .peak_bytes = peak_bytes,
        .largest_request_bytes = request_bytes,
    };
    return true;
}

struct policy_reservation policy_reservation_of_total(uint64_t total_bytes)
{
    return (struct policy_reservation){.bytes = total_bytes, .peak_bytes = total_bytes};
}

bool policy_reservation_add(struct policy_reservation *sum,
                            const struct policy_reservation *more)
{
    struct policy_reservation both = {
        .largest_request_bytes =
            greater(sum->largest_request_bytes, more->largest_request_bytes),
    };
    if (!policy_checked_add(sum->bytes, more->bytes, &both.bytes) ||
        !policy_checked_add(sum->peak_bytes, more->peak_bytes, &both.peak_bytes))
        return false;
    *sum = both;
    return true;
}

void policy_reservation_widen(struct policy_reservation *most,
                              const struct policy_reservation *other)
{
    most->bytes = greater(most->bytes, other->bytes);
    most->peak_bytes = greater(most->peak_bytes, other->peak_bytes);
    most->largest_request_bytes =
        greater(most->largest_request_bytes, other->largest_request_bytes);
}

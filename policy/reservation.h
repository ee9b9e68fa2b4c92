/* From what a compiler says that one program takes on one device to the bytes that have to
   be reserved for it. Pure. Never guesses: an absent counter is a refusal, not 0. What lies
   outside of every record (contexts, library workspaces, fragmentation) is what headroom
   is for. */
#ifndef POLICY_RESERVATION_H
#define POLICY_RESERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/checked.h"
#include "policy/verdict.h"

/* Every counter of a record, by the name that JAX's CompiledMemoryStats gives it:
     COUNTER(identifier, role, name)
   DEVICE counters make the reservation. HOST counters have to be 0, since memory in two
   spaces is not held by one ceiling. METADATA is shown where it is present and never used:
   code is not part of the bound. */
#define POLICY_COUNTERS(COUNTER)                                                         \
    COUNTER(PEAK, DEVICE, "peak_memory_in_bytes")                                        \
    COUNTER(ARGUMENT, DEVICE, "argument_size_in_bytes")                                  \
    COUNTER(OUTPUT, DEVICE, "output_size_in_bytes")                                      \
    COUNTER(ALIAS, DEVICE, "alias_size_in_bytes")                                        \
    COUNTER(TEMP, DEVICE, "temp_size_in_bytes")                                          \
    COUNTER(HOST_ARGUMENT, HOST, "host_argument_size_in_bytes")                          \
    COUNTER(HOST_OUTPUT, HOST, "host_output_size_in_bytes")                              \
    COUNTER(HOST_ALIAS, HOST, "host_alias_size_in_bytes")                                \
    COUNTER(HOST_TEMP, HOST, "host_temp_size_in_bytes")                                  \
    COUNTER(CODE, METADATA, "generated_code_size_in_bytes")                              \
    COUNTER(HOST_CODE, METADATA, "host_generated_code_size_in_bytes")

enum policy_counter {
#define COUNTER(identifier, role, name) POLICY_COUNTER_##identifier,
    POLICY_COUNTERS(COUNTER)
#undef COUNTER
        POLICY_COUNTER_COUNT
};

enum policy_counter_role {
    POLICY_ROLE_DEVICE,
    POLICY_ROLE_HOST,
    POLICY_ROLE_METADATA,
};

struct policy_counter_row {
    const char *name;
    enum policy_counter_role role;
};

extern const struct policy_counter_row policy_counter_rows[POLICY_COUNTER_COUNT];

/* One program on one device. */
struct policy_record {
    uint64_t bytes[POLICY_COUNTER_COUNT];
    bool is_known[POLICY_COUNTER_COUNT];
};

struct policy_reservation {
    uint64_t bytes;                 /* max(peak, argument + output - alias + temp) */
    uint64_t peak_bytes;            /* the raw peak, for the reader's information */
    uint64_t largest_request_bytes; /* wanted in one piece; 0 when none is known */
};

/* Why a record gives no reservation. */
struct policy_record_fault {
    enum policy_verdict_kind kind; /* POLICY_MALFORMED or POLICY_SIZE_OVERFLOW */
    enum policy_counter counter;   /* the one at fault */
    const char *sentence;          /* goes on after the counter's name: "is absent" */
};

/* The reservation of one record. False, with *fault written instead of *reservation, when
   a counter is absent, host memory is used, aliases exceed what they are part of, or the
   sum cannot be represented. */
POLICY_MUST_CHECK bool policy_reservation_of(const struct policy_record *record,
                                             struct policy_reservation *reservation,
                                             struct policy_record_fault *fault);

/* The reservation of a program of which only the total is known. */
struct policy_reservation policy_reservation_of_total(uint64_t total_bytes);

/* Programs resident together on one device add up. False, and *sum untouched, when that
   cannot be represented. */
POLICY_MUST_CHECK bool policy_reservation_add(struct policy_reservation *sum,
                                              const struct policy_reservation *more);

/* Of several devices each number is the maximum; the maxima may be of different devices.
   The sum of a record is made before, so no sum mixes devices. */
void policy_reservation_widen(struct policy_reservation *most,
                              const struct policy_reservation *other);

#endif

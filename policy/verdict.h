/* The one result that crosses rooms: whether a request for memory may go ahead and, if
   not, every number that is needed to check the decision by hand. */
#ifndef POLICY_VERDICT_H
#define POLICY_VERDICT_H

#include <stdint.h>

/* kind, sentence */
#define POLICY_VERDICT_KINDS(KIND)                                                       \
    KIND(POLICY_ADMITTED, "admitted")                                                    \
    KIND(POLICY_OVER_CEILING, "over the ceiling")                                        \
    KIND(POLICY_SIZE_OVERFLOW, "the sum of bytes cannot be represented")                 \
    KIND(POLICY_OVER_CAPACITY, "over the capacity")                                      \
    KIND(POLICY_ADDRESS_BEYOND, "the address cannot be represented")                     \
    KIND(POLICY_MALFORMED, "malformed")                                                  \
    KIND(POLICY_GROWING_POOL,                                                            \
         "a pool that grows in pieces cannot promise the limit that the device reports") \
    KIND(POLICY_DRIVER_REFUSED,                                                          \
         "refused by the driver: fragmentation or use we cannot see")

enum policy_verdict_kind {
#define KIND(name, sentence) name,
    POLICY_VERDICT_KINDS(KIND)
#undef KIND
};

struct policy_verdict {
    enum policy_verdict_kind kind;
    uint64_t asked_bytes;    /* what the program asked for */
    uint64_t reserved_bytes; /* what would have been charged: capacity, never less */
    uint64_t held_bytes;     /* charged at the moment of the decision */
    uint64_t limit_bytes;    /* the ceiling that was applied */
    uint64_t short_bytes;    /* how much was missing; 0 when admitted */
};

/* The kind's sentence. */
const char *policy_verdict_sentence(enum policy_verdict_kind kind);

#endif

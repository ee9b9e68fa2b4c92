/* Text to numbers and back: byte counts, exact decimal fractions, percentages. Never
   rounds while reading, never allocates, does not depend on the locale. */
#ifndef POLICY_QUANTITY_H
#define POLICY_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/checked.h"

/* An exact decimal fraction: numerator / denominator, denominator a power of ten up to
   10^18, so that 0.07 of 100 is exactly 7. */
struct policy_fraction {
    uint64_t numerator;
    uint64_t denominator;
};

/* Room for policy_quantity_print: "18446744073709551615 B (16777216.00 TiB)" and NUL. */
enum { POLICY_QUANTITY_TEXT_BYTES = 48 };

/* Reads a byte count: decimal digits, then nothing, B, or one of K M G T with an optional
   B or iB, in any case; K is 1024 in every spelling. At most 18 decimals are accepted
   before a unit when the result is a whole number of bytes ("1.5GiB"). False, and *bytes
   untouched, for anything else, signs, empty text and overflow included. */
POLICY_MUST_CHECK bool policy_quantity_parse_bytes(const char *text, uint64_t *bytes);

/* Reads a decimal fraction 0 <= f < 1 of at most 18 decimals ("0", "0.15", ".5"). */
POLICY_MUST_CHECK bool policy_quantity_parse_fraction(const char *text,
                                                      struct policy_fraction *fraction);

/* Reads a percentage above 0 and at most 100, of at most 16 decimals ("37.5%"), as a
   fraction. */
POLICY_MUST_CHECK bool policy_quantity_parse_percent(const char *text,
                                                     struct policy_fraction *fraction);

/* Reads a time in whole units, "250ms", "10s", "5m", "1h" or "0", as milliseconds; false, and
   *ms untouched, for anything else. */
POLICY_MUST_CHECK bool policy_quantity_parse_duration(const char *text, uint64_t *ms);

/* ceil(fraction * bytes) and floor(fraction * bytes), exactly; fraction at most 1. */
uint64_t policy_quantity_share_up(struct policy_fraction fraction, uint64_t bytes);
uint64_t policy_quantity_share_down(struct policy_fraction fraction, uint64_t bytes);

/* Writes "104857600 B (100.00 MiB)", below 1 KiB only "512 B". Returns its length. */
size_t policy_quantity_print(uint64_t bytes, char text[POLICY_QUANTITY_TEXT_BYTES]);

#endif

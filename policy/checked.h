/* Arithmetic on sizes that never wraps: every sum, product and round-up of bytes goes
   through here, and a result that cannot be represented is a refusal, not a number. */
#ifndef POLICY_CHECKED_H
#define POLICY_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#define POLICY_MUST_CHECK __attribute__((warn_unused_result))

/* *sum = a + b; false, and *sum untouched, when that exceeds UINT64_MAX. */
POLICY_MUST_CHECK static inline bool policy_checked_add(uint64_t a, uint64_t b,
                                                        uint64_t *sum)
{
    uint64_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *sum = result;
    return true;
}

/* *product = a * b; false, and *product untouched, when that exceeds UINT64_MAX. */
POLICY_MUST_CHECK static inline bool policy_checked_multiply(uint64_t a, uint64_t b,
                                                             uint64_t *product)
{
    uint64_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *product = result;
    return true;
}

/* *aligned = the least multiple of `unit` (any unit but 0, not only powers of two) that
   is at least `value` and at most `maximum`; false when there is none. */
POLICY_MUST_CHECK static inline bool policy_checked_align_up(uint64_t value,
                                                             uint64_t unit,
                                                             uint64_t maximum,
                                                             uint64_t *aligned)
{
    if (unit == 0 || value > maximum)
        return false;
    uint64_t padding = (unit - value % unit) % unit;
    if (padding > maximum - value)
        return false;
    *aligned = value + padding;
    return true;
}

/* Whether [start, start + bytes) lies within [0, maximum], the exclusive end included. */
POLICY_MUST_CHECK static inline bool policy_checked_range(uint64_t start, uint64_t bytes,
                                                          uint64_t maximum)
{
    return start <= maximum && bytes <= maximum - start;
}

#endif

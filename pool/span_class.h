/* The size classes of the packed area, in granules: 1 2 3 4, then four to an octave (5 6 7 8,
   10 12 14 16, 20 ...) up to 512, which is 32 MiB. */
#ifndef POOL_SPAN_CLASS_H
#define POOL_SPAN_CLASS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    POOL_SPAN_CLASSES = 32,
    POOL_SPAN_MOST_GRANULES = 512,
};

/* In units of 2^this the lengths of classes follow each other, where so many granules are. */
static inline uint32_t pool_span_class_shift(uint32_t granules)
{
    return 29u - (uint32_t)__builtin_clz((granules - 1) | 4);
}

/* The smallest class that holds 1 to POOL_SPAN_MOST_GRANULES granules. */
static inline uint32_t pool_span_class(uint32_t granules)
{
    uint32_t shift = pool_span_class_shift(granules);
    return 4 * shift + ((granules - 1) >> shift);
}

/* Whether a block of that class has no more granules than these. */
static inline bool pool_span_class_is_exact(uint32_t granules)
{
    return (granules & ((UINT32_C(1) << pool_span_class_shift(granules)) - 1)) == 0;
}

/* How many granules a block of the class has. */
static inline uint32_t pool_span_class_granules(uint32_t size_class)
{
    if (size_class < 4)
        return size_class + 1;
    uint32_t shift = size_class / 4 - 1;
    return (size_class - 4 * shift + 1) << shift;
}

/* log2 of the granules of a block of the class, rounded down; 1 for the first class, too. */
static inline uint32_t pool_span_class_octave(uint32_t size_class)
{
    return (size_class + 1) / 4 + 1;
}

/* The largest class that fits inside so many granules. */
static inline uint32_t pool_span_class_within(uint32_t granules)
{
    if (granules >= POOL_SPAN_MOST_GRANULES)
        return POOL_SPAN_CLASSES - 1;
    return pool_span_class(granules) - !pool_span_class_is_exact(granules);
}

#endif

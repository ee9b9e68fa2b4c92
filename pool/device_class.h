/* The size classes of whole driver allocations: eight to an octave, so that of two blocks of
   one class none is more than an eighth larger than the other. */
#ifndef POOL_DEVICE_CLASS_H
#define POOL_DEVICE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    POOL_DEVICE_FIRST_SHIFT = 9, /* below 512 bytes there is one class */
    POOL_DEVICE_LAST_SHIFT = 41, /* 4 TiB and more are not retained */
    POOL_DEVICE_CLASSES = 1 + 8 * (POOL_DEVICE_LAST_SHIFT - POOL_DEVICE_FIRST_SHIFT + 1),
};

/* The class of a block; POOL_DEVICE_CLASSES or more: there is none. */
static inline uint32_t pool_device_class(uint64_t bytes)
{
    if (bytes >> POOL_DEVICE_FIRST_SHIFT == 0)
        return 0;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(bytes);
    uint32_t eighth = (uint32_t)(bytes >> (shift - 3)) & 7;
    return 1 + 8 * (shift - POOL_DEVICE_FIRST_SHIFT) + eighth;
}

/* The smallest block of a class. */
static inline uint64_t pool_device_class_bytes(uint32_t size_class)
{
    if (size_class == 0)
        return 1;
    uint32_t shift = (size_class - 1) / 8 + POOL_DEVICE_FIRST_SHIFT;
    return (uint64_t)(8 + (size_class - 1) % 8) << (shift - 3);
}

/* What a block takes of its device: drivers place memory in units of at least 512 bytes. */
static inline uint64_t pool_device_held_bytes(uint64_t block_bytes)
{
    return (block_bytes + 511) & ~UINT64_C(511);
}

/* Whether a block of so many bytes may serve the request: at most an eighth is wasted. */
static inline bool pool_device_fits(uint64_t block_bytes, uint64_t bytes)
{
    return block_bytes >= bytes && block_bytes - bytes <= bytes / 8;
}

#endif

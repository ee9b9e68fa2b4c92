/* Buffers that have a place, sorted by address, and the gaps that they leave to one more:
   between those whose lives meet its own, since of the others it may take any address. */
#ifndef POLICY_GAPS_H
#define POLICY_GAPS_H

#include <stddef.h>
#include <stdint.h>

struct policy_buffer {
    uint64_t bytes;
    uint64_t alignment; /* its address and what it reserves are multiples; any but 0 */
    uint64_t start;     /* the first moment of its life */
    uint64_t end;       /* the first moment after its life, later than start */
};

/* What a buffer takes of a space. 64 bits must be able to hold it. */
uint64_t policy_buffer_reserved(const struct policy_buffer *buffer);

/* [address, end_address) from start to end. */
struct policy_place {
    uint64_t address;
    uint64_t end_address;
    uint64_t start;
    uint64_t end;
    size_t buffer; /* whose place it is */
};

/* The address at which the smallest gap begins that holds the buffer, itself not yet
   aligned. The gap above all the places holds any buffer and is the last resort. */
uint64_t policy_gaps_find(const struct policy_place *places, size_t count, uint64_t base,
                          const struct policy_buffer *buffer);

/* Adds a place, for which there is room in the array. */
void policy_gaps_insert(struct policy_place *places, size_t count,
                        struct policy_place place);

#endif

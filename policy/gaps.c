#include "policy/gaps.h"

#include <string.h>

#include "policy/checked.h"
#include "policy/must.h"

uint64_t policy_buffer_reserved(const struct policy_buffer *buffer)
{
    uint64_t reserved;
    must(
        policy_checked_align_up(buffer->bytes, buffer->alignment, UINT64_MAX, &reserved));
    return reserved;
}

/* All bits set for a place whose life meets the buffer's, none for another. Lives meet at
   random, so a branch would be guessed wrong half the time, at twice the cost. */
static uint64_t meeting_mask(const struct policy_place *place,
                             const struct policy_buffer *buffer)
{
    return 0 - ((uint64_t)(place->start < buffer->end) &
                (uint64_t)(buffer->start < place->end));
}

uint64_t policy_gaps_find(const struct policy_place *places, size_t count, uint64_t base,
                          const struct policy_buffer *buffer)
{
    uint64_t reserved = policy_buffer_reserved(buffer), least_bytes = UINT64_MAX;
    uint64_t gap = base, best = base, aligned;
    for (size_t i = 0; i < count; i++) {
        uint64_t mask = meeting_mask(&places[i], buffer);
        uint64_t next = places[i].address & mask;
        uint64_t end = places[i].end_address & mask;
        if (next > gap && next - gap < least_bytes && next - gap >= reserved &&
            policy_checked_align_up(gap, buffer->alignment, UINT64_MAX, &aligned) &&
            policy_checked_range(aligned, reserved, next)) {
            least_bytes = next - gap;
            best = gap;
        }
        gap = end > gap ? end : gap;
    }
    return least_bytes < UINT64_MAX ? best : gap;
}

void policy_gaps_insert(struct policy_place *places, size_t count,
                        struct policy_place place)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (places[middle].address < place.address)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&places[low + 1], &places[low], (count - low) * sizeof *places);
    places[low] = place;
}

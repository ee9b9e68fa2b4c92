#include "policy/placement.h"

#include <stdbool.h>
#include <string.h>

#include "policy/checked.h"

enum {
    ROUNDS_MAX = 256, /* of one order; later ones hardly lower a plan any more */
    TO_THE_FRONT = 4, /* in every so many-th round the topmost buffer goes first of all */

    /* How many places may be looked at by the end of the first order, of the second and so
       on, so that large plans take a second and not an hour. A round is always finished. */
    STEPS_MAX = 40 * 1000 * 1000,
};

enum order {
    ORDER_PEAK, /* what lives at the moment of peak live first, then by nearness to it */
    ORDER_SIZE, /* the largest first */
    ORDER_LIFE, /* what lives longest first */
    ORDER_COUNT
};

/* One plan under way. It is made as low as can be, without regard to the space's limits, and
   held to them only then: room that is not there never changes the course of the search. */
struct search {
    const struct policy_space *space;
    struct policy_space unlimited; /* the same base, and all that 64 bits can address */
    const struct policy_buffer *buffers;
    size_t count;
    struct policy_placement_work work;
    uint64_t peak_live_bytes;
    uint64_t peak_moment;
    uint64_t steps;      /* places looked at so far */
    bool is_placed;      /* some round has placed all */
    uint64_t best_bytes; /* the lowest logical high-water, of the plan in work.offsets */
    size_t topmost;      /* rank of the buffer that rose highest in the last round */
};

static struct policy_placement_verdict at(size_t buffer, uint64_t offset,
                                          struct policy_verdict verdict)
{
    return (struct policy_placement_verdict){
        .verdict = verdict, .buffer = buffer, .offset = offset};
}

static bool is_admitted(const struct policy_placement_verdict *verdict)
{
    return verdict->verdict.kind == POLICY_ADMITTED;
}

/* Refuses what no order could mend: a life that ends before it begins, and what the space
   cannot hold even if it were alone there. */
static struct policy_placement_verdict check_alone(const struct search *search)
{
    struct policy_placement_verdict verdict =
        at(search->count, 0, policy_space_admit(search->space, 0, 0, 1));
    for (size_t i = 0; i < search->count && is_admitted(&verdict); i++) {
        const struct policy_buffer *buffer = &search->buffers[i];
        struct policy_verdict alone = {.kind = POLICY_MALFORMED,
                                       .asked_bytes = buffer->bytes,
                                       .reserved_bytes = buffer->bytes};
        if (buffer->start < buffer->end)
            alone =
                policy_space_admit(search->space, 0, buffer->bytes, buffer->alignment);
        verdict = at(i, 0, alone);
    }
    return verdict;
}

/* Births and deaths in the order of time, deaths first: a buffer may begin where another
   ends. A death has its buffer's index, a birth that index and `count`. */
static void rank_events(const struct search *search)
{
    struct policy_rank *ranks = search->work.ranks;
    size_t count = search->count;
    for (size_t i = 0; i < count; i++) {
        ranks[i] = (struct policy_rank){search->buffers[i].end, 0, i};
        ranks[count + i] = (struct policy_rank){search->buffers[i].start, 1, count + i};
    }
    policy_rank_sort(ranks, 2 * count);
}

static void find_peak(struct search *search)
{
    uint64_t live_bytes = 0;
    rank_events(search);
    for (size_t i = 0; i < 2 * search->count; i++) {
        const struct policy_rank *event = &search->work.ranks[i];
        if (event->index < search->count) {
            live_bytes -= policy_buffer_reserved(&search->buffers[event->index]);
            continue;
        }
        const struct policy_buffer *born = &search->buffers[event->index - search->count];
        /* More than 64 bits can count will not find room either. */
        if (!policy_checked_add(live_bytes, policy_buffer_reserved(born), &live_bytes))
            live_bytes = UINT64_MAX;
        if (live_bytes <= search->peak_live_bytes)
            continue;
        search->peak_live_bytes = live_bytes;
        search->peak_moment = born->start;
        if (live_bytes == UINT64_MAX)
            return;
    }
}

/* How far the buffer's life is from the moment of peak live. */
static uint64_t distance(const struct policy_buffer *buffer, uint64_t moment)
{
    if (buffer->start > moment)
        return buffer->start - moment;
    return buffer->end > moment ? 0 : moment - buffer->end + 1;
}

static void rank_buffers(const struct search *search, enum order order)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct policy_buffer *buffer = &search->buffers[i];
        uint64_t smallness = ~policy_buffer_reserved(buffer);
        uint64_t shortness = ~(buffer->end - buffer->start);
        const uint64_t majors[ORDER_COUNT] = {
            [ORDER_PEAK] = distance(buffer, search->peak_moment),
            [ORDER_SIZE] = smallness,
            [ORDER_LIFE] = shortness,
        };
        search->work.ranks[i] = (struct policy_rank){
            majors[order], order == ORDER_SIZE ? shortness : smallness, i};
    }
    policy_rank_sort(search->work.ranks, search->count);
}

/* Places the buffer of this rank, behind all ranks before it. */
static struct policy_placement_verdict place_one(struct search *search, size_t rank)
{
    size_t index = search->work.ranks[rank].index;
    const struct policy_buffer *buffer = &search->buffers[index];
    uint64_t base = search->space->base;
    uint64_t offset = policy_gaps_find(search->work.places, rank, base, buffer) - base;
    search->steps += rank;
    struct policy_verdict verdict = policy_space_place(
        &search->unlimited, offset, buffer->bytes, buffer->alignment, &offset);
    /* The real limits are lower still, and the ones to name. */
    if (verdict.kind != POLICY_ADMITTED)
        return at(index, offset,
                  policy_space_place(search->space, offset, buffer->bytes,
                                     buffer->alignment, &offset));
    policy_gaps_insert(search->work.places, rank,
                       (struct policy_place){base + offset,
                                             base + offset + verdict.reserved_bytes,
                                             buffer->start, buffer->end, index});
    return at(index, offset, verdict);
}

/* One round: places all in the order of their ranks, until one finds no address or rises as
   high as the best round did. Whether it was better than that one; *verdict is of the last
   buffer that was tried. */
static bool place_all(struct search *search, struct policy_placement_verdict *verdict)
{
    uint64_t high_water = 0;
    search->topmost = 0;
    for (size_t rank = 0; rank < search->count; rank++) {
        *verdict = place_one(search, rank);
        uint64_t end_offset = verdict->offset + verdict->verdict.reserved_bytes;
        if (is_admitted(verdict) && end_offset <= high_water)
            continue;
        search->topmost = rank;
        if (!is_admitted(verdict) ||
            (search->is_placed && end_offset >= search->best_bytes))
            return false;
        high_water = end_offset;
    }
    search->is_placed = true;
    search->best_bytes = high_water;
    return true;
}

static void keep_offsets(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct policy_place *place = &search->work.places[i];
        search->work.offsets[place->buffer] = place->address - search->space->base;
    }
}

/* Whoever rose highest chooses earlier next time. Halfway forward finds low plans soonest, but
   by itself it goes round in circles around some: of 20,000 random plans 23 ended more than a
   tenth above peak live, and none with a jump to the front now and then. */
static void promote_topmost(const struct search *search, size_t round)
{
    struct policy_rank *ranks = search->work.ranks;
    size_t from = search->topmost, to = round % TO_THE_FRONT == 0 ? 0 : from / 2;
    struct policy_rank promoted = ranks[from];
    memmove(&ranks[to + 1], &ranks[to], (from - to) * sizeof *ranks);
    ranks[to] = promoted;
}

static bool is_optimal(const struct search *search)
{
    return search->is_placed && search->best_bytes == search->peak_live_bytes;
}

/* *verdict becomes the first refusal there is, of a plan for which 64 bits are too few. */
static void try_order(struct search *search, enum order order,
                      struct policy_placement_verdict *verdict)
{
    uint64_t steps_max = ((uint64_t)order + 1) * STEPS_MAX;
    rank_buffers(search, order);
    for (size_t round = 0; round < ROUNDS_MAX && search->steps < steps_max; round++) {
        struct policy_placement_verdict last;
        if (place_all(search, &last))
            keep_offsets(search);
        else if (!is_admitted(&last) && is_admitted(verdict))
            *verdict = last;
        if (search->topmost == 0 || is_optimal(search))
            return;
        promote_topmost(search, round);
    }
}

/* Holds the best plan to the limits of the space: the lowest buffer that does not fit where
   it lies, or the whole as one range. */
static struct policy_placement_verdict check_limits(const struct search *search)
{
    struct policy_placement_verdict lowest =
        at(search->count, 0, policy_space_admit(search->space, 0, search->best_bytes, 1));
    for (size_t i = 0; i < search->count; i++) {
        const struct policy_buffer *buffer = &search->buffers[i];
        uint64_t offset = search->work.offsets[i];
        struct policy_verdict verdict =
            policy_space_admit(search->space, offset, buffer->bytes, buffer->alignment);
        if (verdict.kind != POLICY_ADMITTED &&
            (lowest.buffer == search->count || offset < lowest.offset))
            lowest = at(i, offset, verdict);
    }
    return lowest;
}

struct policy_placement_verdict
policy_placement_plan(const struct policy_space *space,
                      const struct policy_buffer *buffers, size_t count,
                      const struct policy_placement_work *work, uint64_t *offsets,
                      struct policy_high_water *high_water)
{
    struct search search = {
        .space = space,
        .unlimited = {.base = space->base,
                      .largest_address = UINT64_MAX,
                      .capacity_bytes = UINT64_MAX,
                      .unit_bytes = 1},
        .buffers = buffers,
        .count = count,
        .work = *work,
    };
    struct policy_placement_verdict verdict = check_alone(&search);
    if (!is_admitted(&verdict))
        return verdict;
    find_peak(&search);
    for (enum order order = 0; order < ORDER_COUNT && !is_optimal(&search); order++)
        try_order(&search, order, &verdict);
    if (search.is_placed)
        verdict = check_limits(&search);
    verdict.peak_live_bytes = search.peak_live_bytes;
    if (!is_admitted(&verdict))
        return verdict;
    for (size_t i = 0; i < count; i++)
        offsets[i] = work->offsets[i];
    *high_water = (struct policy_high_water){
        .logical_high_water_bytes = search.best_bytes,
        .peak_live_bytes = search.peak_live_bytes,
        .artefact_overhead_bytes = search.best_bytes - search.peak_live_bytes,
        .runtime_reservation_bytes = verdict.verdict.reserved_bytes,
    };
    return verdict;
}

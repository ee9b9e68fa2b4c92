#include "pool/packed.h"

/* Memory order
   [A] moves only tells threads apart. Which area a thread claims from is its own affair: every
       area is open from the beginning. */

_Static_assert((POOL_PACKED_AREAS & (POOL_PACKED_AREAS - 1)) == 0, "a power of two");

/* The area that this thread claims from. */
static _Thread_local uint32_t own_area __attribute__((tls_model("initial-exec")));

static uint32_t area_of(const struct pool_packed *packed, uint32_t index)
{
    return index >> packed->area_shift;
}

static uint32_t inside(const struct pool_packed *packed, uint32_t index)
{
    return index & ((UINT32_C(1) << packed->area_shift) - 1);
}

void pool_packed_open(struct pool_packed *packed, char *base, unsigned granule_shift,
                      struct pool_record *records, const struct pool_source *source)
{
    packed->records = records;
    packed->area_shift =
        granule_shift - (unsigned)__builtin_ctz((unsigned)POOL_PACKED_AREAS);
    uint32_t granules = UINT32_C(1) << packed->area_shift;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++) {
        size_t first = (size_t)area << packed->area_shift;
        pool_spans_open(&packed->areas[area], base + (first << POOL_GRANULE_SHIFT),
                        granules, records + first, source);
    }
    /* Written at once: the first block would read this page first and write it then, which are
       two page faults. */
    POOL_SET(&records[0], state, POOL_UNBORN);
}

void pool_packed_prefer(struct pool_packed *packed, enum pool_huge huge)
{
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        packed->areas[area].huge = huge;
}

void pool_packed_set_dense(struct pool_packed *packed)
{
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        POOL_SET(&packed->areas[area], dense, true);
}

/* Where an area has room it was the source that refused, and would do so again. */
POOL_RARE static uint32_t claim_elsewhere(struct pool_packed *packed, uint32_t granules,
                                          bool *fresh, bool *due)
{
    uint32_t area = own_area;
    for (uint32_t others = POOL_PACKED_AREAS - 1; others > 0; others--) {
        if (pool_spans_has_room(&packed->areas[area], granules))
            break;
        area = (area + 1) % POOL_PACKED_AREAS;
        uint32_t index = pool_spans_claim(&packed->areas[area], granules, fresh, due);
        if (index)
            return area << packed->area_shift | index;
    }
    return 0;
}

/* In another area than the first; the same, but that the first is known to the compiler. */
__attribute__((noinline)) static uint32_t
claim_apart(struct pool_packed *packed, uint32_t granules, bool *fresh, bool *due)
{
    uint32_t index = pool_spans_claim(&packed->areas[own_area], granules, fresh, due);
    if (__builtin_expect(index == 0, 0))
        return claim_elsewhere(packed, granules, fresh, due);
    return own_area << packed->area_shift | index;
}

uint32_t pool_packed_claim(struct pool_packed *packed, uint32_t granules, bool *fresh,
                           bool *due)
{
    if (__builtin_expect(own_area != 0, 0))
        return claim_apart(packed, granules, fresh, due);
    uint32_t index = pool_spans_claim(&packed->areas[0], granules, fresh, due);
    if (__builtin_expect(index == 0, 0))
        return claim_elsewhere(packed, granules, fresh, due);
    return index;
}

__attribute__((noinline)) static bool return_apart(struct pool_packed *packed,
                                                   uint32_t index, bool *due)
{
    uint32_t area = index >> packed->area_shift;
    return pool_spans_return(&packed->areas[area], inside(packed, index), due);
}

bool pool_packed_return(struct pool_packed *packed, uint32_t index, bool *due)
{
    if (__builtin_expect(index >> packed->area_shift != 0, 0))
        return return_apart(packed, index, due);
    return pool_spans_return(&packed->areas[0], index, due);
}

void pool_packed_move_on(struct pool_packed *packed)
{
    if (pool_spans_waits == 0 || pool_spans_waits-- < POOL_PACKED_PATIENCE)
        return;
    pool_spans_waits = 0;
    /* Never back to the first: there, threads begin. */
    uint32_t moves =
        atomic_fetch_add_explicit(&packed->moves, 1, memory_order_relaxed); /* A */
    own_area = 1 + moves % (POOL_PACKED_AREAS - 1);
}

bool pool_packed_was_born(const struct pool_packed *packed, uint32_t index)
{
    return inside(packed, index) < POOL_GET(&packed->areas[area_of(packed, index)], top);
}

void pool_packed_shed(struct pool_packed *packed)
{
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        pool_spans_shed(&packed->areas[area]);
}

size_t pool_packed_close(struct pool_packed *packed)
{
    size_t bytes = 0;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        bytes += pool_spans_close(&packed->areas[area]);
    return bytes;
}

size_t pool_packed_trim(struct pool_packed *packed)
{
    size_t bytes = 0;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        bytes += pool_spans_trim(&packed->areas[area]);
    return bytes;
}

size_t pool_packed_age(struct pool_packed *packed)
{
    size_t bytes = 0;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        bytes += pool_spans_age(&packed->areas[area]);
    return bytes;
}

size_t pool_packed_idle_bytes(const struct pool_packed *packed)
{
    size_t bytes = 0;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        bytes += pool_spans_idle_bytes(&packed->areas[area]);
    return bytes;
}

void pool_packed_fork_prepare(struct pool_packed *packed)
{
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        pool_spans_fork_prepare(&packed->areas[area]);
}

void pool_packed_fork_done(struct pool_packed *packed, bool in_child)
{
    for (uint32_t area = POOL_PACKED_AREAS; area > 0; area--)
        pool_spans_fork_done(&packed->areas[area - 1], in_child);
}

struct pool_span_figures pool_packed_figures(struct pool_packed *packed)
{
    struct pool_span_figures sum = {0};
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++) {
        struct pool_span_figures one = pool_spans_figures(&packed->areas[area]);
        sum.popped += one.popped;
        sum.fitted += one.fitted;
        sum.born += one.born;
    }
    return sum;
}

void pool_packed_walk(struct pool_packed *packed,
                      void (*visit)(void *context, const struct pool_record *record),
                      void *context)
{
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        pool_spans_walk(&packed->areas[area], visit, context);
}

bool pool_packed_valid(struct pool_packed *packed)
{
    bool valid = true;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        valid = pool_spans_valid(&packed->areas[area]) && valid;
    return valid;
}

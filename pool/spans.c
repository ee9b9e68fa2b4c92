#include "pool/spans.h"

#include "policy/must.h"

/* Under the lock the area is tiled by blocks. Each block's first record holds its length,
   and so that a neighbour can find it from behind, the last granule of a FREE span holds
   the length too. LIVE and IDLE blocks need no such mark: only free spans are merged. */

/* 1 2 3 4 then 5 6 7 8, 10 12 14 16, 20 ... : four classes to an octave. */
static uint32_t class_of(uint32_t granules)
{
    uint32_t last = granules - 1;
    if (last < 4)
        return last;
    uint32_t shift = 31u - (uint32_t)__builtin_clz(last) - 2u;
    return 4 * shift + (last >> shift);
}

static uint32_t class_granules(uint32_t size_class)
{
    if (size_class < 4)
        return size_class + 1;
    uint32_t shift = size_class / 4 - 1;
    return (size_class - 4 * shift + 1) << shift;
}

uint32_t pool_span_class_granules(uint32_t granules)
{
    return class_granules(class_of(granules));
}

/* The largest class that fits inside a span. */
static uint32_t class_within(uint32_t granules)
{
    if (granules >= POOL_SPAN_MOST_GRANULES)
        return POOL_SPAN_CLASSES - 1;
    uint32_t size_class = class_of(granules);
    return class_granules(size_class) > granules ? size_class - 1 : size_class;
}

static struct pool_record *at(struct pool_spans *spans, uint32_t index)
{
    return &spans->records[index];
}

static uint32_t length(struct pool_spans *spans, uint32_t index)
{
    return POOL_GET(at(spans, index), granules);
}

static bool is_free(struct pool_spans *spans, uint32_t index)
{
    uint32_t state = POOL_GET(at(spans, index), state);
    return state == POOL_FREE || state == POOL_CLEAN;
}

/* A free span, dirty or clean, enters the head of its list, marked at both ends. */
static void list_insert(struct pool_spans *spans, uint32_t index, uint32_t granules,
                        enum pool_state state)
{
    uint32_t *head = &spans->free_lists[class_within(granules)];
    struct pool_record *first = at(spans, index);
    struct pool_record *last = at(spans, index + granules - 1);
    POOL_SET(last, granules, granules);
    POOL_SET(last, state, state);
    POOL_SET(first, granules, granules);
    POOL_SET(first, state, state);
    POOL_SET(first, next, *head);
    POOL_SET(first, pages, 0);
    if (*head)
        POOL_SET(at(spans, *head), pages, index);
    *head = index;
}

static void list_remove(struct pool_spans *spans, uint32_t index)
{
    struct pool_record *first = at(spans, index);
    uint32_t granules = POOL_GET(first, granules);
    uint32_t next = POOL_GET(first, next);
    uint32_t previous = POOL_GET(first, pages);
    if (next)
        POOL_SET(at(spans, next), pages, previous);
    if (previous)
        POOL_SET(at(spans, previous), next, next);
    else
        spans->free_lists[class_within(granules)] = next;
    POOL_SET(at(spans, index + granules - 1), state, POOL_UNBORN);
    POOL_SET(first, state, POOL_UNBORN);
}

/* Makes a block free and merges it with free neighbours; one dirty granule makes all dirty. */
static void make_free(struct pool_spans *spans, uint32_t index)
{
    uint32_t granules = length(spans, index);
    POOL_SET(at(spans, index), state, POOL_UNBORN);
    uint32_t after = index + granules;
    if (after < POOL_GET(spans, top) && is_free(spans, after)) {
        granules += length(spans, after);
        list_remove(spans, after);
    }
    if (index > 1 && is_free(spans, index - 1)) {
        uint32_t before = length(spans, index - 1);
        index -= before;
        granules += before;
        list_remove(spans, index);
    }
    list_insert(spans, index, granules, POOL_FREE);
}

static void drain_bins(struct pool_spans *spans)
{
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++) {
        uint32_t index = pool_bin_drain(&spans->bins[size_class]);
        while (index) {
            uint32_t next = POOL_GET(at(spans, index), next);
            make_free(spans, index);
            index = next;
        }
    }
}

/* The smallest free span of at least `granules`; of equals the one at the lowest address,
   so that what is used stays together. 0 when there is none. */
static uint32_t best_fit(struct pool_spans *spans, uint32_t granules)
{
    for (uint32_t size_class = class_within(granules); size_class < POOL_SPAN_CLASSES;
         size_class++) {
        uint32_t best = 0, best_granules = UINT32_MAX;
        for (uint32_t index = spans->free_lists[size_class]; index;
             index = POOL_GET(at(spans, index), next)) {
            uint32_t have = length(spans, index);
            if (have < granules || have > best_granules ||
                (have == best_granules && index > best))
                continue;
            best = index;
            best_granules = have;
        }
        if (best)
            return best;
    }
    return 0;
}

/* Takes the front of a free span; *fresh when it is clean. */
static uint32_t split(struct pool_spans *spans, uint32_t index, uint32_t granules,
                      bool *fresh)
{
    uint32_t have = length(spans, index);
    enum pool_state state = POOL_GET(at(spans, index), state);
    must(have >= granules);
    list_remove(spans, index);
    POOL_SET(at(spans, index), granules, granules);
    /* The rest's neighbours are live or idle: a free one would have been merged. */
    if (have > granules)
        list_insert(spans, index + granules, have - granules, state);
    *fresh = state == POOL_CLEAN;
    return index;
}

static bool enable_up_to(struct pool_spans *spans, uint32_t end)
{
    if (end <= spans->enabled)
        return true;
    uint32_t pieces = (end - spans->enabled + POOL_SPAN_ENABLE_GRANULES - 1) /
                      POOL_SPAN_ENABLE_GRANULES;
    uint32_t granules = pieces * POOL_SPAN_ENABLE_GRANULES;
    if (granules > spans->limit - spans->enabled)
        granules = spans->limit - spans->enabled;
    char *from = spans->base + ((size_t)spans->enabled << POOL_GRANULE_SHIFT);
    if (!spans->source->enable(from, (size_t)granules << POOL_GRANULE_SHIFT))
        return false;
    spans->enabled += granules;
    return true;
}

/* Extends the area; a free span at its end becomes part of the new block. */
static uint32_t extend(struct pool_spans *spans, uint32_t granules, bool *fresh)
{
    uint32_t start = POOL_GET(spans, top);
    if (start > 1 && is_free(spans, start - 1))
        start -= length(spans, start - 1);
    if (granules > spans->limit - start || !enable_up_to(spans, start + granules))
        return 0;
    *fresh =
        start == POOL_GET(spans, top) || POOL_GET(at(spans, start), state) == POOL_CLEAN;
    if (start < POOL_GET(spans, top))
        list_remove(spans, start);
    POOL_SET(at(spans, start), granules, granules);
    POOL_SET(spans, top, start + granules);
    spans->figures.born++;
    return start;
}

static uint32_t claim_locked(struct pool_spans *spans, uint32_t granules, bool *fresh)
{
    drain_bins(spans);
    uint32_t index = best_fit(spans, granules);
    if (!index)
        return extend(spans, granules, fresh);
    spans->figures.fitted++;
    return split(spans, index, granules, fresh);
}

static uint32_t claim_idle(struct pool_spans *spans, uint32_t size_class)
{
    uint32_t end = size_class + POOL_SPAN_CLASSES_UP + 1;
    if (end > POOL_SPAN_CLASSES)
        end = POOL_SPAN_CLASSES;
    for (; size_class < end; size_class++) {
        uint32_t index = pool_bin_pop(&spans->bins[size_class], spans->records);
        if (index)
            return index;
    }
    return 0;
}

uint32_t pool_spans_claim(struct pool_spans *spans, uint32_t granules, bool *fresh)
{
    *fresh = false;
    uint32_t size_class = class_of(granules);
    uint32_t index = claim_idle(spans, size_class);
    if (!index && pool_lock_take(&spans->lock)) {
        index = claim_locked(spans, class_granules(size_class), fresh);
        pool_lock_give(&spans->lock);
    }
    if (index)
        POOL_SET(at(spans, index), state, POOL_LIVE);
    return index;
}

void pool_spans_return(struct pool_spans *spans, uint32_t index)
{
    struct pool_record *record = at(spans, index);
    must(POOL_GET(record, state) == POOL_LIVE);
    POOL_SET(record, state, POOL_IDLE);
    uint32_t size_class = class_of(POOL_GET(record, granules));
    if (pool_bin_push(&spans->bins[size_class], spans->records, index))
        return;
    /* With the lock lost the block is, too: nobody claims it again. */
    if (!pool_lock_take(&spans->lock))
        return;
    make_free(spans, index);
    pool_lock_give(&spans->lock);
}

static size_t discard(struct pool_spans *spans, uint32_t index)
{
    uint32_t granules = length(spans, index);
    size_t bytes = (size_t)granules << POOL_GRANULE_SHIFT;
    char *address = spans->base + ((size_t)index << POOL_GRANULE_SHIFT);
    if (POOL_GET(at(spans, index), state) == POOL_CLEAN ||
        !spans->source->discard(address, bytes))
        return 0;
    POOL_SET(at(spans, index), state, POOL_CLEAN);
    POOL_SET(at(spans, index + granules - 1), state, POOL_CLEAN);
    return bytes;
}

void pool_spans_shed(struct pool_spans *spans)
{
    if (!pool_lock_take(&spans->lock))
        return;
    size_t bytes = (size_t)(spans->limit - spans->enabled) << POOL_GRANULE_SHIFT;
    if (bytes > 0)
        spans->source->release(
            spans->base + ((size_t)spans->enabled << POOL_GRANULE_SHIFT), bytes);
    spans->limit = spans->enabled;
    pool_lock_give(&spans->lock);
}

size_t pool_spans_trim(struct pool_spans *spans)
{
    size_t bytes = 0;
    if (!pool_lock_take(&spans->lock))
        return 0;
    drain_bins(spans);
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        for (uint32_t index = spans->free_lists[size_class]; index;
             index = POOL_GET(at(spans, index), next))
            bytes += discard(spans, index);
    pool_lock_give(&spans->lock);
    return bytes;
}

void pool_spans_open(struct pool_spans *spans, char *base, uint32_t granules,
                     struct pool_record *records, const struct pool_source *source)
{
    spans->base = base;
    spans->records = records;
    spans->source = source;
    POOL_SET(spans, top, 1); /* index 0 means "none" */
    spans->enabled = 1;
    spans->limit = granules < POOL_SPAN_MOST_INDEX ? granules : POOL_SPAN_MOST_INDEX;
    pool_lock_open(&spans->lock);
}

void pool_spans_fork_prepare(struct pool_spans *spans)
{
    pool_lock_fork_prepare(&spans->lock);
}

void pool_spans_fork_done(struct pool_spans *spans)
{
    pool_lock_fork_done(&spans->lock);
}

struct pool_span_figures pool_spans_figures(struct pool_spans *spans)
{
    struct pool_span_figures figures = {0};
    if (!pool_lock_take(&spans->lock))
        return figures;
    figures = spans->figures;
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        figures.popped += pool_bin_popped(&spans->bins[size_class]);
    pool_lock_give(&spans->lock);
    return figures;
}

void pool_spans_walk(struct pool_spans *spans,
                     void (*visit)(void *context, const struct pool_record *record),
                     void *context)
{
    if (!pool_lock_take(&spans->lock))
        return;
    for (uint32_t index = 1; index < POOL_GET(spans, top); index += length(spans, index))
        visit(context, at(spans, index));
    pool_lock_give(&spans->lock);
}

static bool list_valid(struct pool_spans *spans, uint32_t size_class, uint32_t *listed)
{
    uint32_t previous = 0;
    for (uint32_t index = spans->free_lists[size_class]; index;
         index = POOL_GET(at(spans, index), next)) {
        if (!is_free(spans, index) || class_within(length(spans, index)) != size_class ||
            POOL_GET(at(spans, index), pages) != previous)
            return false;
        previous = index;
        ++*listed;
    }
    return true;
}

bool pool_spans_valid(struct pool_spans *spans)
{
    uint32_t index = 1, free_count = 0, listed = 0;
    bool after_free = false;
    while (index < POOL_GET(spans, top)) {
        uint32_t granules = length(spans, index);
        if (granules == 0 || POOL_GET(at(spans, index), state) == POOL_UNBORN)
            return false;
        bool now_free = is_free(spans, index);
        if (now_free && (after_free || length(spans, index + granules - 1) != granules))
            return false;
        free_count += now_free;
        after_free = now_free;
        index += granules;
    }
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        if (!list_valid(spans, size_class, &listed))
            return false;
    return index == POOL_GET(spans, top) && listed == free_count &&
           POOL_GET(spans, top) <= spans->enabled;
}

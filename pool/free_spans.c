#include "pool/free_spans.h"

#include "policy/must.h"

/* A span is marked at both ends: the first record holds its length and its place in a list
   (`next`, and the previous one in `pages`), the last record its length again, so that the
   neighbour behind finds its start. Records in between are POOL_UNBORN. */

static struct pool_record *at(const struct pool_free_spans *spans, uint32_t index)
{
    return &spans->records[index];
}

static uint32_t length(const struct pool_free_spans *spans, uint32_t index)
{
    return POOL_GET(at(spans, index), granules);
}

bool pool_free_span_at(const struct pool_free_spans *spans, uint32_t index)
{
    uint32_t state = POOL_GET(at(spans, index), state);
    return state == POOL_FREE || state == POOL_CLEAN;
}

void pool_free_spans_put(struct pool_free_spans *spans, uint32_t index, uint32_t granules,
                         enum pool_state state)
{
    uint32_t *head = &spans->lists[pool_span_class_within(granules)];
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
    if (state == POOL_FREE)
        POOL_SET(spans, dirty_granules, POOL_GET(spans, dirty_granules) + granules);
}

enum pool_state pool_free_spans_take(struct pool_free_spans *spans, uint32_t index)
{
    struct pool_record *first = at(spans, index);
    enum pool_state state = POOL_GET(first, state);
    uint32_t granules = POOL_GET(first, granules);
    uint32_t next = POOL_GET(first, next);
    uint32_t previous = POOL_GET(first, pages);
    if (next)
        POOL_SET(at(spans, next), pages, previous);
    if (previous)
        POOL_SET(at(spans, previous), next, next);
    else
        spans->lists[pool_span_class_within(granules)] = next;
    POOL_SET(at(spans, index + granules - 1), state, POOL_UNBORN);
    POOL_SET(first, state, POOL_UNBORN);
    if (state == POOL_FREE)
        POOL_SET(spans, dirty_granules, POOL_GET(spans, dirty_granules) - granules);
    return state;
}

uint32_t pool_free_spans_merge(struct pool_free_spans *spans, uint32_t index,
                               uint32_t granules, enum pool_state state, uint32_t end)
{
    POOL_SET(at(spans, index), state, POOL_UNBORN);
    uint32_t after = index + granules;
    if (after < end && POOL_GET(at(spans, after), state) == state) {
        granules += length(spans, after);
        (void)pool_free_spans_take(spans, after);
    }
    if (POOL_GET(at(spans, index - 1), state) == state) {
        uint32_t before = length(spans, index - 1);
        index -= before;
        granules += before;
        (void)pool_free_spans_take(spans, index);
    }
    pool_free_spans_put(spans, index, granules, state);
    return index;
}

static uint32_t best_in_list(const struct pool_free_spans *spans, uint32_t first,
                             uint32_t granules)
{
    uint32_t best = 0, best_granules = UINT32_MAX;
    for (uint32_t index = first; index; index = POOL_GET(at(spans, index), next)) {
        uint32_t have = length(spans, index);
        if (have < granules || have > best_granules ||
            (have == best_granules && index > best))
            continue;
        best = index;
        best_granules = have;
    }
    return best;
}

static uint32_t best_fit(const struct pool_free_spans *spans, uint32_t granules)
{
    uint32_t best = 0;
    for (uint32_t size_class = pool_span_class_within(granules);
         !best && size_class < POOL_SPAN_CLASSES; size_class++)
        best = best_in_list(spans, spans->lists[size_class], granules);
    return best;
}

void pool_free_spans_note_need(struct pool_free_spans *spans)
{
    uint32_t dirty = POOL_GET(spans, dirty_granules);
    if (dirty < spans->low_granules)
        spans->low_granules = dirty;
}

uint32_t pool_free_spans_start(const struct pool_free_spans *spans, uint32_t end)
{
    uint32_t start = end;
    while (pool_free_span_at(spans, start - 1))
        start -= length(spans, start - 1);
    return start;
}

/* How many granules are free from here on without a gap. */
static uint32_t run_length(const struct pool_free_spans *spans, uint32_t start,
                           uint32_t end)
{
    uint32_t index = start;
    while (index < end && pool_free_span_at(spans, index))
        index += length(spans, index);
    return index - start;
}

/* The shortest run that is long enough, when no single span is. */
static uint32_t best_run(const struct pool_free_spans *spans, uint32_t granules,
                         uint32_t end)
{
    uint32_t best = 0, best_granules = UINT32_MAX;
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        for (uint32_t index = spans->lists[size_class]; index;
             index = POOL_GET(at(spans, index), next)) {
            if (pool_free_span_at(spans, index - 1))
                continue;
            uint32_t have = run_length(spans, index, end);
            if (have < granules || have > best_granules ||
                (have == best_granules && index > best))
                continue;
            best = index;
            best_granules = have;
        }
    return best;
}

bool pool_free_spans_take_front(struct pool_free_spans *spans, uint32_t index,
                                uint32_t granules)
{
    bool clean = true;
    while (granules > 0) {
        uint32_t have = length(spans, index);
        uint32_t part = have < granules ? have : granules;
        must(pool_free_span_at(spans, index));
        enum pool_state state = pool_free_spans_take(spans, index);
        if (have > part)
            pool_free_spans_put(spans, index + part, have - part, state);
        clean = clean && state == POOL_CLEAN;
        index += part;
        granules -= part;
    }
    pool_free_spans_note_need(spans);
    return clean;
}

uint32_t pool_free_spans_fit(const struct pool_free_spans *spans, uint32_t granules,
                             uint32_t end)
{
    uint32_t index = best_fit(spans, granules);
    if (!index)
        index = best_run(spans, granules, end);
    /* What does not fit exactly comes from the front of all that is free there: dirty granules
       are used first, and the rest stays in one piece. */
    if (index && length(spans, index) != granules)
        index = pool_free_spans_start(spans, index);
    return index;
}

uint32_t pool_free_spans_clean(const struct pool_free_spans *spans, uint32_t index,
                               uint32_t granules)
{
    uint32_t clean = 0;
    for (uint32_t end = index + granules; index < end; index += length(spans, index)) {
        uint32_t part =
            length(spans, index) < end - index ? length(spans, index) : end - index;
        clean += POOL_GET(at(spans, index), state) == POOL_CLEAN ? part : 0;
    }
    return clean;
}

uint32_t pool_free_spans_last_dirty(const struct pool_free_spans *spans)
{
    uint32_t last = 0;
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        for (uint32_t index = spans->lists[size_class]; index;
             index = POOL_GET(at(spans, index), next))
            if (index > last && POOL_GET(at(spans, index), state) == POOL_FREE)
                last = index;
    return last;
}

uint32_t pool_free_spans_clean_tail(struct pool_free_spans *spans, uint32_t index,
                                    uint32_t granules, uint32_t end)
{
    uint32_t kept = length(spans, index) - granules;
    (void)pool_free_spans_take(spans, index);
    if (kept)
        pool_free_spans_put(spans, index, kept, POOL_FREE);
    /* What becomes dirty from here on was used in this window. */
    pool_free_spans_note_need(spans);
    return pool_free_spans_merge(spans, index + kept, granules, POOL_CLEAN, end);
}

uint32_t pool_free_spans_unneeded(struct pool_free_spans *spans)
{
    uint32_t low = spans->low_granules, dirty = POOL_GET(spans, dirty_granules);
    spans->low_granules = dirty;
    return low < dirty ? low : dirty;
}

bool pool_free_spans_valid(const struct pool_free_spans *spans, uint32_t *count)
{
    uint32_t dirty = 0;
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++) {
        uint32_t previous = 0;
        for (uint32_t index = spans->lists[size_class]; index;
             index = POOL_GET(at(spans, index), next)) {
            if (!pool_free_span_at(spans, index) ||
                pool_span_class_within(length(spans, index)) != size_class ||
                POOL_GET(at(spans, index), pages) != previous)
                return false;
            if (POOL_GET(at(spans, index), state) == POOL_FREE)
                dirty += length(spans, index);
            previous = index;
            ++*count;
        }
    }
    return dirty == POOL_GET(spans, dirty_granules);
}

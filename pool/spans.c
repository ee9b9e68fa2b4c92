#include "pool/spans.h"

#include "policy/must.h"

/* Memory order
   [A] put_back is a figure that is subtracted from what the bins counted: the release after
       the pop and the acquire before the bins are read keep the difference from going below
       zero.

   Of two threads that return one block at the same moment both may find it live. The exchange
   of the bin's head then tells the second one, unless another block was returned in between;
   else the claim tells that finds the block live. An exchange of the state would always tell,
   and make a third of what a claim and a return cost.

   Under the lock the area is tiled by blocks: each block's first record holds its length. */

_Thread_local uint32_t pool_spans_waits __attribute__((tls_model("initial-exec")));

static struct pool_record *at(struct pool_spans *spans, uint32_t index)
{
    return &spans->records[index];
}

static uint32_t length(struct pool_spans *spans, uint32_t index)
{
    return POOL_GET(at(spans, index), granules);
}

static char *address_of(struct pool_spans *spans, uint32_t index)
{
    return spans->base + ((size_t)index << POOL_GRANULE_SHIFT);
}

static void make_free(struct pool_spans *spans, uint32_t index)
{
    (void)pool_free_spans_merge(&spans->free, index, length(spans, index), POOL_FREE,
                                POOL_GET(spans, top));
}

void pool_spans_drain(struct pool_spans *spans)
{
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++) {
        struct pool_bin *bin = &spans->bins[size_class];
        uint32_t index = pool_bin_idle(bin) == 0 ? 0 : pool_bin_drain(bin);
        while (index) {
            uint32_t next = POOL_GET(at(spans, index), next);
            make_free(spans, index);
            index = next;
        }
    }
}

/* The first blocks of a light process stay on ordinary pages: its few would be one huge one. */
static void prefer_huge(struct pool_spans *spans, uint32_t from, uint32_t end)
{
    bool dense = spans->huge == POOL_HUGE_ALWAYS || POOL_GET(spans, dense);
    uint32_t first = dense ? 0 : POOL_SPAN_HUGE_GRANULES;
    if (from < first)
        from = first;
    if (spans->huge != POOL_HUGE_NEVER && spans->source->prefer_huge && from < end)
        spans->source->prefer_huge(address_of(spans, from), (size_t)(end - from)
                                                                << POOL_GRANULE_SHIFT);
}

static bool charge(struct pool_spans *spans, uint32_t granules)
{
    return pool_source_charge(spans->source, (size_t)granules << POOL_GRANULE_SHIFT);
}

static bool enable_up_to(struct pool_spans *spans, uint32_t end)
{
    if (end <= spans->enabled)
        return true;
    uint32_t rest = end % POOL_SPAN_ENABLE_GRANULES;
    if (rest)
        end += POOL_SPAN_ENABLE_GRANULES - rest;
    if (end > spans->limit)
        end = spans->limit;
    if (!spans->source->enable(address_of(spans, spans->enabled),
                               (size_t)(end - spans->enabled) << POOL_GRANULE_SHIFT))
        return false;
    prefer_huge(spans, spans->enabled, end);
    spans->enabled = end;
    return true;
}

/* Extends the area; what is free at its end becomes part of the new block. */
static uint32_t extend(struct pool_spans *spans, uint32_t granules, bool *fresh)
{
    uint32_t top = POOL_GET(spans, top);
    uint32_t start = pool_free_spans_start(&spans->free, top);
    /* Where so many are free, they were refused. */
    if (granules <= top - start || granules > spans->limit - start)
        return 0;
    uint32_t entering = pool_free_spans_clean(&spans->free, start, top - start) +
                        (start + granules - top);
    if (!charge(spans, entering))
        return 0;
    if (!enable_up_to(spans, start + granules)) {
        pool_source_refund(spans->source, (size_t)entering << POOL_GRANULE_SHIFT);
        return 0;
    }
    *fresh = pool_free_spans_take_front(&spans->free, start, top - start);
    POOL_SET(at(spans, start), granules, granules);
    POOL_SET(spans, top, start + granules);
    spans->figures.born++;
    return start;
}

/* From what is free; 0 also when what reads as zero there may not enter again. */
static uint32_t fit(struct pool_spans *spans, uint32_t granules, bool *fresh)
{
    uint32_t index = pool_free_spans_fit(&spans->free, granules, POOL_GET(spans, top));
    if (!index || !charge(spans, pool_free_spans_clean(&spans->free, index, granules)))
        return 0;
    *fresh = pool_free_spans_take_front(&spans->free, index, granules);
    POOL_SET(at(spans, index), granules, granules);
    spans->figures.fitted++;
    return index;
}

POOL_RARE static uint32_t claim_locked(struct pool_spans *spans, uint32_t granules,
                                       bool *fresh)
{
    if (!pool_lock_try(&spans->lock)) {
        pool_spans_waits++;
        if (!pool_lock_take(&spans->lock))
            return 0;
    }
    pool_spans_drain(spans);
    uint32_t index = fit(spans, granules, fresh);
    if (!index)
        index = extend(spans, granules, fresh);
    if (index) {
        POOL_SET(at(spans, index), size_class,
                 (uint16_t)pool_span_class_within(granules));
        /* While no fork can begin: no child finds a block without a state. */
        POOL_SET(at(spans, index), state, POOL_LIVE);
    }
    pool_lock_give(&spans->lock);
    return index;
}

/* The block's bin would not take it. False when another thread has just returned it. */
POOL_RARE static bool return_locked(struct pool_spans *spans, uint32_t index,
                                    uint64_t head)
{
    if (pool_bin_first(head) == index)
        return false;
    /* With the lock lost the block is, too: nobody claims it again. */
    if (!pool_lock_take(&spans->lock))
        return true;
    make_free(spans, index);
    pool_lock_give(&spans->lock);
    return true;
}

/* Into the bin of the largest class that the block can serve. */
static bool return_idle(struct pool_spans *spans, uint32_t index, bool *due)
{
    uint32_t size_class = POOL_GET(at(spans, index), size_class);
    uint64_t head;
    if (__builtin_expect(
            !pool_bin_push_head(&spans->bins[size_class], spans->records, index, &head),
            0))
        return return_locked(spans, index, head);
    *due =
        pool_bin_is_due(head, POOL_SPAN_LIMIT_SHIFT - pool_span_class_octave(size_class));
    return true;
}

/* The class below holds blocks of this length and shorter ones. What waits on top is looked at
   first: a program that asks for one size again and again finds its own block there. */
static uint32_t claim_below(struct pool_spans *spans, uint32_t granules, uint64_t *head)
{
    struct pool_bin *bin = &spans->bins[pool_span_class(granules) - 1];
    uint32_t index = pool_bin_peek(bin);
    if (!index || length(spans, index) < granules)
        return 0;
    index = pool_bin_pop_head(bin, spans->records, head);
    if (!index || length(spans, index) >= granules)
        return index;
    /* Another thread took what was seen. */
    bool due;
    atomic_fetch_add_explicit(&spans->put_back, 1, memory_order_release); /* A */
    (void)return_idle(spans, index, &due);
    return 0;
}

static uint32_t claim_idle(struct pool_spans *spans, uint32_t granules, uint64_t *head)
{
    uint32_t size_class = pool_span_class(granules);
    uint32_t index = 0;
    if (!pool_span_class_is_exact(granules))
        index = claim_below(spans, granules, head);
    if (!index)
        index = pool_bin_pop_head(&spans->bins[size_class], spans->records, head);
    return index;
}

uint32_t pool_spans_claim(struct pool_spans *spans, uint32_t granules, bool *fresh,
                          bool *due)
{
    uint64_t head;
    *fresh = false;
    uint32_t index = claim_idle(spans, granules, &head);
    if (__builtin_expect(index == 0, 0)) {
        *due = pool_bin_due(&spans->bins[pool_span_class(granules)]);
        return claim_locked(spans, granules, fresh);
    }
    /* Else two threads have returned it at once, and one of them has claimed it since. */
    must(POOL_GET(at(spans, index), state) == POOL_IDLE);
    POOL_SET(at(spans, index), state, POOL_LIVE);
    *due = pool_bin_is_due(head, POOL_BIN_LOOK_SHIFT);
    return index;
}

bool pool_spans_return(struct pool_spans *spans, uint32_t index, bool *due)
{
    *due = true;
    if (__builtin_expect(POOL_GET(at(spans, index), state) != POOL_LIVE, 0))
        return false;
    POOL_SET(at(spans, index), state, POOL_IDLE);
    return return_idle(spans, index, due);
}

bool pool_spans_has_room(struct pool_spans *spans, uint32_t granules)
{
    if (!pool_lock_take(&spans->lock))
        return true;
    bool has_room = granules <= spans->limit - POOL_GET(spans, top);
    pool_lock_give(&spans->lock);
    return has_room;
}

void pool_spans_open(struct pool_spans *spans, char *base, uint32_t granules,
                     struct pool_record *records, const struct pool_source *source)
{
    spans->base = base;
    spans->records = spans->free.records = records;
    spans->source = source;
    POOL_SET(spans, top, 1); /* index 0 means "none" */
    spans->enabled = 0;
    spans->limit = granules < POOL_SPAN_MOST_INDEX ? granules : POOL_SPAN_MOST_INDEX;
    pool_lock_open(&spans->lock);
}

struct pool_span_figures pool_spans_figures(struct pool_spans *spans)
{
    struct pool_span_figures figures = {0};
    if (!pool_lock_take(&spans->lock))
        return figures;
    figures = spans->figures;
    uint64_t put_back =
        atomic_load_explicit(&spans->put_back, memory_order_acquire); /* A */
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        figures.popped += pool_bin_popped(&spans->bins[size_class]);
    figures.popped -= put_back;
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

bool pool_spans_valid(struct pool_spans *spans)
{
    uint32_t index = 1, free_count = 0, listed = 0;
    enum pool_state before = POOL_LIVE;
    while (index < POOL_GET(spans, top)) {
        uint32_t granules = length(spans, index);
        if (granules == 0 || POOL_GET(at(spans, index), state) == POOL_UNBORN)
            return false;
        bool now_free = pool_free_span_at(&spans->free, index);
        enum pool_state state = POOL_GET(at(spans, index), state);
        if (now_free &&
            (state == before || length(spans, index + granules - 1) != granules))
            return false;
        free_count += now_free;
        before = state;
        index += granules;
    }
    return index == POOL_GET(spans, top) && index <= spans->enabled + (index == 1) &&
           pool_free_spans_valid(&spans->free, &listed) && listed == free_count;
}

/* How long the packed area keeps memory: given back when asked, when nobody needed it for a
   window, and spared to children of fork. All of it under the lock; whoever gives memory back
   takes the block out of its bin first, and so owns it. */
#include "pool/spans.h"

static struct pool_record *at(struct pool_spans *spans, uint32_t index)
{
    return &spans->records[index];
}

static char *address_of(struct pool_spans *spans, uint32_t index)
{
    return spans->base + ((size_t)index << POOL_GRANULE_SHIFT);
}

static size_t bytes_of(uint32_t granules)
{
    return (size_t)granules << POOL_GRANULE_SHIFT;
}

/* Gives the last `granules` of a free span's memory back; what stays dirty stays in front,
   where the next claim fits it. Returns how many granules that was. */
static uint32_t discard_tail(struct pool_spans *spans, uint32_t index, uint32_t granules)
{
    uint32_t have = POOL_GET(at(spans, index), granules);
    if (granules > have)
        granules = have;
    uint32_t kept = have - granules;
    if (!spans->source->discard(address_of(spans, index + kept), bytes_of(granules)))
        return 0;
    (void)pool_free_spans_clean_tail(&spans->free, index, granules, POOL_GET(spans, top));
    return granules;
}

/* Gives up to `most` granules of free memory back, the highest addresses first; how many. Ends:
   each round makes one span clean, or stops. */
static uint32_t discard_last(struct pool_spans *spans, uint32_t most)
{
    uint32_t given = 0;
    while (given < most) {
        uint32_t index = pool_free_spans_last_dirty(&spans->free);
        uint32_t part = index ? discard_tail(spans, index, most - given) : 0;
        if (part == 0)
            break;
        given += part;
    }
    return given;
}

/* The same in address order, which takes one walk. */
static uint32_t discard_some(struct pool_spans *spans, uint32_t most)
{
    uint32_t given = 0, index = 1, top = POOL_GET(spans, top);
    while (index < top && given < most) {
        uint32_t granules = POOL_GET(at(spans, index), granules);
        uint32_t part = granules < most - given ? granules : most - given;
        if (POOL_GET(at(spans, index), state) == POOL_FREE &&
            spans->source->discard(address_of(spans, index + granules - part),
                                   bytes_of(part))) {
            index = pool_free_spans_clean_tail(&spans->free, index, part, top);
            given += part;
        }
        index += POOL_GET(at(spans, index), granules);
    }
    return given;
}

static uint32_t one_step(uint32_t granules)
{
    return granules < POOL_SPAN_STEP_GRANULES ? granules : POOL_SPAN_STEP_GRANULES;
}

/* Goes on with `left` granules, step by step, and gives the lock. What others make dirty
   meanwhile is theirs: there is an end. */
static uint32_t discard_rest(struct pool_spans *spans, uint32_t left,
                             uint32_t (*discard)(struct pool_spans *spans, uint32_t most))
{
    uint32_t given = 0;
    while (left > 0) {
        uint32_t step = one_step(left), part = discard(spans, step);
        given += part;
        left -= part;
        if (part < step || left == 0)
            break;
        if (!pool_lock_make_way(&spans->lock))
            return given;
    }
    pool_lock_give(&spans->lock);
    return given;
}

size_t pool_spans_trim(struct pool_spans *spans)
{
    if (!pool_lock_take(&spans->lock))
        return 0;
    pool_spans_drain(spans);
    return bytes_of(
        discard_rest(spans, POOL_GET(&spans->free, dirty_granules), discard_some));
}

/* Unneeded granules: how many may still go back in this step, and how many must wait for a later
   one. */
struct allowance {
    uint32_t now, later;
};

static uint32_t age_free(struct pool_spans *spans, struct allowance *allowance)
{
    uint32_t dirty = POOL_GET(&spans->free, dirty_granules);
    uint32_t unneeded = pool_free_spans_unneeded(&spans->free);
    uint32_t part = one_step(unneeded);
    uint32_t given =
        part == dirty ? discard_some(spans, part) : discard_last(spans, part);
    allowance->now -= part;
    allowance->later += unneeded - part;
    return given;
}

/* Takes all blocks of a bin out, puts the `kept` that were used last back, coldest first so
   that the order stays, and returns the others as a list. */
static uint32_t take_coldest(struct pool_spans *spans, struct pool_bin *bin,
                             uint32_t unneeded)
{
    uint32_t kept = pool_bin_idle(bin), warm = 0;
    kept = kept > unneeded ? kept - unneeded : 0;
    uint32_t index = pool_bin_drain(bin);
    for (; index && kept > 0; kept--) {
        uint32_t next = POOL_GET(at(spans, index), next);
        POOL_SET(at(spans, index), next, warm);
        warm = index;
        index = next;
    }
    while (warm) {
        uint32_t next = POOL_GET(at(spans, warm), next);
        if (!pool_bin_push(bin, spans->records, warm))
            (void)pool_free_spans_merge(&spans->free, warm,
                                        POOL_GET(at(spans, warm), granules), POOL_FREE,
                                        POOL_GET(spans, top));
        warm = next;
    }
    return index;
}

static uint32_t age_bin(struct pool_spans *spans, struct pool_bin *bin,
                        struct allowance *allowance)
{
    uint32_t unneeded = pool_bin_unneeded(bin);
    uint32_t given = 0;
    uint32_t index = unneeded ? take_coldest(spans, bin, unneeded) : 0;
    while (index) {
        uint32_t next = POOL_GET(at(spans, index), next);
        uint32_t granules = POOL_GET(at(spans, index), granules);
        bool now = granules <= allowance->now;
        bool done =
            now && spans->source->discard(address_of(spans, index), bytes_of(granules));
        allowance->now -= now ? granules : 0;
        allowance->later += now ? 0 : granules;
        given += done ? granules : 0;
        (void)pool_free_spans_merge(&spans->free, index, granules,
                                    done ? POOL_CLEAN : POOL_FREE, POOL_GET(spans, top));
        index = next;
    }
    if (unneeded)
        (void)pool_bin_unneeded(bin); /* the next window begins with what is kept */
    return given;
}

size_t pool_spans_age(struct pool_spans *spans)
{
    struct allowance allowance = {.now = POOL_SPAN_STEP_GRANULES};
    if (!pool_lock_take(&spans->lock))
        return 0;
    uint32_t given = age_free(spans, &allowance);
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        given += age_bin(spans, &spans->bins[size_class], &allowance);
    (void)pool_free_spans_unneeded(&spans->free);
    if (allowance.later > 0 && !pool_lock_make_way(&spans->lock))
        return bytes_of(given);
    return bytes_of(given) + bytes_of(discard_rest(spans, allowance.later, discard_last));
}

size_t pool_spans_idle_bytes(const struct pool_spans *spans)
{
    uint64_t granules = POOL_GET(&spans->free, dirty_granules);
    /* Asked of every area, of which nearly always only one ever had a block. */
    if (POOL_GET(spans, top) == 1)
        return 0;
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        granules += (uint64_t)pool_bin_idle(&spans->bins[size_class]) *
                    pool_span_class_granules(size_class);
    return (size_t)granules << POOL_GRANULE_SHIFT;
}

void pool_spans_shed(struct pool_spans *spans)
{
    if (!pool_lock_take(&spans->lock))
        return;
    /* Granule 0 stays ours: it counts as born, and no block ever ends before it. */
    uint32_t end = spans->enabled > 0 ? spans->enabled : 1;
    if (end < spans->limit)
        spans->source->release(address_of(spans, end), bytes_of(spans->limit - end));
    spans->limit = end;
    pool_lock_give(&spans->lock);
}

/* Idle memory costs a fork a copy of its page tables, and the parent a copy of each page that
   it uses next. So it is wiped in the child instead, which starts with none. Marks never
   outlive the fork: raw clone and _Fork run no handlers, and what is live by then would be
   wiped there. */
static void mark(struct pool_spans *spans, uint32_t index)
{
    uint32_t granules = POOL_GET(at(spans, index), granules);
    if (granules >= POOL_SPAN_FORK_GRANULES &&
        POOL_GET(at(spans, index), state) == POOL_FREE &&
        spans->source->wipe_on_fork(address_of(spans, index), bytes_of(granules), true))
        POOL_SET(at(spans, index), state, POOL_WIPED);
}

/* A mark that cannot be taken back must never reach live data: such a span is given up. */
static void unmark(struct pool_spans *spans, uint32_t index)
{
    uint32_t granules = POOL_GET(at(spans, index), granules);
    if (POOL_GET(at(spans, index), state) != POOL_WIPED)
        return;
    POOL_SET(at(spans, index), state, POOL_FREE);
    if (spans->source->wipe_on_fork(address_of(spans, index), bytes_of(granules), false))
        return;
    (void)pool_free_spans_take(&spans->free, index);
    POOL_SET(at(spans, index), state, POOL_LIVE);
}

static void for_each_free(struct pool_spans *spans,
                          void (*act)(struct pool_spans *spans, uint32_t index))
{
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++) {
        uint32_t index = spans->free.lists[size_class];
        while (index) {
            uint32_t next = POOL_GET(at(spans, index), next);
            act(spans, index);
            index = next;
        }
    }
}

void pool_spans_fork_prepare(struct pool_spans *spans)
{
    if (!pool_lock_fork_prepare(&spans->lock) || !spans->source->wipe_on_fork ||
        pool_spans_idle_bytes(spans) < bytes_of(POOL_SPAN_FORK_GRANULES))
        return;
    pool_spans_drain(spans);
    for_each_free(spans, mark);
}

void pool_spans_fork_done(struct pool_spans *spans, bool in_child)
{
    if (!pool_lock_fork_ends(&spans->lock))
        return;
    for_each_free(spans, unmark);
    if (in_child)
        (void)discard_some(spans, UINT32_MAX);
    pool_lock_fork_done(&spans->lock);
}

/* How retention ends while the program runs. Where a limit counts memory or address space,
   what lies idle is missing elsewhere: from then on nothing is served, and what is idle, and
   every block that still comes back, gives its address space back with its memory. */
#include "pool/heap.h"

static size_t release_span(struct pool_spans *spans, uint32_t index)
{
    struct pool_record *record = &spans->records[index];
    size_t bytes = (size_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
    bool clean = pool_free_spans_take(&spans->free, index) == POOL_CLEAN;
    POOL_SET(record, state, POOL_GONE);
    spans->source->release(spans->base + ((size_t)index << POOL_GRANULE_SHIFT), bytes);
    bytes = clean ? 0 : bytes;
    pool_source_refund(spans->source, bytes);
    return bytes;
}

size_t pool_spans_close(struct pool_spans *spans)
{
    size_t bytes = 0;
    if (!pool_lock_take(&spans->lock))
        return 0;
    pool_spans_drain(spans);
    for (uint32_t size_class = 0; size_class < POOL_SPAN_CLASSES; size_class++)
        while (spans->free.lists[size_class])
            bytes += release_span(spans, spans->free.lists[size_class]);
    uint32_t top = POOL_GET(spans, top);
    if (top < spans->limit)
        spans->source->release(spans->base + ((size_t)top << POOL_GRANULE_SHIFT),
                               (size_t)(spans->limit - top) << POOL_GRANULE_SHIFT);
    spans->limit = top;
    pool_lock_give(&spans->lock);
    return bytes;
}

static size_t release_row(struct pool_rows *rows, unsigned row)
{
    size_t bytes = 0;
    uint32_t index = pool_bin_drain(&rows->rows[row].bin);
    while (index) {
        struct pool_record *record = &rows->records[index];
        uint32_t next = POOL_GET(record, next);
        if (POOL_GET(record, state) != POOL_CLEAN)
            bytes += (size_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
        POOL_SET(record, state, POOL_GONE);
        rows->source->release(pool_rows_address(rows, index),
                              (size_t)1 << (POOL_ROW_FIRST_SHIFT + row));
        index = next;
    }
    pool_source_refund(rows->source, bytes);
    return bytes;
}

size_t pool_rows_close(struct pool_rows *rows)
{
    size_t bytes = 0;
    pool_rows_shed(rows);
    if (!pool_lock_take(&rows->lock))
        return 0;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        bytes += release_row(rows, row);
    pool_lock_give(&rows->lock);
    return bytes;
}

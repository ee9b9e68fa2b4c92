#include "pool/heap.h"

#include "policy/must.h"

enum {
    BASE_SHIFT = 21,      /* strides begin where a huge page can */
    AREA_SHIFT_MOST = 36, /* 64 GiB packed, and as much for each row */
    AREA_SHIFT_LEAST =
        30, /* below 1 GiB each, retention is not worth its address space */
    PACKED_MOST = POOL_SPAN_MOST_GRANULES << POOL_GRANULE_SHIFT,
};

/* One area is packed, the others are rows. Their records lie before them. */
static bool open_at(struct pool_heap *heap, const struct pool_source *source,
                    unsigned shift)
{
    size_t area = (size_t)1 << shift;
    size_t bytes = area * (1 + POOL_ROW_COUNT);
    uint32_t granules = (uint32_t)(area >> POOL_GRANULE_SHIFT);
    size_t record_bytes =
        ((size_t)granules + pool_rows_records(shift)) * sizeof(struct pool_record);
    struct pool_record *records = source->reserve(record_bytes);
    if (!records)
        return false;
    if (!source->enable(records, record_bytes))
        goto release_records;
    char *base = source->reserve(bytes + ((size_t)1 << BASE_SHIFT));
    if (!base)
        goto release_records;
    size_t off = (uintptr_t)base & (((size_t)1 << BASE_SHIFT) - 1);
    heap->base = base + (off ? ((size_t)1 << BASE_SHIFT) - off : 0);
    heap->rows_base = heap->base + area;
    pool_spans_open(&heap->spans, heap->base, granules, records, source);
    pool_rows_open(&heap->rows, heap->rows_base, shift, records + granules, source);
    heap->bytes = bytes;
    return true;

release_records:
    source->release(records, record_bytes);
    return false;
}

bool pool_heap_open(struct pool_heap *heap, const struct pool_source *source)
{
    for (unsigned shift = AREA_SHIFT_MOST; shift >= AREA_SHIFT_LEAST; shift -= 2)
        if (open_at(heap, source, shift))
            return true;
    return false;
}

static uint32_t pages_of(size_t bytes)
{
    return (uint32_t)((bytes + ((size_t)1 << POOL_PAGE_SHIFT) - 1) >> POOL_PAGE_SHIFT);
}

static uint32_t granules_of(size_t bytes)
{
    return (uint32_t)((bytes + ((size_t)1 << POOL_GRANULE_SHIFT) - 1) >>
                      POOL_GRANULE_SHIFT);
}

static bool in_rows(const struct pool_heap *heap, const void *address)
{
    return (const char *)address >= heap->rows_base;
}

/* The index of the record that a block at this address would have; 0: none can. */
static uint32_t index_of(const struct pool_heap *heap, const void *address)
{
    if (in_rows(heap, address))
        return pool_rows_index(&heap->rows, address);
    size_t offset = (size_t)((const char *)address - heap->base);
    if (offset & (((size_t)1 << POOL_GRANULE_SHIFT) - 1))
        return 0;
    return (uint32_t)(offset >> POOL_GRANULE_SHIFT);
}

static struct pool_record *record_of(const struct pool_heap *heap, const void *address)
{
    uint32_t index = index_of(heap, address);
    must(index != 0);
    return in_rows(heap, address) ? &heap->rows.records[index]
                                  : &heap->spans.records[index];
}

static void *claim_span(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    uint32_t index = pool_spans_claim(&heap->spans, granules_of(bytes), fresh);
    if (!index)
        return NULL;
    POOL_SET(&heap->spans.records[index], pages, pages_of(bytes));
    return heap->base + ((size_t)index << POOL_GRANULE_SHIFT);
}

static void *claim_row(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    uint32_t index = pool_rows_claim(&heap->rows, bytes, fresh);
    if (!index)
        return NULL;
    POOL_SET(&heap->rows.records[index], pages, pages_of(bytes));
    return pool_rows_address(&heap->rows, index);
}

/* Also the limit that keeps the sums above from wrapping. */
static bool too_large(const struct pool_heap *heap, size_t bytes)
{
    return bytes > heap->bytes / (1 + POOL_ROW_COUNT);
}

static void *spill(struct pool_heap *heap)
{
    atomic_fetch_add_explicit(&heap->spilled, 1, memory_order_relaxed); /* a figure */
    return NULL;
}

void *pool_heap_claim(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    *fresh = false;
    if (too_large(heap, bytes))
        return spill(heap);
    void *block = bytes <= PACKED_MOST ? claim_span(heap, bytes, fresh)
                                       : claim_row(heap, bytes, fresh);
    return block ? block : spill(heap);
}

void *pool_heap_claim_growing(struct pool_heap *heap, size_t bytes)
{
    bool fresh;
    if (too_large(heap, bytes))
        return spill(heap);
    void *block = claim_row(heap, bytes, &fresh);
    return block ? block : pool_heap_claim(heap, bytes, &fresh);
}

bool pool_heap_owns(const struct pool_heap *heap, const void *address)
{
    size_t offset = (uintptr_t)address - (uintptr_t)heap->base;
    if (offset >= heap->bytes)
        return false;
    if (in_rows(heap, address))
        return pool_rows_was_born(&heap->rows, address);
    return offset >> POOL_GRANULE_SHIFT < POOL_GET(&heap->spans, top);
}

enum pool_heap_place pool_heap_place(const struct pool_heap *heap, const void *address)
{
    uint32_t index = index_of(heap, address);
    if (!index)
        return POOL_PLACE_INSIDE;
    switch ((enum pool_state)POOL_GET(record_of(heap, address), state)) {
    case POOL_LIVE:
        return POOL_PLACE_LIVE;
    case POOL_IDLE:
    case POOL_FREE:
    case POOL_CLEAN:
        return POOL_PLACE_RETURNED;
    case POOL_UNBORN:
        break;
    }
    return POOL_PLACE_INSIDE;
}

bool pool_heap_return(struct pool_heap *heap, void *address)
{
    uint32_t index = index_of(heap, address);
    if (!index || POOL_GET(record_of(heap, address), state) != POOL_LIVE)
        return false;
    if (in_rows(heap, address))
        pool_rows_return(&heap->rows, index);
    else
        pool_spans_return(&heap->spans, index);
    return true;
}

size_t pool_heap_usable(const struct pool_heap *heap, const void *address)
{
    return (size_t)POOL_GET(record_of(heap, address), pages) << POOL_PAGE_SHIFT;
}

bool pool_heap_resize(struct pool_heap *heap, void *address, size_t bytes)
{
    struct pool_record *record = record_of(heap, address);
    if (too_large(heap, bytes))
        return false;
    bool fits = in_rows(heap, address)
                    ? pool_rows_extend(&heap->rows, index_of(heap, address), bytes)
                    : granules_of(bytes) <= POOL_GET(record, granules);
    if (fits)
        POOL_SET(record, pages, pages_of(bytes));
    return fits;
}

static void count_block(void *context, const struct pool_record *record)
{
    struct pool_heap_figures *figures = context;
    uint64_t bytes = (uint64_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
    uint32_t state = POOL_GET(record, state);
    if (state == POOL_CLEAN)
        return;
    figures->blocks++;
    *(state == POOL_LIVE ? &figures->live_bytes : &figures->idle_bytes) += bytes;
}

/* What is held falls by a trim alone, so what was held before one is all there is to
   remember. */
static uint64_t high_water(struct pool_heap *heap, uint64_t held_bytes)
{
    uint64_t most = atomic_load_explicit(&heap->high_water_bytes,
                                         memory_order_relaxed); /* a figure */
    return held_bytes > most ? held_bytes : most;
}

struct pool_heap_figures pool_heap_read(struct pool_heap *heap)
{
    struct pool_heap_figures figures = {0};
    figures.spilled = atomic_load_explicit(&heap->spilled, memory_order_relaxed);
    if (heap->bytes == 0)
        return figures;
    pool_spans_walk(&heap->spans, count_block, &figures);
    pool_rows_walk(&heap->rows, count_block, &figures);
    struct pool_span_figures spans = pool_spans_figures(&heap->spans);
    struct pool_row_figures rows = pool_rows_figures(&heap->rows);
    figures.reused = spans.popped + spans.fitted + rows.reused;
    figures.born = spans.born + rows.born;
    figures.claims = figures.reused + figures.born;
    figures.high_water_bytes = high_water(heap, figures.live_bytes + figures.idle_bytes);
    return figures;
}

void pool_heap_shed(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    pool_spans_shed(&heap->spans);
    pool_rows_shed(&heap->rows);
}

size_t pool_heap_trim(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return 0;
    atomic_store_explicit(&heap->high_water_bytes, pool_heap_read(heap).high_water_bytes,
                          memory_order_relaxed); /* a figure */
    return pool_spans_trim(&heap->spans) + pool_rows_trim(&heap->rows);
}

void pool_heap_fork_prepare(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    pool_spans_fork_prepare(&heap->spans);
    pool_rows_fork_prepare(&heap->rows);
}

void pool_heap_fork_done(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    pool_rows_fork_done(&heap->rows);
    pool_spans_fork_done(&heap->spans);
}

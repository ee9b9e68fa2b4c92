#include "pool/heap.h"

#include <string.h>

#include "policy/must.h"

enum {
    BASE_SHIFT = 21,      /* strides begin where a huge page can */
    AREA_SHIFT_MOST = 36, /* 64 GiB packed, and as much for each row */
    AREA_SHIFT_LEAST =
        30, /* below 1 GiB each, retention is not worth its address space */
    MOVE_LEAST_BYTES = 2 << 20, /* below, copying costs less than a system call */
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
    pool_packed_open(&heap->packed, heap->base, shift - POOL_GRANULE_SHIFT, records,
                     source);
    pool_rows_open(&heap->rows, heap->rows_base, shift, records + granules, source);
    heap->bytes = bytes;
    heap->tuning.decay_ms = UINT64_MAX;
    POOL_SET(heap, most_bytes, area);
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
                                  : &heap->packed.records[index];
}

POOL_RARE static void look_around(struct pool_heap *heap)
{
    pool_packed_move_on(&heap->packed);
    pool_heap_look_at_clock(heap);
}

static void *claim_span(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    bool due;
    uint32_t index = pool_packed_claim(&heap->packed, granules_of(bytes), fresh, &due);
    if (__builtin_expect(index == 0, 0))
        return NULL;
    POOL_SET(&heap->packed.records[index], pages, pages_of(bytes));
    if (__builtin_expect(due, 0))
        look_around(heap);
    return heap->base + ((size_t)index << POOL_GRANULE_SHIFT);
}

POOL_RARE static void *claim_row(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    uint32_t index = pool_rows_claim(&heap->rows, bytes, fresh);
    if (!index)
        return NULL;
    POOL_SET(&heap->rows.records[index], pages, pages_of(bytes));
    if (*fresh)
        pool_packed_set_dense(&heap->packed);
    if (pool_rows_due(&heap->rows, index))
        pool_heap_look_at_clock(heap);
    return pool_rows_address(&heap->rows, index);
}

POOL_RARE static void *spill(struct pool_heap *heap)
{
    atomic_fetch_add_explicit(&heap->spilled, 1, memory_order_relaxed); /* a figure */
    return NULL;
}

/* Flat: what a claim of an idle block comes to is counted in instructions. */
__attribute__((flatten)) void *pool_heap_claim(struct pool_heap *heap, size_t bytes,
                                               bool *fresh)
{
    *fresh = false;
    if (bytes > POOL_GET(heap, most_bytes))
        return spill(heap);
    void *block = bytes <= PACKED_MOST ? claim_span(heap, bytes, fresh)
                                       : claim_row(heap, bytes, fresh);
    return block ? block : spill(heap);
}

static void *claim_growing(struct pool_heap *heap, size_t bytes, bool *fresh)
{
    *fresh = false;
    if (bytes > POOL_GET(heap, most_bytes))
        return spill(heap);
    void *block = claim_row(heap, bytes, fresh);
    return block ? block : pool_heap_claim(heap, bytes, fresh);
}

void *pool_heap_claim_growing(struct pool_heap *heap, size_t bytes)
{
    bool fresh;
    return claim_growing(heap, bytes, &fresh);
}

static bool is_closed(const struct pool_heap *heap)
{
    return POOL_GET(heap, most_bytes) == 0;
}

bool pool_heap_owns(const struct pool_heap *heap, const void *address)
{
    size_t offset = (uintptr_t)address - (uintptr_t)heap->base;
    if (offset >= heap->bytes)
        return false;
    bool born = in_rows(heap, address)
                    ? pool_rows_was_born(&heap->rows, address)
                    : pool_packed_was_born(&heap->packed,
                                           (uint32_t)(offset >> POOL_GRANULE_SHIFT));
    return born &&
           (!is_closed(heap) || pool_heap_place(heap, address) == POOL_PLACE_LIVE);
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
    case POOL_WIPED:
    case POOL_GONE:
        return POOL_PLACE_RETURNED;
    case POOL_UNBORN:
        break;
    }
    return POOL_PLACE_INSIDE;
}

POOL_RARE static bool return_row(struct pool_heap *heap, const void *address)
{
    size_t offset = (uintptr_t)address - (uintptr_t)heap->base;
    uint32_t index = offset < heap->bytes ? index_of(heap, address) : 0;
    if (!index || !pool_rows_return(&heap->rows, index))
        return false;
    pool_heap_keep_limit(heap);
    return true;
}

static bool return_span(struct pool_heap *heap, size_t offset)
{
    bool due;
    uint32_t index = (uint32_t)(offset >> POOL_GRANULE_SHIFT);
    if (__builtin_expect(offset & (((size_t)1 << POOL_GRANULE_SHIFT) - 1), 0) ||
        !pool_packed_return(&heap->packed, index, &due))
        return false;
    if (__builtin_expect(due, 0))
        pool_heap_keep_limit(heap);
    return true;
}

/* Flat, as above. */
__attribute__((flatten)) bool pool_heap_return(struct pool_heap *heap, void *address)
{
    size_t offset = (uintptr_t)address - (uintptr_t)heap->base;
    size_t packed_bytes = (uintptr_t)heap->rows_base - (uintptr_t)heap->base;
    bool returned = __builtin_expect(offset < packed_bytes, 1)
                        ? return_span(heap, offset)
                        : return_row(heap, address);
    if (__builtin_expect(returned && is_closed(heap), 0))
        pool_heap_close_idle(heap);
    return returned;
}

size_t pool_heap_usable(const struct pool_heap *heap, const void *address)
{
    return (size_t)POOL_GET(record_of(heap, address), pages) << POOL_PAGE_SHIFT;
}

bool pool_heap_resize(struct pool_heap *heap, void *address, size_t bytes)
{
    struct pool_record *record = record_of(heap, address);
    if (bytes > heap->bytes)
        return false;
    bool fits = in_rows(heap, address)
                    ? pool_rows_extend(&heap->rows, index_of(heap, address), bytes)
                    : granules_of(bytes) <= POOL_GET(record, granules);
    if (fits)
        POOL_SET(record, pages, pages_of(bytes));
    return fits;
}

/* Page tables instead of bytes: between two strides, where whole tables change hands, and into
   a block that holds nothing yet; pages that it had would have to be given back first. */
static bool can_move(const struct pool_heap *heap, const void *from, const void *to,
                     size_t bytes, bool fresh)
{
    return fresh && bytes >= MOVE_LEAST_BYTES && in_rows(heap, from) &&
           in_rows(heap, to) && heap->rows.source->move;
}

void *pool_heap_grow(struct pool_heap *heap, void *block, size_t bytes)
{
    bool fresh;
    size_t held = pool_heap_usable(heap, block);
    void *grown = claim_growing(heap, bytes, &fresh);
    if (!grown)
        return NULL;
    if (!can_move(heap, block, grown, held, fresh) ||
        !heap->rows.source->move(block, grown, held))
        memcpy(grown, block, held < bytes ? held : bytes);
    must(pool_heap_return(heap, block));
    return grown;
}

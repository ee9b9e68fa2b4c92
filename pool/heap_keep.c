/* How long the heap keeps memory, and how much: by age, by a limit, until it is told to give back
   or to end. Where the heap's blocks are does not matter here; spans_keep.c and rows_keep.c
   know. */
#include "pool/heap.h"

/* Memory order
   [A] Figures, and the beginning of a window, which is handed from one thread to another by
       nothing else: whoever exchanges it does the work of the window, under the locks. */

static void count_block(void *context, const struct pool_record *record)
{
    struct pool_heap_figures *figures = context;
    uint64_t bytes = (uint64_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
    uint32_t state = POOL_GET(record, state);
    if (state == POOL_CLEAN || state == POOL_GONE)
        return;
    figures->blocks++;
    *(state == POOL_LIVE ? &figures->live_bytes : &figures->idle_bytes) += bytes;
}

/* What is held falls by a trim alone, so what was held before one is all there is to
   remember. */
static uint64_t high_water(struct pool_heap *heap, uint64_t held_bytes)
{
    uint64_t most =
        atomic_load_explicit(&heap->high_water_bytes, memory_order_relaxed); /* A */
    return held_bytes > most ? held_bytes : most;
}

struct pool_heap_figures pool_heap_read(struct pool_heap *heap)
{
    struct pool_heap_figures figures = {0};
    figures.spilled = atomic_load_explicit(&heap->spilled, memory_order_relaxed);
    if (heap->bytes == 0)
        return figures;
    pool_packed_walk(&heap->packed, count_block, &figures);
    pool_rows_walk(&heap->rows, count_block, &figures);
    struct pool_span_figures spans = pool_packed_figures(&heap->packed);
    struct pool_row_figures rows = pool_rows_figures(&heap->rows);
    figures.reused = spans.popped + spans.fitted + rows.reused;
    figures.born = spans.born + rows.born;
    figures.claims = figures.reused + figures.born;
    figures.returned_bytes =
        atomic_load_explicit(&heap->returned_bytes, memory_order_relaxed); /* A */
    figures.high_water_bytes = high_water(heap, figures.live_bytes + figures.idle_bytes);
    return figures;
}

static void note_returned(struct pool_heap *heap, size_t bytes)
{
    atomic_fetch_add_explicit(&heap->returned_bytes, bytes, memory_order_relaxed); /* A */
}

static void note_high_water(struct pool_heap *heap)
{
    atomic_store_explicit(&heap->high_water_bytes, pool_heap_read(heap).high_water_bytes,
                          memory_order_relaxed); /* A */
}

/* Gives back what age or the limit says. One thread does it for each window; others go on. */
POOL_RARE void pool_heap_look_at_clock(struct pool_heap *heap)
{
    if (!heap->rows.source->now_ms)
        return;
    uint64_t now = heap->rows.source->now_ms();
    uint64_t began = atomic_load_explicit(&heap->aged_ms, memory_order_relaxed); /* A */
    /* Another thread may have read the clock later and begun the window already. */
    if (now < began || now - began < heap->tuning.decay_ms ||
        !atomic_compare_exchange_strong_explicit(&heap->aged_ms, &began, now,
                                                 memory_order_relaxed, /* A */
                                                 memory_order_relaxed))
        return;
    note_high_water(heap);
    note_returned(heap, pool_packed_age(&heap->packed) + pool_rows_age(&heap->rows));
}

/* Bins count blocks by their class, and a block may be up to a quarter longer: stock is taken
   only where that decides. */
static bool is_over(struct pool_heap *heap, uint64_t limit_bytes)
{
    size_t packed = pool_packed_idle_bytes(&heap->packed);
    size_t rows = pool_rows_idle_bytes(&heap->rows);
    if (packed + rows > limit_bytes)
        return true;
    return packed + packed / 4 + rows > limit_bytes &&
           pool_heap_read(heap).idle_bytes > limit_bytes;
}

POOL_RARE void pool_heap_keep_limit(struct pool_heap *heap)
{
    if (heap->tuning.retain_bytes && is_over(heap, heap->tuning.retain_bytes()))
        (void)pool_heap_trim(heap);
}

POOL_RARE void pool_heap_close_idle(struct pool_heap *heap)
{
    note_returned(heap, pool_packed_close(&heap->packed) + pool_rows_close(&heap->rows));
}

void pool_heap_shed(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    pool_packed_shed(&heap->packed);
    pool_rows_shed(&heap->rows);
}

void pool_heap_close(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    note_high_water(heap);
    POOL_SET(heap, most_bytes, 0);
    pool_heap_close_idle(heap);
}

size_t pool_heap_trim(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return 0;
    note_high_water(heap);
    size_t bytes = pool_packed_trim(&heap->packed) + pool_rows_trim(&heap->rows);
    note_returned(heap, bytes);
    return bytes;
}

void pool_heap_tune(struct pool_heap *heap, const struct pool_heap_tuning *tuning)
{
    heap->tuning = *tuning;
    pool_packed_prefer(&heap->packed, tuning->huge);
    heap->rows.huge = tuning->huge;
    if (heap->bytes && heap->rows.source->now_ms)
        atomic_store_explicit(&heap->aged_ms, heap->rows.source->now_ms(),
                              memory_order_relaxed); /* A */
}

void pool_heap_fork_prepare(struct pool_heap *heap)
{
    if (heap->bytes == 0)
        return;
    pool_packed_fork_prepare(&heap->packed);
    pool_rows_fork_prepare(&heap->rows);
}

void pool_heap_fork_done(struct pool_heap *heap, bool in_child)
{
    if (heap->bytes == 0)
        return;
    pool_rows_fork_done(&heap->rows, in_child);
    pool_packed_fork_done(&heap->packed, in_child);
}

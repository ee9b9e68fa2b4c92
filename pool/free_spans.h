/* The part of the packed area that is neither live nor in a bin: free spans of any length,
   merged with neighbours of the same state, found by best fit. All of it runs under one lock, the
   caller's. It keeps count of dirty granules, which hold memory, and of the fewest there were
   in the current window: so many, nobody needed. */
#ifndef POOL_FREE_SPANS_H
#define POOL_FREE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/record.h"
#include "pool/span_class.h"

struct pool_free_spans {
    struct pool_record *records;
    uint32_t
        lists[POOL_SPAN_CLASSES]; /* first span, by the largest class that fits inside */
    _Atomic uint32_t dirty_granules; /* in spans that are POOL_FREE; read by anybody */
    uint32_t low_granules;           /* fewest dirty ones in this window */
};

/* Whether a free span begins or ends at this granule. */
bool pool_free_span_at(const struct pool_free_spans *spans, uint32_t index);

/* Puts a span in, as it is: POOL_FREE when it may hold memory, POOL_CLEAN when it reads as
   zero. No neighbour may be free in the same state. */
void pool_free_spans_put(struct pool_free_spans *spans, uint32_t index, uint32_t granules,
                         enum pool_state state);

/* Takes the whole span that begins at `index` out; its state. */
enum pool_state pool_free_spans_take(struct pool_free_spans *spans, uint32_t index);

/* Puts a span in and merges it with free neighbours of the same state below `end`; where it
   begins then. Dirty and clean ones stay apart, side by side, so that what was given back is
   never counted, nor given back, again. */
uint32_t pool_free_spans_merge(struct pool_free_spans *spans, uint32_t index,
                               uint32_t granules, enum pool_state state, uint32_t end);

/* Where exactly `granules` are best taken from: the span of that length, else the front of the
   free granules in which the span lies that fits best, or which are the fewest that are enough,
   all below `end`; of equals, those at the lowest address, so that what is used stays together.
   0 when there are nowhere so many. */
uint32_t pool_free_spans_fit(const struct pool_free_spans *spans, uint32_t granules,
                             uint32_t end);

/* How many of the `granules` that are free from `index` on read as zero. */
uint32_t pool_free_spans_clean(const struct pool_free_spans *spans, uint32_t index,
                               uint32_t granules);

/* Where the free granules begin that reach up to `end` without a gap: there, if none do. */
uint32_t pool_free_spans_start(const struct pool_free_spans *spans, uint32_t end);

/* Takes exactly `granules` out that are free from `index` on; whether all read as zero. */
bool pool_free_spans_take_front(struct pool_free_spans *spans, uint32_t index,
                                uint32_t granules);

/* Notes how few dirty granules there are now, after one was taken for use or given back. */
void pool_free_spans_note_need(struct pool_free_spans *spans);

/* The dirty span at the highest address; 0 when there is none. */
uint32_t pool_free_spans_last_dirty(const struct pool_free_spans *spans);

/* The memory of the last `granules` of the dirty span at `index` is gone: they read as zero
   and join clean spans beside them, below `end`. Where the clean span begins. */
uint32_t pool_free_spans_clean_tail(struct pool_free_spans *spans, uint32_t index,
                                    uint32_t granules, uint32_t end);

/* How many dirty granules nobody needed since the last call; starts the next window. */
uint32_t pool_free_spans_unneeded(struct pool_free_spans *spans);

/* Whether lists and marks agree; *count is raised by the spans listed. */
bool pool_free_spans_valid(const struct pool_free_spans *spans, uint32_t *count);

#endif

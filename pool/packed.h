/* The packed part of a heap: a few packed areas (spans.h) side by side. Nearly always the first is
   used alone. A thread that had to wait for an area's lock again and again moves on to another
   one, where it claims from then on; what it returns goes back to where it came from.
   Many threads that ask for sizes that no bin has would otherwise hand one structure from
   processor to processor, and be slower together than one of them alone. An area whose address
   space is exhausted is followed by the next.

   A granule is known by its index in all areas, and its record by the same. Which calls may run
   at the same time is said in spans.h. */
#ifndef POOL_PACKED_H
#define POOL_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/spans.h"

enum {
    POOL_PACKED_AREAS = 4, /* a power of two */
    /* Waits, less one for each time that the thread was asked: who waits less often than that
       stays for ever. */
    POOL_PACKED_PATIENCE = 64,
};

struct pool_packed {
    struct pool_record *records; /* one a granule */
    unsigned area_shift;         /* granules of an area, as a power of two */
    _Atomic uint32_t moves;      /* threads that moved on, so that they do so apart */
    struct pool_spans areas[POOL_PACKED_AREAS];
};

/* Takes over 2^granule_shift granules of reserved address space at `base`, which a huge page may
   begin at, and as many zeroed records; *packed is zeroed too. */
void pool_packed_open(struct pool_packed *packed, char *base, unsigned granule_shift,
                      struct pool_record *records, const struct pool_source *source);

/* Where huge pages are asked for. Once, before the first claim. */
void pool_packed_prefer(struct pool_packed *packed, enum pool_huge huge);

/* The process stages in earnest: huge pages from the first block on. */
void pool_packed_set_dense(struct pool_packed *packed);

/* As pool_spans_claim, in this thread's area, and pool_spans_return. */
uint32_t pool_packed_claim(struct pool_packed *packed, uint32_t granules, bool *fresh,
                           bool *due);
bool pool_packed_return(struct pool_packed *packed, uint32_t index, bool *due);

/* Asks this thread whether it has waited too often, and lets it move on then. To be called when a
   claim was due, which one change of a bin in 16 is. */
void pool_packed_move_on(struct pool_packed *packed);

/* Whether the granule was ever part of a block, or is one that never will be. */
bool pool_packed_was_born(const struct pool_packed *packed, uint32_t index);

/* All areas, by the functions of spans.h of these names. */
void pool_packed_shed(struct pool_packed *packed);
size_t pool_packed_close(struct pool_packed *packed);
size_t pool_packed_trim(struct pool_packed *packed);
size_t pool_packed_age(struct pool_packed *packed);
size_t pool_packed_idle_bytes(const struct pool_packed *packed);
void pool_packed_fork_prepare(struct pool_packed *packed);
void pool_packed_fork_done(struct pool_packed *packed, bool in_child);
struct pool_span_figures pool_packed_figures(struct pool_packed *packed);
void pool_packed_walk(struct pool_packed *packed,
                      void (*visit)(void *context, const struct pool_record *record),
                      void *context);
bool pool_packed_valid(struct pool_packed *packed);

#endif

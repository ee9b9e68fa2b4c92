/* What one bind, or one named phase of it, cost: a line of a record of binds. */
#ifndef POOL_BIND_RECORD_H
#define POOL_BIND_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "pool/text.h"

struct pool_bind_figures {
#define FIGURE(name, help) uint64_t name;
#include "pool/bind_figures.def"
#undef FIGURE
};

enum { POOL_BIND_PHASE_BYTES = 24 }; /* of a name, with its end; longer ones are cut */

struct pool_bind_record {
    uint64_t number;                   /* of the bind, from 1 on; in each slot */
    int32_t slot;                      /* of an explicit bind; -1 */
    char phase[POOL_BIND_PHASE_BYTES]; /* "": the whole bind */
    bool has_thread;                   /* whether the thread's figures are known */
    uint64_t start_ns;                 /* since the record began */
    struct pool_bind_figures figures;
};

/* The difference of two readings. */
struct pool_bind_figures pool_bind_figures_between(const struct pool_bind_figures *before,
                                                   const struct pool_bind_figures *after);

/* {"bind": 1, "slot": null, "phase": null, "start_ns": 0, "wall_ns": ..., ...} and a newline. */
void pool_bind_record_put(struct pool_text *text, const struct pool_bind_record *record);

/* A last line that says how many more there were. */
void pool_bind_record_put_lost(struct pool_text *text, uint64_t count);

/* The first line of a record; `boundary` is what bounds a bind. */
void pool_bind_record_put_head(struct pool_text *text, const char *version,
                               const char *program, uint64_t process_id,
                               const char *boundary);

#endif

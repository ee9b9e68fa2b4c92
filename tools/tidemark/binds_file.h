/* A record of binds as `tidemark binds` reads it: the binds in the order in which they ended, each
   with its named phases. */
#ifndef TIDEMARK_BINDS_FILE_H
#define TIDEMARK_BINDS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/bind_record.h"

enum {
#define FIGURE(name, help) BINDS_##name,
#include "pool/bind_figures.def"
#undef FIGURE
    BINDS_FIGURE_COUNT
};

extern const char *const binds_figure_names[BINDS_FIGURE_COUNT];

enum { BINDS_PHASES_MAX = 32 }; /* names in one file */

#define BINDS_UNKNOWN UINT64_MAX /* a figure that was not recorded */

struct binds_bind {
    uint64_t number; /* 1: the first of its slot, which is cold */
    int64_t slot;    /* -1: none */
    uint64_t figures[BINDS_FIGURE_COUNT];
    bool has_total;                         /* whether the bind itself was recorded */
    uint64_t (*phases)[BINDS_FIGURE_COUNT]; /* by the file's names; NULL: none */
};

struct binds_file {
    char program[256];
    char boundary[64];
    char version[32];
    uint64_t process_id;
    uint64_t lost; /* binds and phases that there was no room to record */
    char phase_names[BINDS_PHASES_MAX][POOL_BIND_PHASE_BYTES];
    size_t phase_count;
    struct binds_bind *binds;
    size_t bind_count;
    size_t room;
};

/* False, and said, when the file is not such a record, or has no bind. */
bool binds_file_read(const char *path, struct binds_file *file);

void binds_file_free(struct binds_file *file);

#endif

/* What a record of binds says: the sequence, then the binds by how warm they were. Never a total
   over a count, which would hide what the first binds cost. */
#ifndef TIDEMARK_BINDS_PRINT_H
#define TIDEMARK_BINDS_PRINT_H

#include "tools/tidemark/binds_file.h"

/* How warm. */
enum { BINDS_COLD, BINDS_DECAY, BINDS_STEADY, BINDS_STAGES };

struct binds_result {
    const struct binds_file *file;
    int figure;    /* the one whose sequence is shown, and by which binds are steady */
    size_t *order; /* the binds, each slot's first ones before all others */
    size_t cold_count;   /* of these first ones */
    size_t first_steady; /* in that order; bind_count: the last ones do not agree */
};

/* Sorts the binds; `steady_count` last ones are steady, or, 0, those whose counts agree. False,
   and said, without memory; else `order` is to be freed. */
bool binds_judge(struct binds_result *result, size_t steady_count);

void binds_print_text(const struct binds_result *result);
void binds_print_json(const struct binds_result *result);

/* Has gnuplot draw the sequence as an SVG file. False, and said, when it cannot. */
bool binds_plot(const struct binds_result *result, const char *path);

#endif

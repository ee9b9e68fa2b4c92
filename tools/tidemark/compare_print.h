/* The result of a comparison: as a table, as one JSON object, and as a plot. */
#ifndef TIDEMARK_COMPARE_PRINT_H
#define TIDEMARK_COMPARE_PRINT_H

#include <jansson.h>
#include <stdbool.h>

#include "tools/tidemark/compare.h"

struct compare_result {
    json_t *stamps[COMPARE_ARMS];
    const char *what; /* they differ in */
    const struct compare_rounds *rounds;
};

void compare_print_text(const struct compare_result *result);
void compare_print_json(const struct compare_result *result);

/* Has gnuplot draw B / A round by round as an SVG file. False, and said, when it cannot. */
bool compare_plot(const struct compare_result *result, const char *path);

#endif

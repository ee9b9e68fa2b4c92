/* The log of a comparison, JSON lines: the two stamps, then a sample a line, as they come, so
   that an interrupted run is not lost. It is never written over, and can be judged again. */
#ifndef TIDEMARK_COMPARE_LOG_H
#define TIDEMARK_COMPARE_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/tidemark/compare.h"

/* Makes the file, which must not be there yet; NULL, and said, if not. */
FILE *compare_log_create(const char *path);

/* Each writes a line; false, and said, when it cannot. `log` may be NULL: nothing is kept. */
bool compare_log_stamp(FILE *log, int arm, const json_t *stamp);
bool compare_log_sample(FILE *log, int arm, size_t round,
                        const struct compare_sample *sample);

/* Reads a log back: the stamps, to be given back by json_decref, and the whole rounds. False,
   and said, when it is none, has a line that is malformed, lacks a stamp, or its samples did
   not take turns. */
bool compare_log_read(const char *path, json_t *stamps[COMPARE_ARMS],
                      struct compare_rounds *rounds);

#endif

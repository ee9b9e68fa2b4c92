/* A file of JSON lines: one object a line. A last line without its end is what an interrupted
   writer left, and is not read. */
#ifndef TIDEMARK_JSON_LINES_H
#define TIDEMARK_JSON_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct json_lines {
    const char *path;
    size_t number; /* of the line that is read, from 1 on */
};

/* Hands each line to `take`, until that says false. False, and said, also when the file cannot
   be read or a line is no object. */
bool json_lines_read(struct json_lines *lines,
                     bool (*take)(void *context, const json_t *line), void *context);

/* Says what is wrong with the line that is read; false. */
bool json_lines_complain(const struct json_lines *lines, const char *what);

#endif

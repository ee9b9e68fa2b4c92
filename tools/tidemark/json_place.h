/* Where in a JSON text a value begins, which its parser does not keep: looked up only when
   there is something to say about the value. */
#ifndef TIDEMARK_JSON_PLACE_H
#define TIDEMARK_JSON_PLACE_H

#include <stddef.h>

/* Counted from 1; a column is a character, not a byte. */
struct json_place {
    size_t line;
    size_t column;
};

/* The place of the byte at `offset`, at most `length`. */
struct json_place json_place_of(const char *bytes, size_t length, size_t offset);

/* The place of the value that `path` leads to from the root ("buffers[3].size"), or of the
   last value on the way if it goes no further. The text is valid JSON. */
struct json_place json_place_find(const char *bytes, size_t length, const char *path);

#endif

/* A JSON file that somebody wrote: read whole, held to a size and a depth, free of
   duplicate keys, and complained about by line and column. */
#ifndef TIDEMARK_JSON_INPUT_H
#define TIDEMARK_JSON_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_INPUT_BYTES_MAX = 10 * 1000 * 1000 };

#define JSON_INPUT_NUMBER_RULE                                                           \
    "a whole number below 2^64, from 2^63 up as a string of digits"

struct json_input {
    const char *path; /* of the file, for complaints */
    char *bytes;
    size_t length;
    json_t *root;
};

/* Reads and parses the file `path`, which has to outlive *input. False, and said, when that
   fails; then nothing is to be closed. */
bool json_input_open(const char *path, struct json_input *input);

/* The same of `length` bytes that were read already and are copied. */
bool json_input_parse(const char *path, const char *bytes, size_t length,
                      struct json_input *input);

void json_input_close(struct json_input *input);

/* Says something of the value that `where` leads to ("buffers[3].size"; "": the root). */
void json_input_complain(const struct json_input *input, const char *where,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));

/* False, and *number untouched, unless the value obeys JSON_INPUT_NUMBER_RULE. */
bool json_input_number(const json_t *value, uint64_t *number);

#endif

/* Building text without malloc, stdio or a locale: lines on stderr and reports. A buffer
   that is full is handed to its sink; without a sink the text ends there. */
#ifndef POOL_TEXT_H
#define POOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool_text {
    char *bytes;
    size_t capacity;
    size_t length;
    /* Takes what has been built; NULL: what does not fit is dropped. */
    void (*sink)(void *context, const char *bytes, size_t length);
    void *context;
};

void pool_text_put(struct pool_text *text, const char *string);
void pool_text_put_number(struct pool_text *text, uint64_t number);
void pool_text_put_address(struct pool_text *text, uint64_t address);

/* "104857600 B (100.00 MiB)" */
void pool_text_put_bytes(struct pool_text *text, uint64_t bytes);

/* A JSON string with its quotes; what is not printable ASCII is escaped byte by byte. */
void pool_text_put_json(struct pool_text *text, const char *string);

/* Hands the sink what is left; without a sink the text stays. */
void pool_text_flush(struct pool_text *text);

#endif

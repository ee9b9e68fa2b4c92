/* One line on stderr by write(2): no stdio, no malloc, errno preserved. Says nothing once
   the program has closed its stderr or put another file in its place. */
#ifndef SHIM_SAY_H
#define SHIM_SAY_H

#include "pool/text.h"

/* A line under construction, "tidemark: " already in it. */
struct shim_line {
    struct pool_text text;
    char bytes[640];
};

/* Remembers which file stderr is. Called once, at the start. */
void shim_say_open(void);

void shim_line_begin(struct shim_line *line);

/* Adds the newline and writes the line whole. */
void shim_line_end(struct shim_line *line);

/* Writes all of it to stderr as it is, in as few calls as the kernel allows. */
void shim_say_raw(const char *bytes, size_t length);

/* A line of one string. */
void shim_say(const char *string);

/* Says what is broken in our own state or in how the program uses our memory, and traps. */
void shim_say_and_trap(const char *what, const void *address) __attribute__((noreturn));

#endif

/* Whether a preload can act in a program, judged from its file before anything starts. A
   file that cannot be read is not judged: the kernel and the loader have the last word. */
#ifndef TIDEMARK_TARGET_H
#define TIDEMARK_TARGET_H

#include <limits.h>
#include <stdbool.h>

/* Room for the reason: a sentence around a path. */
enum { TARGET_REASON_BYTES = PATH_MAX + 128 };

/* Looks `program` up as execvp does and follows scripts to what interprets them. False
   when a preload cannot act there; *reason then completes a line that starts with the
   program. */
bool target_takes_preload(const char *program, char reason[TARGET_REASON_BYTES]);

#endif

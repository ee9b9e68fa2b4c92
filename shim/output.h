/* What is written when the program ends: a report, a record of binds. To stderr, or to a file,
   whose path may be relative to where the program was started and may hold its process id. */
#ifndef SHIM_OUTPUT_H
#define SHIM_OUTPUT_H

#include "pool/text.h"
#include "shim/init.h"

/* Remembers the directory that relative paths are meant for. Called once, at the start. */
void shim_output_open(const struct shim_settings *settings);

/* Whether this process is the one that writes `path`, as it was asked for; NULL: nobody is. */
bool shim_output_is_ours(const struct shim_settings *settings, const char *path);

typedef void shim_output_put(void *context, struct pool_text *text);

/* Writes what `put` makes to `asked`; `what` names it where it cannot be written, which is one
   line on stderr. */
void shim_output_write(const char *what, const char *asked, shim_output_put *put,
                       void *context);

#endif

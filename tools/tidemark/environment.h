/* The environment that the program is given, and what is wrong with the one we were
 * given. */
#ifndef TIDEMARK_ENVIRONMENT_H
#define TIDEMARK_ENVIRONMENT_H

#include <stdbool.h>

#include "policy/options.h"

/* One warning for each TIDEMARK name that no option has. */
void environment_warn_unknown(void);

/* A policy_option_lookup over the environment; the context is not used. */
const char *environment_lookup(void *context, const char *name);

/* Says which rule the value of an environment variable breaks. */
void environment_complain(const struct policy_option_row *row, const char *text);

/* Puts `library` first in LD_PRELOAD. What the user preloads stays behind it, less other
   names of the same file. */
void environment_preload(const char *library);

/* Puts `folder` first in LD_LIBRARY_PATH. */
void environment_search_first(const char *folder);

/* Sets the variable of every option whose text is not NULL. */
void environment_set_options(const char *const texts[POLICY_OPTION_COUNT]);

/* Sets TIDEMARK_RUN, by which the library knows the process that was started as the
   program itself and which values came from here; called in that process, right before it
   becomes the program. `texts` as above; `ack_fd` is where the library has to answer, -1
   for nowhere; `counts` is a file for its report as JSON, NULL for none. */
void environment_mark(const char *const texts[POLICY_OPTION_COUNT], int ack_fd,
                      const char *counts);

/* The environment names that TIDEMARK_RUN of this process says were set by `tidemark
   run`, separated by commas; NULL when it says nothing. Good until the process ends. */
const char *environment_run_fields(void);

#endif

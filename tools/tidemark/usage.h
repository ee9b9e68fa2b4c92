/* What is said about a command line that cannot be understood: one line that names the
   word at fault and the known word it was probably meant to be. */
#ifndef TIDEMARK_USAGE_H
#define TIDEMARK_USAGE_H

#include <getopt.h>
#include <stddef.h>

/* The known word that `word` starts, or is a slip of the finger away from; NULL when
   there is none. */
const char *usage_nearest(const char *word, const char *const *known, size_t known_count);

/* Says why getopt_long (its own messages switched off, a leading ':' in its short
   options) answered `answer`, ':' or '?', for the option it has just read. */
void usage_refuse_option(int answer, char **argv, const struct option *options);

#endif

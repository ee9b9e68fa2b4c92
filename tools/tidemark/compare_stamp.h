/* What an arm was, so that a verdict is about one thing: its command, the executables that the
   command names, the settings around it, and the machine. */
#ifndef TIDEMARK_COMPARE_STAMP_H
#define TIDEMARK_COMPARE_STAMP_H

#include <jansson.h>
#include <stdbool.h>

#include "tools/tidemark/compare.h"

/* The stamp of an arm now: a JSON object, NULL without memory. */
json_t *compare_stamp_of(const struct compare_arm *arm);

/* Whether the two differ in at most one thing that can be compared, the command or one variable
   of the environment; says what else they differ in. *what describes the difference and is
   to be freed. Stamps that lack a field are refused. */
bool compare_stamp_differ_in_one(const json_t *a, const json_t *b, char **what);

#endif

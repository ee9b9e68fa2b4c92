/* A decided plan as one JSON object for programs, on standard output. */
#ifndef TIDEMARK_PLAN_JSON_H
#define TIDEMARK_PLAN_JSON_H

#include "tools/tidemark/plan_file.h"

/* {"schema": "tidemark.plan/1", ...}. Integers are bytes, addresses and moments, up to
   2^64 - 1; null is what there is not. */
void plan_json_print(const struct plan *plan);

#endif

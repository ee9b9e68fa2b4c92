/* Places the buffers of a plan, space by space. */
#ifndef TIDEMARK_PLAN_DECIDE_H
#define TIDEMARK_PLAN_DECIDE_H

#include <stdbool.h>

#include "tools/tidemark/plan_file.h"

/* Decides every space, refused ones as well. False, and said, when memory is short. */
bool plan_decide(struct plan *plan);

/* Whether every space is placed. */
bool plan_is_placed(const struct plan *plan);

#endif

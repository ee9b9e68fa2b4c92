/* A decided plan as lines for people, on standard output. */
#ifndef TIDEMARK_PLAN_TEXT_H
#define TIDEMARK_PLAN_TEXT_H

#include "tools/tidemark/plan_file.h"

/* For each space a table of its buffers and the four high-water numbers, or one line that
   says why it is refused, with every number that is needed to check that by hand. */
void plan_text_print(const struct plan *plan);

#endif

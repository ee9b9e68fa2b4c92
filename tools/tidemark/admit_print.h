/* Writes what was decided about programs to a stream. */
#ifndef TIDEMARK_ADMIT_PRINT_H
#define TIDEMARK_ADMIT_PRINT_H

#include <stdio.h>

#include "pool/text.h"
#include "tools/tidemark/admit_decide.h"

/* One form of an answer. */
typedef void (*admit_put)(struct pool_text *text, const struct admit_question *question,
                          const struct admit_answer *answer);

void admit_print(FILE *stream, admit_put put, const struct admit_question *question,
                 const struct admit_answer *answer);

/* Whoever named a size should know that it is not the one in force: one line where it is not. */
void admit_warn_of_cap(const struct admit_question *question,
                       const struct admit_answer *answer);

#endif

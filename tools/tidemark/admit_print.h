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

#endif

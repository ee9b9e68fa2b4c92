/* What was decided about programs, as lines for people. */
#ifndef TIDEMARK_ADMIT_TEXT_H
#define TIDEMARK_ADMIT_TEXT_H

#include "pool/text.h"
#include "tools/tidemark/admit_decide.h"

/* An admit_put: the outcome on the first line, then every number that led to it. */
void admit_text_put(struct pool_text *text, const struct admit_question *question,
                    const struct admit_answer *answer);

#endif

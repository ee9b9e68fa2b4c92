/* What was decided about programs, as one JSON object for programs. */
#ifndef TIDEMARK_ADMIT_JSON_H
#define TIDEMARK_ADMIT_JSON_H

#include "pool/text.h"
#include "tools/tidemark/admit_decide.h"

/* An admit_put: {"schema": "tidemark.admit/1", ...}. Integers are bytes, up to 2^64 - 1;
   null is what is not known, a device of null every device. */
void admit_json_put(struct pool_text *text, const struct admit_question *question,
                    const struct admit_answer *answer);

#endif

#include "tools/tidemark/admit_print.h"

#include "tools/tidemark/say.h"

enum { PART_BYTES = 512 }; /* handed to the stream at once */

/* A pool_text sink. */
static void write_part(void *context, const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, context);
}

void admit_print(FILE *stream, admit_put put, const struct admit_question *question,
                 const struct admit_answer *answer)
{
    char part[PART_BYTES];
    struct pool_text text = {part, sizeof part, 0, write_part, stream};

    put(&text, question, answer);
    pool_text_flush(&text);
}

void admit_warn_of_cap(const struct admit_question *question,
                       const struct admit_answer *answer)
{
    const struct policy_ceiling *ceiling = admit_ceiling(answer);
    char requested[POLICY_QUANTITY_TEXT_BYTES], effective[POLICY_QUANTITY_TEXT_BYTES];

    if (ceiling->source != POLICY_CEILING_FROM_CAP)
        return;
    policy_quantity_print(ceiling->requested_bytes, requested);
    policy_quantity_print(ceiling->bytes, effective);
    say("%s=%s: %s is capped to %s, what headroom leaves of device %u",
        question->budget.name, question->budget.text, requested, effective,
        (unsigned)question->devices[answer->least].index);
}

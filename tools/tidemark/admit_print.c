#include "tools/tidemark/admit_print.h"

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

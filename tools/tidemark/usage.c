#include "tools/tidemark/usage.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "tools/tidemark/say.h"

enum {
    WORD_BYTES = 32,    /* no word of ours is longer, so nothing longer is near one */
    KNOWN_OPTIONS = 32, /* more than any verb has */
    SHORT_OPTIONS_END = UCHAR_MAX,
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be put in, left out or changed to make one word of the other.
   `row` holds the distances from the letters of `a` read so far to every start of `b`. */
static size_t letters_apart(const char *a, const char *b)
{
    size_t row[WORD_BYTES + 1];
    size_t b_length = strlen(b);

    if (b_length > WORD_BYTES)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= b_length; j++) {
            size_t changed = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            row[j] = smaller(changed, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_length];
}

const char *usage_nearest(const char *word, const char *const *known, size_t known_count)
{
    size_t length = strlen(word);
    size_t too_far = length / 3 + 2; /* a slip in every third letter, and one more */
    const char *nearest = NULL;

    if (length == 0)
        return NULL;
    for (size_t i = 0; i < known_count; i++) {
        if (strncmp(known[i], word, length) == 0)
            return known[i];
        size_t apart = letters_apart(word, known[i]);
        if (apart < too_far) {
            too_far = apart;
            nearest = known[i];
        }
    }
    return nearest;
}

static void refuse_unknown(const char *word, const struct option *options)
{
    const char *known[KNOWN_OPTIONS];
    size_t count = 0;
    char name[WORD_BYTES + 1] = "";

    for (; options[count].name != NULL && count < KNOWN_OPTIONS; count++)
        known[count] = options[count].name;
    size_t length = strcspn(word + 2, "=");
    if (length <= WORD_BYTES)
        memcpy(name, word + 2, length);
    const char *nearest = usage_nearest(name, known, count);
    if (nearest != NULL)
        say("%s: unknown option; did you mean --%s?", word, nearest);
    else
        say("%s: unknown option", word);
}

void usage_refuse_option(int answer, char **argv, const struct option *options)
{
    const char *word = argv[optind - 1];

    if (optopt > 0 && optopt <= SHORT_OPTIONS_END)
        say("-%c: unknown option", optopt);
    else if (answer == ':')
        say("%s: a value is missing", word);
    else if (optopt != 0)
        say("%s: this option takes no value", word);
    else
        refuse_unknown(word, options);
}

#include "tools/tidemark/expect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/quantity.h"
#include "tools/tidemark/json_input.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"

struct expect_counter {
    const char *name; /* GROUP.NAME */
    const char *group, *member;
    const char *help;
};

/* clang-format off */
static const struct expect_counter counters[] = {
#define STAT(group, name, help) {#group "." #name, #group, #name, help},
#include "pool/stats.def"
#undef STAT
};
/* clang-format on */

enum { COUNTER_COUNT = sizeof counters / sizeof counters[0], NAME_BYTES = 64 };

enum { AT_MOST, AT_LEAST, EQUAL, UNEQUAL, BELOW, ABOVE, COMPARISONS };

/* Longer ones first: "<" begins "<=". */
static const char *const signs[COMPARISONS] = {"<=", ">=", "==", "!=", "<", ">"};

static const struct expect_counter *find(const char *name)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        if (strcmp(counters[i].name, name) == 0)
            return &counters[i];
    return NULL;
}

static void refuse_counter(const char *text, const char *name)
{
    const char *known[COUNTER_COUNT];

    for (size_t i = 0; i < COUNTER_COUNT; i++)
        known[i] = counters[i].name;
    const char *nearest = usage_nearest(name, known, COUNTER_COUNT);
    if (nearest != NULL)
        say("--expect=%s: no counter is called %s; did you mean %s?", text, name,
            nearest);
    else
        say("--expect=%s: no counter is called %s; `tidemark run --help` lists them",
            text, name);
}

/* The comparison that `sign` begins with; COMPARISONS when there is none. */
static int comparison_of(const char *sign)
{
    int comparison = 0;

    while (comparison < COMPARISONS &&
           strncmp(sign, signs[comparison], strlen(signs[comparison])) != 0)
        comparison++;
    return comparison;
}

bool expect_read(const char *text, struct expectation *expectation)
{
    char name[NAME_BYTES];
    size_t length = strcspn(text, "<>=!");
    const int comparison = comparison_of(text + length);

    if (comparison == COMPARISONS || length == 0 || length >= sizeof name ||
        !policy_quantity_parse_bytes(text + length + strlen(signs[comparison]),
                                     &expectation->bound)) {
        say("--expect=%s: must be a counter, one of <= < >= > == !=, and a number", text);
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    expectation->text = text;
    expectation->comparison = comparison;
    expectation->counter = find(name);
    if (expectation->counter == NULL)
        refuse_counter(text, name);
    return expectation->counter != NULL;
}

void expect_list(void)
{
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        printf("  %-28s %s\n", counters[i].name, counters[i].help);
}

bool expect_open(const char **path)
{
    const char *folder = getenv("TMPDIR");
    char *name;

    if (folder == NULL || folder[0] != '/')
        folder = "/tmp";
    int file = asprintf(&name, "%s/tidemark-XXXXXX", folder) == -1 ? -1 : mkstemp(name);
    if (file == -1) {
        say("--expect: %s: %s", folder, strerror(errno));
        return false;
    }
    close(file);
    /* What carries it to the library ends at a semicolon. */
    if (strchr(name, ';') != NULL) {
        say("--expect: %s: TMPDIR has a semicolon", folder);
        unlink(name);
        return false;
    }
    *path = name;
    return true;
}

static bool is_met(const struct expectation *expectation, uint64_t value)
{
    switch (expectation->comparison) {
    case AT_MOST:
        return value <= expectation->bound;
    case AT_LEAST:
        return value >= expectation->bound;
    case EQUAL:
        return value == expectation->bound;
    case UNEQUAL:
        return value != expectation->bound;
    case BELOW:
        return value < expectation->bound;
    default:
        return value > expectation->bound;
    }
}

static bool judge_one(const json_t *root, const struct expectation *expectation)
{
    const struct expect_counter *counter = expectation->counter;
    uint64_t value;

    if (!json_input_number(
            json_object_get(json_object_get(root, counter->group), counter->member),
            &value)) {
        say("expected %s, but the report has no %s", expectation->text, counter->name);
        return false;
    }
    if (is_met(expectation, value))
        return true;
    say("expected %s, but it was %" PRIu64, expectation->text, value);
    return false;
}

/* Nothing is written by a program that the library is not in, or that ends by a signal. */
static bool has_report(const char *path)
{
    struct stat file;

    if (stat(path, &file) == 0 && file.st_size > 0)
        return true;
    say("--expect: the program left no report");
    return false;
}

bool expect_judge(const char *path, const struct expectation *expectations, size_t count)
{
    struct json_input input;
    bool are_met = has_report(path) && json_input_open(path, &input);

    if (!are_met)
        return false;
    for (size_t i = 0; i < count; i++)
        are_met = judge_one(input.root, &expectations[i]) && are_met;
    json_input_close(&input);
    return are_met;
}

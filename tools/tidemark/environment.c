#include "tools/tidemark/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/tidemark/say.h"
#include "tools/tidemark/verb.h"

/* TIDEMARK_RUN=<process id>[;from=NAME,NAME...][;ack=<descriptor>][;counts=<path>] */
#define RUN_VARIABLE "TIDEMARK_RUN"
#define FROM_KEY     "from="
#define ACK_KEY      "ack="
#define COUNTS_KEY   "counts="

void environment_warn_unknown(void)
{
    for (char **assignment = environ; *assignment != NULL; assignment++) {
        if (!policy_options_unknown(*assignment))
            continue;
        int length = (int)strcspn(*assignment, "=");
        const char *nearest = policy_options_nearest(*assignment);
        if (nearest != NULL)
            say("%.*s is not an option; did you mean %s?", length, *assignment, nearest);
        else
            say("%.*s is not an option", length, *assignment);
    }
}

const char *environment_lookup(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

void environment_complain(const struct policy_option_row *row, const char *text)
{
    char reason[POLICY_OPTIONS_REASON_BYTES];

    policy_options_explain(row, text, reason);
    say("%s=%s: %s", row->environment, text, reason);
}

/* Without memory for a variable there is none for a program either. */
static void need(bool done, const char *name)
{
    if (done)
        return;
    say("%s: %s", name, strerror(errno));
    _exit(VERB_CANNOT_EXECUTE);
}

static void set(const char *name, const char *value)
{
    need(setenv(name, value, 1) == 0, name);
}

static bool same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

void environment_preload(const char *library)
{
    static const char variable[] = "LD_PRELOAD";
    const char *given = getenv(variable);
    char *names = strdup(given == NULL ? "" : given);
    need(names != NULL, variable);
    char *list = malloc(strlen(library) + 1 + strlen(names) + 1);
    need(list != NULL, variable);

    char *end = stpcpy(list, library);
    char *rest = NULL;
    for (char *name = strtok_r(names, " :", &rest); name != NULL;
         name = strtok_r(NULL, " :", &rest)) {
        if (same_file(name, library))
            continue;
        *end++ = ':';
        end = stpcpy(end, name);
    }
    set(variable, list);
    free(list);
    free(names);
}

void environment_search_first(const char *folder)
{
    static const char variable[] = "LD_LIBRARY_PATH";
    const char *given = getenv(variable);
    char *list;

    /* An empty element would mean the current directory. */
    if (given == NULL || given[0] == '\0') {
        set(variable, folder);
        return;
    }
    need(asprintf(&list, "%s:%s", folder, given) != -1, variable);
    set(variable, list);
    free(list);
}

void environment_set_options(const char *const texts[POLICY_OPTION_COUNT])
{
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
        if (texts[i] != NULL)
            set(policy_option_rows[i].environment, texts[i]);
}

void environment_mark(const char *const texts[POLICY_OPTION_COUNT], int ack_fd,
                      const char *counts)
{
    const char *separator = ";" FROM_KEY;
    char *mark = NULL;
    size_t length;
    FILE *stream = open_memstream(&mark, &length);

    need(stream != NULL, RUN_VARIABLE);
    fprintf(stream, "%d", getpid());
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        if (texts[i] == NULL)
            continue;
        fprintf(stream, "%s%s", separator, policy_option_rows[i].environment);
        separator = ",";
    }
    if (ack_fd >= 0)
        fprintf(stream, ";" ACK_KEY "%d", ack_fd);
    if (counts != NULL)
        fprintf(stream, ";" COUNTS_KEY "%s", counts);
    need(fclose(stream) == 0, RUN_VARIABLE);
    set(RUN_VARIABLE, mark);
    free(mark);
}

const char *environment_run_fields(void)
{
    const char *mark = getenv(RUN_VARIABLE);
    char *parts = strdup(mark == NULL ? "" : mark);
    char *rest = NULL;

    need(parts != NULL, RUN_VARIABLE);
    for (char *part = strtok_r(parts, ";", &rest); part != NULL;
         part = strtok_r(NULL, ";", &rest))
        if (strncmp(part, FROM_KEY, sizeof FROM_KEY - 1) == 0)
            return part + sizeof FROM_KEY - 1;
    return NULL;
}

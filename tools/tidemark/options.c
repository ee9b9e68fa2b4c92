/* `tidemark options`: every option as a table for people, or for the README. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/options.h"
#include "tools/tidemark/environment.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

enum {
    ANSWER_HELP = 256,
    ANSWER_MARKDOWN,
};

enum column {
    COLUMN_ENVIRONMENT,
    COLUMN_RUN_OPTION,
    COLUMN_ACCEPTS,
    COLUMN_DEFAULT,
    COLUMN_VALUE,
    COLUMN_ORIGIN,
    COLUMN_MEANING,
    COLUMN_COUNT
};

enum { FLAG_BYTES = 40 };

/* One line of the table; `flag` is room for a run option with its dashes. */
struct line {
    const char *cells[COLUMN_COUNT];
    char flag[FLAG_BYTES];
};

/* The texts of the environment that break their option's rule, NULL elsewhere. */
struct refusals {
    const char *texts[POLICY_OPTION_COUNT];
    bool any;
};

static void print_help(void)
{
    puts("usage: tidemark options [OPTION]...\n"
         "\n"
         "Lists every option of the library: its environment variable, its option of\n"
         "`tidemark run`, the default, the value in force in this environment and where "
         "that\n"
         "came from. Exits 2 when the environment holds a malformed value.\n"
         "\n"
         "Options:\n"
         "  --markdown  print a table for a document: no values, only what there is\n"
         "  --help      print this");
}

/* A policy_option_complaint. */
static void refuse(void *context, const struct policy_option_row *row, const char *text)
{
    struct refusals *refusals = context;

    refusals->texts[row - policy_option_rows] = text;
    refusals->any = true;
    environment_complain(row, text);
}

static void write_flag(const struct policy_option_row *row, char flag[FLAG_BYTES])
{
    snprintf(flag, FLAG_BYTES, "%s%s", row->flag[0] == '\0' ? "" : "--", row->flag);
}

static const char *origin_text(enum policy_option_origin origin)
{
    switch (origin) {
    case POLICY_ORIGIN_DEFAULT:
        return "default";
    case POLICY_ORIGIN_ENVIRONMENT:
        return "environment";
    case POLICY_ORIGIN_RUN:
        return "run";
    }
    return "";
}

/* Every column is as wide as its widest cell; the last is not padded. */
static void print_lines(const struct line *lines, size_t line_count)
{
    int widths[COLUMN_COUNT] = {0};

    for (size_t i = 0; i < line_count; i++)
        for (size_t column = 0; column < COLUMN_MEANING; column++) {
            int width = (int)strlen(lines[i].cells[column]);
            if (width > widths[column])
                widths[column] = width;
        }
    for (size_t i = 0; i < line_count; i++) {
        for (size_t column = 0; column < COLUMN_MEANING; column++)
            printf("%-*s  ", widths[column], lines[i].cells[column]);
        puts(lines[i].cells[COLUMN_MEANING]);
    }
}

static int print_values(void)
{
    struct policy_options options;
    struct policy_option_value values[POLICY_OPTION_COUNT];
    struct refusals refusals = {.any = false};
    struct line lines[1 + POLICY_OPTION_COUNT] = {
        {.cells = {"environment", "run option", "accepts", "default", "value", "from",
                   "meaning"}}};

    policy_options_read(&options, values, environment_lookup, refuse, &refusals,
                        environment_run_fields());
    environment_warn_unknown();
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        const struct policy_option_row *row = &policy_option_rows[i];
        const char *refused = refusals.texts[i];
        struct line *line = &lines[1 + i];
        write_flag(row, line->flag);
        line->cells[COLUMN_ENVIRONMENT] = row->environment;
        line->cells[COLUMN_RUN_OPTION] = line->flag[0] == '\0' ? "-" : line->flag;
        line->cells[COLUMN_ACCEPTS] = row->argument;
        line->cells[COLUMN_DEFAULT] = row->initial;
        line->cells[COLUMN_VALUE] = refused != NULL ? refused : values[i].text;
        line->cells[COLUMN_ORIGIN] =
            refused != NULL ? "malformed" : origin_text(values[i].origin);
        line->cells[COLUMN_MEANING] = row->help;
    }
    print_lines(lines, 1 + POLICY_OPTION_COUNT);
    return refusals.any ? VERB_USAGE : VERB_DONE;
}

/* A table splits its cells at every '|' that is not escaped, even within code. */
static void print_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static int print_markdown(void)
{
    puts("| environment | run option | default | meaning |\n|---|---|---|---|");
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        const struct policy_option_row *row = &policy_option_rows[i];
        char flag[FLAG_BYTES];
        write_flag(row, flag);
        const char *tick = flag[0] == '\0' ? "" : "`";
        printf("| `%s` | %s%s%s | `%s` | `", row->environment, tick, flag, tick,
               row->initial);
        print_escaped(row->argument);
        printf("`: %s |\n", row->help);
    }
    return VERB_DONE;
}

int verb_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"markdown", no_argument, NULL, ANSWER_MARKDOWN},
        {"help", no_argument, NULL, ANSWER_HELP},
        {NULL, 0, NULL, 0},
    };
    bool markdown = false;
    int answer;

    opterr = 0;
    while ((answer = getopt_long(argc, argv, "+:", known, NULL)) != -1) {
        if (answer == ANSWER_HELP) {
            print_help();
            return VERB_DONE;
        }
        if (answer != ANSWER_MARKDOWN) {
            usage_refuse_option(answer, argv, known);
            return VERB_USAGE;
        }
        markdown = true;
    }
    if (optind < argc) {
        say("options: %s: no argument is expected", argv[optind]);
        return VERB_USAGE;
    }
    return markdown ? print_markdown() : print_values();
}

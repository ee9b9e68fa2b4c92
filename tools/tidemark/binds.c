/* `tidemark binds`: what the binds of a recorded run cost, by how warm they were. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/steady.h"
#include "tools/tidemark/binds_file.h"
#include "tools/tidemark/binds_print.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

enum {
    ANSWER_HELP = 256,
    ANSWER_FIGURE,
    ANSWER_STEADY,
    ANSWER_SVG,
    ANSWER_JSON,
};

struct request {
    const char *path;
    const char *svg_path;
    int figure;
    size_t steady_count; /* 0: to be found */
    bool json;
    bool help;
};

static void print_help(void)
{
    static const char *const helps[] = {
#define FIGURE(name, help) help,
#include "pool/bind_figures.def"
#undef FIGURE
    };

    printf(
        "usage: tidemark binds FILE [OPTION]...\n"
        "\n"
        "Prints what `tidemark run --binds FILE` or TIDEMARK_BINDS=FILE recorded: the\n"
        "sequence, then min, median and max of the first binds (cold), of the last ones\n"
        "whose counts agree, at least %d that lie within %d (steady), and of those in\n"
        "between (decay); never a total over a count. Of named phases also the sum of\n"
        "each bind, whose minimum is not the sum of the phases' minima.\n"
        "\n"
        "Options:\n"
        "  --figure NAME  the sequence, and what is steady (default: minor_faults)\n"
        "  --steady N     the last N are the steady ones, flat or not\n"
        "  --svg FILE     draw the sequence; needs gnuplot\n"
        "  --json         print one JSON object instead of lines\n"
        "  --help         print this\n"
        "\n"
        "Figures:\n",
        POLICY_STEADY_ROUNDS_MIN, POLICY_STEADY_SPREAD);
    for (int i = 0; i < BINDS_FIGURE_COUNT; i++)
        printf("  %-22s %s\n", binds_figure_names[i], helps[i]);
}

static bool read_figure(const char *text, int *figure)
{
    for (int i = 0; i < BINDS_FIGURE_COUNT; i++) {
        if (strcmp(binds_figure_names[i], text) != 0)
            continue;
        *figure = i;
        return true;
    }
    const char *nearest = usage_nearest(text, binds_figure_names, BINDS_FIGURE_COUNT);
    if (nearest != NULL)
        say("--figure=%s: no figure is called so; did you mean %s?", text, nearest);
    else
        say("--figure=%s: no figure is called so; `tidemark binds --help` lists them",
            text);
    return false;
}

static bool read_count(const char *text, size_t *count)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || value == 0) {
        say("--steady=%s: must be a number above 0", text);
        return false;
    }
    *count = value;
    return true;
}

static bool take_option(struct request *request, int answer)
{
    switch (answer) {
    case ANSWER_FIGURE:
        return read_figure(optarg, &request->figure);
    case ANSWER_STEADY:
        return read_count(optarg, &request->steady_count);
    case ANSWER_SVG:
        request->svg_path = optarg;
        break;
    case ANSWER_JSON:
        request->json = true;
        break;
    default:
        request->help = true;
        break;
    }
    return true;
}

/* False when the command line cannot be understood, which has then been said. */
static bool read_command_line(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
        {"figure", required_argument, NULL, ANSWER_FIGURE},
        {"steady", required_argument, NULL, ANSWER_STEADY},
        {"svg", required_argument, NULL, ANSWER_SVG},
        {"json", no_argument, NULL, ANSWER_JSON},
        {"help", no_argument, NULL, ANSWER_HELP},
        {NULL, 0, NULL, 0},
    };
    int answer;

    opterr = 0;
    while ((answer = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (answer == '?' || answer == ':') {
            usage_refuse_option(answer, argv, known);
            return false;
        }
        if (!take_option(request, answer))
            return false;
    }
    request->path = argv[optind];
    if (request->help || optind + 1 == argc)
        return true;
    if (optind == argc)
        say("binds: no record is named; `tidemark binds --help` shows how");
    else
        say("binds: %s: one record is expected", argv[optind + 1]);
    return false;
}

static int print(const struct request *request, const struct binds_file *file)
{
    struct binds_result result = {.file = file, .figure = request->figure};

    if (request->steady_count >= file->bind_count) {
        say("--steady=%zu: of %zu binds the first is cold", request->steady_count,
            file->bind_count);
        return VERB_USAGE;
    }
    if (!binds_judge(&result, request->steady_count))
        return VERB_NO_OUTPUT;
    (request->json ? binds_print_json : binds_print_text)(&result);
    free(result.order);
    if (request->svg_path != NULL && !binds_plot(&result, request->svg_path))
        return VERB_NO_OUTPUT;
    return VERB_DONE;
}

int verb_binds(int argc, char **argv)
{
    struct request request = {.figure = BINDS_minor_faults};
    struct binds_file file;

    if (!read_command_line(argc, argv, &request))
        return VERB_USAGE;
    if (request.help) {
        print_help();
        return VERB_DONE;
    }
    if (!binds_file_read(request.path, &file))
        return VERB_USAGE;
    int end = print(&request, &file);
    binds_file_free(&file);
    return end;
}

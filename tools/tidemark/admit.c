/* `tidemark admit`: whether the programs that compiler reports describe fit, before any of
   them is started. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/options.h"
#include "tools/tidemark/admit_decide.h"
#include "tools/tidemark/admit_json.h"
#include "tools/tidemark/admit_print.h"
#include "tools/tidemark/admit_text.h"
#include "tools/tidemark/environment.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

enum {
    ANSWER_HELP = 256,
    ANSWER_BUDGET,
    ANSWER_HEADROOM,
    ANSWER_DEVICE_LIMIT,
    ANSWER_DEVICE,
    ANSWER_RESIDENT,
    ANSWER_LARGEST_BLOCK,
    ANSWER_GROWING_POOL,
    ANSWER_JSON,
};

#define BUDGET_OPTION   "--budget"
#define HEADROOM_OPTION "--headroom"

/* The command line. */
struct request {
    const char *budget_text, *headroom_text; /* NULL: not given */
    struct admit_devices limits, selected;
    uint64_t resident_bytes, largest_block_bytes;
    bool pool_grows, json, help;
    bool is_malformed; /* some value is, which was said */
};

static void print_help(void)
{
    puts("usage: tidemark admit REPORT... [OPTION]...\n"
         "\n"
         "Says whether programs fit on a device before they are started. A REPORT is\n"
         "what a compiler says of one program: a JSON record with the fields of JAX's\n"
         "compiled.memory_analysis(), an array or object of records by device, or the\n"
         "*-memory-usage-report.txt that XLA dumps, of at most 10 MB. Programs are\n"
         "resident together and add up; of several devices the fullest counts.\n"
         "\n"
         "Options:\n"
         "  --budget device|none|SIZE|N%|LIST\n"
         "      what may be used (default: TIDEMARK_DEVICE_MEM, else device); a LIST is\n"
         "      by device as 0=8GiB,1=50%,*=none; no report is read for none, nor for\n"
         "      device or N% where no limit is known\n"
         "  --headroom F\n"
         "      fraction of each device kept free (default: TIDEMARK_HEADROOM, else\n"
         "      0.15)\n"
         "  --device-limit N=BYTES\n"
         "      what device N has; the least counts, and 0 adds no cap\n"
         "  --device N\n"
         "      only devices so named count (default: all that have a limit, else all\n"
         "      in the LIST)\n"
         "  --resident BYTES\n"
         "      what is on the device already; given again, it may only rise\n"
         "  --largest-block BYTES\n"
         "      the largest free block: a sum may fit where a piece of it does not\n"
         "  --growing-pool\n"
         "      the program's pool grows in pieces, so what it reports is no promise\n"
         "  --json\n"
         "      one JSON object instead of lines\n"
         "  --help\n"
         "      print this\n"
         "\n"
         "Exits 0 when the programs are admitted, 3 when they are refused, 2 when a\n"
         "report or a value is malformed.");
}

static void malformed(struct request *request, const char *option, const char *text,
                      const char *reason)
{
    say("%s=%s: %s", option, text, reason);
    request->is_malformed = true;
}

static void take_device_limit(struct request *request, const char *text)
{
    if (!admit_devices_add_limit(&request->limits, text))
        malformed(request, "--device-limit", text, ADMIT_DEVICE_LIMIT_RULE);
}

static void take_device(struct request *request, const char *text)
{
    if (!admit_devices_add(&request->selected, text))
        malformed(request, "--device", text, ADMIT_DEVICE_RULE);
}

static void take_resident(struct request *request, const char *text)
{
    uint64_t bytes;

    if (!policy_quantity_parse_bytes(text, &bytes))
        malformed(request, "--resident", text, "must be a size");
    else if (!policy_admit_refine(&request->resident_bytes, bytes))
        malformed(request, "--resident", text,
                  "must be at least what was given before: a refinement only raises it");
}

static void take_largest_block(struct request *request, const char *text)
{
    if (!policy_quantity_parse_bytes(text, &request->largest_block_bytes))
        malformed(request, "--largest-block", text, "must be a size");
}

static void take(struct request *request, int answer)
{
    switch (answer) {
    case ANSWER_BUDGET:
        request->budget_text = optarg;
        break;
    case ANSWER_HEADROOM:
        request->headroom_text = optarg;
        break;
    case ANSWER_DEVICE_LIMIT:
        take_device_limit(request, optarg);
        break;
    case ANSWER_DEVICE:
        take_device(request, optarg);
        break;
    case ANSWER_RESIDENT:
        take_resident(request, optarg);
        break;
    case ANSWER_LARGEST_BLOCK:
        take_largest_block(request, optarg);
        break;
    case ANSWER_GROWING_POOL:
        request->pool_grows = true;
        break;
    case ANSWER_JSON:
        request->json = true;
        break;
    case ANSWER_HELP:
        request->help = true;
        break;
    }
}

/* False when the command line cannot be understood, which has then been said. */
static bool read_command_line(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
        {"budget", required_argument, NULL, ANSWER_BUDGET},
        {"headroom", required_argument, NULL, ANSWER_HEADROOM},
        {"device-limit", required_argument, NULL, ANSWER_DEVICE_LIMIT},
        {"device", required_argument, NULL, ANSWER_DEVICE},
        {"resident", required_argument, NULL, ANSWER_RESIDENT},
        {"largest-block", required_argument, NULL, ANSWER_LARGEST_BLOCK},
        {"growing-pool", no_argument, NULL, ANSWER_GROWING_POOL},
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
        take(request, answer);
    }
    if (!request->help && optind == argc) {
        say("admit: no report is named; `tidemark admit --help` shows how");
        return false;
    }
    return true;
}

/* A policy_option_lookup: the command line goes before the environment, and no other value
   matters here. */
static const char *look_up_text(void *context, const char *name)
{
    const struct request *request = context;
    const struct {
        enum policy_option_id id;
        const char *text;
    } values[] = {
        {POLICY_OPTION_device_mem, request->budget_text},
        {POLICY_OPTION_headroom, request->headroom_text},
    };

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(policy_option_rows[values[i].id].environment, name) == 0)
            return values[i].text != NULL ? values[i].text
                                          : environment_lookup(NULL, name);
    return NULL;
}

/* A policy_option_complaint: names the value by where it was written. */
static void complain(void *context, const struct policy_option_row *row, const char *text)
{
    struct request *request = context;
    char reason[POLICY_OPTIONS_REASON_BYTES];

    policy_options_explain(row, text, reason);
    if (text == request->budget_text)
        malformed(request, BUDGET_OPTION, text, reason);
    else if (text == request->headroom_text)
        malformed(request, HEADROOM_OPTION, text, reason);
    else
        environment_complain(row, text);
    request->is_malformed = true;
}

/* Every value, or false when one is malformed, which has then been said. */
static bool ask(struct request *request, struct admit_question *question)
{
    struct policy_options options;
    struct policy_option_value values[POLICY_OPTION_COUNT];

    policy_options_read(&options, values, look_up_text, complain, request, NULL);
    environment_warn_unknown();
    if (request->is_malformed)
        return false;
    admit_ask(question, &options, values,
              request->budget_text != NULL ? BUDGET_OPTION : NULL,
              request->headroom_text != NULL ? HEADROOM_OPTION : NULL);
    admit_ask_devices(question, &request->selected, &request->limits);
    question->resident_bytes = request->resident_bytes;
    question->largest_block_bytes = request->largest_block_bytes;
    question->pool_grows = request->pool_grows;
    return true;
}

int verb_admit(int argc, char **argv)
{
    struct request request = {.largest_block_bytes = UINT64_MAX};
    struct admit_question question;
    struct admit_answer answer;

    if (!read_command_line(argc, argv, &request))
        return VERB_USAGE;
    if (request.help) {
        print_help();
        return VERB_DONE;
    }
    if (!ask(&request, &question))
        return VERB_USAGE;
    question.paths = (const char *const *)(argv + optind);
    question.path_count = (size_t)(argc - optind);
    enum verb_exit end = admit_decide(&question, &answer);
    if (end != VERB_USAGE) {
        admit_warn_of_cap(&question, &answer);
        admit_print(stdout, request.json ? admit_json_put : admit_text_put, &question,
                    &answer);
    }
    admit_answer_free(&question, &answer);
    return (int)end;
}

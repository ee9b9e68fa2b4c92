/* `tidemark plan`: where buffers with a life each go in an address space, and what that
   takes. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/tidemark/plan_decide.h"
#include "tools/tidemark/plan_file.h"
#include "tools/tidemark/plan_json.h"
#include "tools/tidemark/plan_text.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

enum {
    ANSWER_HELP = 256,
    ANSWER_JSON,
};

struct request {
    const char *path;
    bool json;
    bool help;
};

static void print_help(void)
{
    puts("usage: tidemark plan PLAN.json [OPTION]...\n"
         "\n"
         "Places buffers in address spaces so that two whose lives overlap share no\n"
         "address, in as little room as it finds. Prints the offsets and four numbers:\n"
         "logical high-water, peak live (no plan needs less), artefact overhead (their\n"
         "difference) and runtime reservation (the high-water in whole units). That a\n"
         "plan fits does not prove that storage is there when the program runs.\n"
         "\n"
         "  {\"spaces\": [{\"name\": \"device\", \"base\": 4096,\n"
         "               \"largest_address\": 281474976710655, \"capacity\": 20480,\n"
         "               \"unit\": 512, \"external_peak\": 1024}],\n"
         "   \"buffers\": [{\"name\": \"conv1\", \"size\": 3000, \"alignment\": 256,\n"
         "                \"start\": 0, \"end\": 2, \"space\": \"device\"}]}\n"
         "\n"
         "  largest_address  the most that an address, or the end of a buffer, can be\n"
         "  capacity         bytes of storage; without it none is known to be a limit\n"
         "  unit             storage is reserved in whole units (default: 1)\n"
         "  external_peak    the most that others were recorded to hold of the storage\n"
         "                   (default: 0)\n"
         "  alignment        any but 0; the address is a multiple, and so is the size,\n"
         "                   once it is rounded up\n"
         "  start, end       the buffer lives from start on, and no longer at end\n"
         "  comment          may be added to any object\n"
         "\n"
         "Numbers are whole and below 2^64, from 2^63 up as a string of digits. At most\n"
         "10 MB, 64 spaces and 65536 buffers are read.\n"
         "\n"
         "Options:\n"
         "  --json  print one JSON object instead of lines\n"
         "  --help  print this\n"
         "\n"
         "Exits 0 when all is placed, 3 when a space is refused, 2 when the plan is\n"
         "malformed.");
}

/* False when the command line cannot be understood, which has then been said. */
static bool read_command_line(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
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
        if (answer == ANSWER_JSON)
            request->json = true;
        else
            request->help = true;
    }
    request->path = argv[optind];
    if (request->help || optind + 1 == argc)
        return true;
    if (optind == argc)
        say("plan: no plan is named; `tidemark plan --help` shows how");
    else
        say("plan: %s: one plan is expected", argv[optind + 1]);
    return false;
}

int verb_plan(int argc, char **argv)
{
    struct request request = {.help = false};
    struct plan plan;

    if (!read_command_line(argc, argv, &request))
        return VERB_USAGE;
    if (request.help) {
        print_help();
        return VERB_DONE;
    }
    if (!plan_file_read(request.path, &plan))
        return VERB_USAGE;
    int end = VERB_NO_OUTPUT;
    if (plan_decide(&plan)) {
        (request.json ? plan_json_print : plan_text_print)(&plan);
        end = plan_is_placed(&plan) ? VERB_DONE : VERB_REFUSED;
    }
    plan_file_free(&plan);
    return end;
}

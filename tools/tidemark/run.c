/* `tidemark run`: reads the command line, refuses what would not do as asked before
   anything starts, and ends as the program ended. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/options.h"
#include "tools/tidemark/admit_decide.h"
#include "tools/tidemark/admit_print.h"
#include "tools/tidemark/admit_text.h"
#include "tools/tidemark/environment.h"
#include "tools/tidemark/expect.h"
#include "tools/tidemark/install.h"
#include "tools/tidemark/launch.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/signals.h"
#include "tools/tidemark/target.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

/* What getopt_long answers: past every character, then the options of the table by row. */
enum {
    ANSWER_HELP = 256,
    ANSWER_ADMIT,
    ANSWER_DEVICE_LIMIT,
    ANSWER_EXPECT,
    ANSWER_STRICT,
    ANSWER_SIM,
    ANSWER_ROW,
};

enum { LONG_OPTION_COUNT = POLICY_OPTION_COUNT + 6 };

struct request {
    struct launch launch;
    const char **reports; /* of --admit; room for every argument */
    size_t report_count;
    struct admit_devices limits;      /* of --device-limit */
    struct expectation *expectations; /* of --expect; as many */
    size_t expectation_count;
    bool help;
    bool sim;
    bool is_malformed; /* some value is, which was said */
};

static void print_help(void)
{
    puts("usage: tidemark run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
         "\n"
         "Runs PROGRAM with libtidemark.so preloaded, and ends as it ends.\n"
         "\n"
         "Options:");
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        const struct policy_option_row *row = &policy_option_rows[i];
        if (row->flag[0] != '\0')
            printf("  --%s %s\n      %s (default: %s)\n", row->flag, row->argument,
                   row->help, row->initial);
    }
    puts("  --admit REPORT\n"
         "      exit 3 unless the program that a compiler's report describes fits under "
         "the\n"
         "      ceiling; given again, the programs are resident together\n"
         "  --device-limit N=BYTES\n"
         "      for --admit: what device N has; the least counts, and 0 adds no cap\n"
         "  --expect COUNTER<=N\n"
         "      exit 4, and say the value, unless a counter of the report is as wanted "
         "when\n"
         "      the program has ended well; also < >= > == !=; may be given again\n"
         "  --strict\n"
         "      exit 126 if the library cannot be, or was not, loaded into PROGRAM\n"
         "  --sim\n"
         "      use the simulated CUDA driver where there is no GPU\n"
         "  --help\n"
         "      print this\n"
         "\n"
         "Each value has an environment variable too: `tidemark options` lists them.\n"
         "Signals sent to the command are passed on. `tidemark --help` has the exit\n"
         "codes.\n"
         "\n"
         "Counters of --expect:");
    expect_list();
}

static void list_options(struct option options[LONG_OPTION_COUNT + 1])
{
    size_t count = 0;

    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
        if (policy_option_rows[i].flag[0] != '\0')
            options[count++] = (struct option){
                policy_option_rows[i].flag, required_argument, NULL, ANSWER_ROW + (int)i};
    options[count++] = (struct option){"admit", required_argument, NULL, ANSWER_ADMIT};
    options[count++] =
        (struct option){"device-limit", required_argument, NULL, ANSWER_DEVICE_LIMIT};
    options[count++] = (struct option){"expect", required_argument, NULL, ANSWER_EXPECT};
    options[count++] = (struct option){"strict", no_argument, NULL, ANSWER_STRICT};
    options[count++] = (struct option){"sim", no_argument, NULL, ANSWER_SIM};
    options[count++] = (struct option){"help", no_argument, NULL, ANSWER_HELP};
    options[count] = (struct option){0};
}

static void add_limit(struct request *request, const char *text)
{
    if (admit_devices_add_limit(&request->limits, text))
        return;
    say("--device-limit=%s: %s", text, ADMIT_DEVICE_LIMIT_RULE);
    request->is_malformed = true;
}

static void add_expectation(struct request *request, const char *text)
{
    if (expect_read(text, &request->expectations[request->expectation_count]))
        request->expectation_count++;
    else
        request->is_malformed = true;
}

/* False when the command line cannot be understood, which has then been said. */
static bool read_command_line(int argc, char **argv, struct request *request)
{
    struct option options[LONG_OPTION_COUNT + 1];
    int answer;

    list_options(options);
    opterr = 0;
    while ((answer = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
        if (answer == '?' || answer == ':') {
            usage_refuse_option(answer, argv, options);
            return false;
        }
        if (answer == ANSWER_HELP)
            request->help = true;
        else if (answer == ANSWER_ADMIT)
            request->reports[request->report_count++] = optarg;
        else if (answer == ANSWER_DEVICE_LIMIT)
            add_limit(request, optarg);
        else if (answer == ANSWER_EXPECT)
            add_expectation(request, optarg);
        else if (answer == ANSWER_STRICT)
            request->launch.strict = true;
        else if (answer == ANSWER_SIM)
            request->sim = true;
        else
            request->launch.option_texts[answer - ANSWER_ROW] = optarg;
    }
    request->launch.program = argv + optind;
    if (!request->help && optind == argc) {
        say("run: no program is named; `tidemark run --help` shows how");
        return false;
    }
    return true;
}

/* A policy_option_lookup: the command line goes before the environment. */
static const char *look_up_text(void *context, const char *name)
{
    const struct request *request = context;

    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
        if (request->launch.option_texts[i] != NULL &&
            strcmp(policy_option_rows[i].environment, name) == 0)
            return request->launch.option_texts[i];
    return environment_lookup(NULL, name);
}

/* A policy_option_complaint: names the value by where it was written. */
static void complain(void *context, const struct policy_option_row *row, const char *text)
{
    struct request *request = context;
    char reason[POLICY_OPTIONS_REASON_BYTES];

    policy_options_explain(row, text, reason);
    if (request->launch.option_texts[row - policy_option_rows] != NULL)
        say("--%s=%s: %s", row->flag, text, reason);
    else
        environment_complain(row, text);
    request->is_malformed = true;
}

/* The name of a row's option where the command line gave it. */
static const char *option_given(const struct request *request, enum policy_option_id id,
                                const char *name)
{
    return request->launch.option_texts[id] != NULL ? name : NULL;
}

/* What could not be checked is not admitted in silence. */
static void say_what_was_checked(const struct admit_question *question,
                                 const struct admit_answer *answer)
{
    if (admit_is_blind(question, answer))
        say("--admit: nothing was checked, since no device's limit is known and %s=%s "
            "depends on it; give --device-limit N=BYTES, or a size as --device-mem",
            question->budget.name, question->budget.text);
    else
        admit_warn_of_cap(question, answer);
}

/* --admit: whether the programs that the reports describe fit. */
static enum verb_exit admit_programs(const struct request *request,
                                     const struct policy_options *options,
                                     const struct policy_option_value *values)
{
    struct admit_question question;
    struct admit_answer answer;

    admit_ask(&question, options, values,
              option_given(request, POLICY_OPTION_device_mem, "--device-mem"),
              option_given(request, POLICY_OPTION_headroom, "--headroom"));
    question.paths = request->reports;
    question.path_count = request->report_count;
    admit_ask_devices(&question, &(struct admit_devices){.count = 0}, &request->limits);
    enum verb_exit end = admit_decide(&question, &answer);
    if (end != VERB_USAGE)
        say_what_was_checked(&question, &answer);
    if (end == VERB_REFUSED)
        admit_print(stderr, admit_text_put, &question, &answer);
    admit_answer_free(&question, &answer);
    return end;
}

/* What the values say: malformed ones and programs that do not fit stop everything. */
static enum verb_exit check_values(struct request *request)
{
    struct policy_options options;
    struct policy_option_value values[POLICY_OPTION_COUNT];

    policy_options_read(&options, values, look_up_text, complain, request, NULL);
    if (request->limits.count > 0 && request->report_count == 0) {
        say("--device-limit: has no effect without --admit");
        request->is_malformed = true;
    }
    if (request->is_malformed)
        return VERB_USAGE;
    environment_warn_unknown();
    return request->report_count > 0 ? admit_programs(request, &options, values)
                                     : VERB_DONE;
}

/* The program may change its directory before it writes. False, and said, when the one
   we are in has no name. */
static bool make_absolute(enum policy_option_id id, const char **text)
{
    char *path;

    if (*text == NULL || **text == '/' || strcmp(*text, "none") == 0 ||
        strcmp(*text, "stderr") == 0)
        return true;
    char *folder = getcwd(NULL, 0);
    if (folder == NULL || asprintf(&path, "%s/%s", folder, *text) == -1) {
        say("--%s=%s: the current directory: %s", policy_option_rows[id].flag, *text,
            strerror(errno));
        return false;
    }
    free(folder);
    *text = path;
    return true;
}

/* --sim. False, and said, when the simulated driver is needed and missing. */
static bool prepare_driver(const char *library)
{
    char simulation[PATH_MAX];

    if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0) {
        say("--sim: there is a GPU here, so its own driver is used");
        return true;
    }
    if (!install_find_simulation(library, simulation))
        return false;
    environment_search_first(simulation);
    return true;
}

/* Everything that has to be right before the program starts; the exit code otherwise. */
static enum verb_exit prepare(struct request *request)
{
    struct launch *launch = &request->launch;
    char library[PATH_MAX], reason[TARGET_REASON_BYTES];

    enum verb_exit obstacle = check_values(request);
    if (obstacle != VERB_DONE)
        return obstacle;
    if (!install_find_library(library))
        return VERB_CANNOT_EXECUTE;
    if (request->sim && !prepare_driver(library))
        return VERB_USAGE;
    if (!target_takes_preload(launch->program[0], reason)) {
        say("%s %s: the preload has no effect", launch->program[0], reason);
        if (launch->strict)
            return VERB_CANNOT_EXECUTE;
    }
    static const enum policy_option_id outputs[] = {POLICY_OPTION_report,
                                                    POLICY_OPTION_binds};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (!make_absolute(outputs[i], &launch->option_texts[outputs[i]]))
            return VERB_CANNOT_EXECUTE;
    if (request->expectation_count > 0 && !expect_open(&launch->counts))
        return VERB_CANNOT_EXECUTE;
    environment_preload(library);
    environment_set_options(launch->option_texts);
    return VERB_DONE;
}

/* What a shell makes of the status of its child, it makes of ours as well. */
static int end_like_program(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    /* The program has left a core file where that was wanted. */
    prctl(PR_SET_DUMPABLE, 0);
    signals_suffer(WTERMSIG(status));
    /* The first process of a container outlives its signals. */
    return 128 + WTERMSIG(status);
}

/* What a program that failed has to say for itself comes first: only of one that ended well
   are the counters looked at. */
static bool settle_expectations(const struct request *request,
                                const struct launch_end *end)
{
    if (request->expectation_count == 0)
        return true;
    bool has_ended_well = end->outcome == LAUNCH_ENDED && end->code == 0;
    bool is_as_expected =
        !has_ended_well || expect_judge(request->launch.counts, request->expectations,
                                        request->expectation_count);
    unlink(request->launch.counts);
    return is_as_expected;
}

static int run(int argc, char **argv, struct request *request)
{
    if (!read_command_line(argc, argv, request))
        return VERB_USAGE;
    if (request->help) {
        print_help();
        return VERB_DONE;
    }
    enum verb_exit obstacle = prepare(request);
    if (obstacle != VERB_DONE)
        return (int)obstacle;

    struct launch_end end = launch_program(&request->launch);
    bool is_as_expected = settle_expectations(request, &end);
    if (end.outcome == LAUNCH_UNANSWERED)
        return VERB_CANNOT_EXECUTE;
    if (end.outcome == LAUNCH_ENDED)
        return is_as_expected ? end_like_program(end.code) : VERB_UNEXPECTED;
    say("%s: %s", request->launch.program[0], strerror(end.code));
    return end.code == ENOENT ? VERB_NOT_FOUND : VERB_CANNOT_EXECUTE;
}

int verb_run(int argc, char **argv)
{
    struct request request = {
        .reports = calloc((size_t)argc, sizeof(char *)),
        .expectations = calloc((size_t)argc, sizeof(struct expectation)),
    };

    if (request.reports == NULL || request.expectations == NULL) {
        say("%s", strerror(errno));
        return VERB_CANNOT_EXECUTE;
    }
    int status = run(argc, argv, &request);
    free(request.expectations);
    free(request.reports);
    return status;
}

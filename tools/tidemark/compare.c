/* `tidemark compare`: runs two commands, or one under two settings, in turns, and says what
   differs, or that it cannot be told. */
#include "tools/tidemark/compare.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tidemark/compare_log.h"
#include "tools/tidemark/compare_print.h"
#include "tools/tidemark/compare_stamp.h"
#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"
#include "tools/tidemark/verb.h"

enum { ROUNDS_DEFAULT = 12 };

enum {
    ANSWER_HELP = 256,
    ANSWER_ROUNDS,
    ANSWER_A,
    ANSWER_B,
    ANSWER_LOG,
    ANSWER_JUDGE,
    ANSWER_SVG,
    ANSWER_JSON,
};

struct request {
    struct compare_arm arms[COMPARE_ARMS];
    size_t round_count;
    const char *log_path;
    const char *judge_path;
    const char *svg_path;
    bool json;
    bool help;
};

static struct compare_rounds rounds;

static void print_help(void)
{
    puts(
        "usage: tidemark compare [OPTION]... -- COMMAND... [--- COMMAND...]\n"
        "\n"
        "Runs A and B in turns, A B A B, and says for each measure whether B is lower "
        "or\n"
        "higher. It says so only where every repetition (three rounds) agrees, by its\n"
        "minimum and its median, and the 90 % interval of the difference does not reach\n"
        "0; else the difference is not resolvable. A first run of each is not counted.\n"
        "What the commands print is dropped.\n"
        "\n"
        "  tidemark compare -- ./program --- tidemark run -- ./program\n"
        "  tidemark compare --a TIDEMARK_DECAY=never --b TIDEMARK_DECAY=1s -- \\\n"
        "      tidemark run -- ./program\n"
        "\n"
        "One command is run as A and as B. A and B may differ in the command or in one\n"
        "variable, not in more; neither may be built anew meanwhile.\n"
        "\n"
        "Options:\n"
        "  --rounds N        from 6 to 1000 (default: 12)\n"
        "  --a NAME=VALUE    a variable for A; may be given again\n"
        "  --b NAME=VALUE    a variable for B; may be given again\n"
        "  --log FILE        keep stamps and samples as JSON lines in a new file\n"
        "  --judge FILE      run nothing, judge such a file\n"
        "  --svg FILE        draw B / A round by round; needs gnuplot\n"
        "  --json            print one JSON object instead of lines\n"
        "  --help            print this\n"
        "\n"
        "Exits 0 when the result was printed, 1 when there is none because a command\n"
        "failed or it could not be written, 2 when A and B cannot be compared, 126 or\n"
        "127 when a command cannot be executed.");
}

static bool read_rounds(const char *text, size_t *count)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || value < POLICY_COMPARE_ROUNDS_MIN ||
        value > POLICY_COMPARE_ROUNDS_MAX) {
        say("--rounds=%s: must be a number from %d to %d: fewer rounds repeat too little "
            "to tell a difference from chance",
            text, POLICY_COMPARE_ROUNDS_MIN, POLICY_COMPARE_ROUNDS_MAX);
        return false;
    }
    *count = value;
    return true;
}

static bool add_setting(struct compare_arm *arm, const char *name, const char *text)
{
    if (strchr(text, '=') == NULL || text[0] == '=') {
        say("--%s=%s: must be NAME=VALUE", name, text);
        return false;
    }
    if (arm->setting_count == COMPARE_SETTINGS_MAX) {
        say("--%s=%s: more than %d variables", name, text, COMPARE_SETTINGS_MAX);
        return false;
    }
    arm->settings[arm->setting_count++] = text;
    return true;
}

static bool take_option(struct request *request, int answer)
{
    switch (answer) {
    case ANSWER_ROUNDS:
        return read_rounds(optarg, &request->round_count);
    case ANSWER_A:
        return add_setting(&request->arms[COMPARE_A], "a", optarg);
    case ANSWER_B:
        return add_setting(&request->arms[COMPARE_B], "b", optarg);
    case ANSWER_LOG:
        request->log_path = optarg;
        break;
    case ANSWER_JUDGE:
        request->judge_path = optarg;
        break;
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

/* Cuts what follows the options in two where "---" stands. */
static bool take_commands(struct request *request, char **words)
{
    char **separator = words;

    while (*separator != NULL && strcmp(*separator, "---") != 0)
        separator++;
    bool has_two = *separator != NULL;
    *separator = NULL;
    request->arms[COMPARE_A].command = words;
    request->arms[COMPARE_B].command = has_two ? separator + 1 : words;
    bool is_complete = *request->arms[COMPARE_A].command != NULL &&
                       *request->arms[COMPARE_B].command != NULL;
    if (request->judge_path != NULL && (words[0] != NULL || has_two)) {
        say("compare: --judge runs no command");
        return false;
    }
    if (request->judge_path == NULL && !is_complete) {
        say("compare: %s is named; `tidemark compare --help` shows how",
            has_two ? "not every command" : "no command");
        return false;
    }
    return true;
}

/* False when the command line cannot be understood, which has then been said. */
static bool read_command_line(int argc, char **argv, struct request *request)
{
    static const struct option known[] = {
        {"rounds", required_argument, NULL, ANSWER_ROUNDS},
        {"a", required_argument, NULL, ANSWER_A},
        {"b", required_argument, NULL, ANSWER_B},
        {"log", required_argument, NULL, ANSWER_LOG},
        {"judge", required_argument, NULL, ANSWER_JUDGE},
        {"svg", required_argument, NULL, ANSWER_SVG},
        {"json", no_argument, NULL, ANSWER_JSON},
        {"help", no_argument, NULL, ANSWER_HELP},
        {NULL, 0, NULL, 0},
    };
    int answer;

    opterr = 0;
    while ((answer = getopt_long(argc, argv, "+:", known, NULL)) != -1) {
        if (answer == '?' || answer == ':') {
            usage_refuse_option(answer, argv, known);
            return false;
        }
        if (!take_option(request, answer))
            return false;
    }
    return request->help || take_commands(request, argv + optind);
}

/* Round 0 is the one that is not counted. */
static void show_progress(size_t round, size_t count, int arm)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rcompare: round %zu of %zu, %c\033[K", round, count,
                COMPARE_ARM_NAMES[arm]);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

/* One turn of an arm. What the first turns are of must still be there. */
static bool take_turn(const struct request *request, const struct compare_result *result,
                      int arm, struct compare_sample *sample, int *code)
{
    const struct compare_arm *of = &request->arms[arm];
    json_t *stamp = compare_stamp_of(of);
    bool is_the_same = json_equal(stamp, result->stamps[arm]) != 0;

    json_decref(stamp);
    if (is_the_same)
        return compare_run(of, sample, code);
    clear_progress();
    say("compare: %c is not what it was: %s, or a file that it names, was changed",
        COMPARE_ARM_NAMES[arm], of->command[0]);
    *code = VERB_USAGE;
    return false;
}

/* The first turn of each only brings files into memory. */
static bool take_turns(const struct request *request, const struct compare_result *result,
                       FILE *log, int *code)
{
    struct compare_sample first;

    for (int arm = 0; arm < COMPARE_ARMS; arm++) {
        show_progress(0, request->round_count, arm);
        if (!take_turn(request, result, arm, &first, code))
            return false;
    }
    for (; rounds.count < request->round_count; rounds.count++) {
        for (int arm = 0; arm < COMPARE_ARMS; arm++) {
            struct compare_sample *sample = &rounds.samples[arm][rounds.count];
            show_progress(rounds.count + 1, request->round_count, arm);
            if (!take_turn(request, result, arm, sample, code))
                return false;
            *code = VERB_NO_OUTPUT;
            if (!compare_log_sample(log, arm, rounds.count, sample))
                return false;
        }
    }
    clear_progress();
    return true;
}

/* Stamps both arms, and runs them when they can be compared. */
static bool measure(const struct request *request, struct compare_result *result,
                    int *code)
{
    char *what;
    FILE *log = NULL;

    for (int arm = 0; arm < COMPARE_ARMS; arm++)
        result->stamps[arm] = compare_stamp_of(&request->arms[arm]);
    *code = VERB_USAGE;
    if (!compare_stamp_differ_in_one(result->stamps[COMPARE_A], result->stamps[COMPARE_B],
                                     &what))
        return false;
    result->what = what;
    if (request->log_path != NULL &&
        (log = compare_log_create(request->log_path)) == NULL)
        return false;
    bool has_run = compare_log_stamp(log, COMPARE_A, result->stamps[COMPARE_A]) &&
                   compare_log_stamp(log, COMPARE_B, result->stamps[COMPARE_B]) &&
                   take_turns(request, result, log, code);
    if (log != NULL)
        fclose(log);
    return has_run;
}

static bool read_back(const struct request *request, struct compare_result *result,
                      int *code)
{
    char *what;

    *code = VERB_USAGE;
    if (!compare_log_read(request->judge_path, result->stamps, &rounds) ||
        !compare_stamp_differ_in_one(result->stamps[COMPARE_A], result->stamps[COMPARE_B],
                                     &what))
        return false;
    result->what = what;
    if (rounds.count >= POLICY_COMPARE_ROUNDS_MIN)
        return true;
    say("%s: %zu whole rounds are not enough: at least %d are needed",
        request->judge_path, rounds.count, POLICY_COMPARE_ROUNDS_MIN);
    return false;
}

int verb_compare(int argc, char **argv)
{
    struct request request = {.round_count = ROUNDS_DEFAULT};
    struct compare_result result = {.rounds = &rounds};
    int code;

    if (!read_command_line(argc, argv, &request))
        return VERB_USAGE;
    if (request.help) {
        print_help();
        return VERB_DONE;
    }
    if (!(request.judge_path != NULL ? read_back : measure)(&request, &result, &code))
        return code;
    (request.json ? compare_print_json : compare_print_text)(&result);
    if (request.svg_path != NULL && !compare_plot(&result, request.svg_path))
        return VERB_NO_OUTPUT;
    return VERB_DONE;
}

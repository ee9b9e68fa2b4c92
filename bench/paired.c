/* Compares one command in several environments. Every round runs each variant once, in
   random order, so that what drifts on the machine meets all of them alike; what is judged
   is the ratio within a round, of the first variant to each other one that has a bound. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/command.h"
#include "policy/estimate.h"

enum {
    VARIANTS_MAX = 8,
    ROUNDS_DEFAULT = 30,
    EXIT_OVER = 1,
    EXIT_TROUBLE = 2,
};

struct variant {
    const char *name;
    double bound; /* on the first variant's ratio to this one; NAN: not judged */
    struct bench_settings settings;
    double values[POLICY_ESTIMATE_SAMPLES_MAX]; /* by round */
};

/* Where the value of a run comes from; NAN when there is none. */
struct measure {
    const char *name;
    double (*read)(const struct bench_run *run);
};

static double read_output(const struct bench_run *run)
{
    char *end;
    double value = strtod(run->output, &end);
    return strcmp(end, "\n") == 0 ? value : NAN;
}

static double read_wall(const struct bench_run *run)
{
    return run->wall_us;
}

static double read_faults(const struct bench_run *run)
{
    return run->minor_faults;
}

static const struct measure measures[] = {
    {"output", read_output},
    {"wall", read_wall},
    {"faults", read_faults},
};

/* Written by read_arguments(), and the values by run_rounds(). */
static struct variant variants[VARIANTS_MAX];
static size_t variant_count;
static size_t round_count = ROUNDS_DEFAULT;
static const struct measure *measure = &measures[0];
static char **command;

static _Noreturn void fail(const struct variant *variant, const char *why)
{
    fprintf(stderr, "paired: %s: %s\n", variant->name, why);
    exit(EXIT_TROUBLE);
}

static double run_once(const struct variant *variant)
{
    struct bench_run run;
    if (!bench_command_run(command, &variant->settings, &run))
        fail(variant, "the command failed");
    double value = measure->read(&run);
    if (!(value > 0))
        fail(variant, "the command did not print one positive number");
    return value;
}

static void run_round(size_t round)
{
    size_t order[VARIANTS_MAX];
    for (size_t i = 0; i < variant_count; i++) {
        size_t j = (size_t)random() % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < variant_count; i++)
        variants[order[i]].values[round] = run_once(&variants[order[i]]);
}

/* A variable that one variant sets is unset for the others, whatever we were started with. */
static void run_rounds(void)
{
    int is_watched = isatty(STDERR_FILENO);
    for (size_t i = 0; i < variant_count; i++)
        bench_settings_clear(&variants[i].settings);
    for (size_t round = 0; round < round_count; round++) {
        if (is_watched)
            fprintf(stderr, "\rpaired: round %zu of %zu", round + 1, round_count);
        run_round(round);
    }
    if (is_watched)
        fputs("\r\033[K", stderr);
}

static void print_value(const struct variant *variant)
{
    double values[POLICY_ESTIMATE_SAMPLES_MAX];
    memcpy(values, variant->values, round_count * sizeof *values);
    struct policy_estimate value = policy_estimate_of(values, round_count);
    printf("%s %.4g [%.4g-%.4g]\n", variant->name, value.median, values[0],
           values[round_count - 1]);
}

static enum policy_estimate_verdict print_ratio(const struct variant *first,
                                                const struct variant *other)
{
    double ratios[POLICY_ESTIMATE_SAMPLES_MAX];
    for (size_t i = 0; i < round_count; i++)
        ratios[i] = first->values[i] / other->values[i];
    struct policy_estimate ratio = policy_estimate_of(ratios, round_count);
    enum policy_estimate_verdict verdict = policy_estimate_judge(&ratio, other->bound);
    printf("%s/%s %.3f [%.3f-%.3f] ", first->name, other->name, ratio.median, ratio.low,
           ratio.high);
    if (verdict == POLICY_ESTIMATE_NOT_RESOLVABLE)
        puts("not resolvable");
    else
        printf("%s %.2fx\n", verdict == POLICY_ESTIMATE_WITHIN ? "within" : "over",
               other->bound);
    return verdict;
}

static int print_results(void)
{
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < variant_count; i++)
        print_value(&variants[i]);
    for (size_t i = 1; i < variant_count; i++)
        if (!isnan(variants[i].bound) &&
            print_ratio(&variants[0], &variants[i]) == POLICY_ESTIMATE_OVER)
            status = EXIT_OVER;
    return status;
}

static const char usage_text[] =
    "usage: paired [--rounds N] [--measure output|wall|faults] VARIANT VARIANT... -- "
    "COMMAND...\n"
    "where VARIANT is --variant NAME [--bound RATIO] [--set VARIABLE=VALUE]...\n"
    "\n"
    "Runs the command as every variant once in each round, in random order. Prints each\n"
    "variant's median [min-max]; then, for each one with a bound, the median of the "
    "first\n"
    "variant's ratio to it in the same round, with its 90 % interval and a verdict: "
    "within the\n"
    "bound when the interval reaches down to it, otherwise over; not resolvable, which "
    "is no\n"
    "pass, when the interval is wider than +-15 %.\n"
    "\n"
    "  --rounds N      5 to 1000; default 30\n"
    "  --measure WHAT  the one number that the command prints (the default), the wall "
    "time of\n"
    "                  its process in microseconds, or its minor page faults\n"
    "\n"
    "Exit status: 1 when a ratio is over its bound, 2 when the arguments are wrong or "
    "the\n"
    "command fails, otherwise 0.\n";

static _Noreturn void refuse_usage(void)
{
    fputs(usage_text, stderr);
    exit(EXIT_TROUBLE);
}

static size_t rounds_of(const char *text)
{
    char *end;
    unsigned long rounds = strtoul(text, &end, 10);
    if (*end != '\0' || rounds < POLICY_ESTIMATE_SAMPLES_MIN ||
        rounds > POLICY_ESTIMATE_SAMPLES_MAX)
        refuse_usage();
    return rounds;
}

static double bound_of(const char *text)
{
    char *end;
    double bound = strtod(text, &end);
    if (*end != '\0' || !(bound > 0))
        refuse_usage();
    return bound;
}

static const struct measure *measure_named(const char *name)
{
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (strcmp(name, measures[i].name) == 0)
            return &measures[i];
    refuse_usage();
}

static void add_variant(const char *name)
{
    if (variant_count == VARIANTS_MAX)
        refuse_usage();
    variants[variant_count++] = (struct variant){.name = name, .bound = NAN};
}

static struct variant *last_variant(void)
{
    if (variant_count == 0)
        refuse_usage();
    return &variants[variant_count - 1];
}

/* Cuts the argument in two. */
static void add_setting(struct bench_settings *settings, char *assignment)
{
    char *equals = strchr(assignment, '=');
    if (settings->count == BENCH_SETTINGS_MAX || equals == NULL || equals == assignment)
        refuse_usage();
    *equals = '\0';
    settings->at[settings->count++] = (struct bench_setting){assignment, equals + 1};
}

static void read_option(int option)
{
    if (option == 'r') {
        round_count = rounds_of(optarg);
    } else if (option == 'm') {
        measure = measure_named(optarg);
    } else if (option == 'v') {
        add_variant(optarg);
    } else if (option == 'b') {
        last_variant()->bound = bound_of(optarg);
    } else if (option == 's') {
        add_setting(&last_variant()->settings, optarg);
    } else if (option == 'h') {
        fputs(usage_text, stdout);
        exit(EXIT_SUCCESS);
    } else {
        refuse_usage();
    }
}

static void read_arguments(int count, char **arguments)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"measure", required_argument, NULL, 'm'},
        {"variant", required_argument, NULL, 'v'},
        {"bound", required_argument, NULL, 'b'},
        {"set", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    /* "+": what follows the command's name is not ours. */
    while ((option = getopt_long(count, arguments, "+", options, NULL)) != -1)
        read_option(option);
    command = arguments + optind;
    if (*command == NULL || variant_count < 2)
        refuse_usage();
}

int main(int count, char **arguments)
{
    read_arguments(count, arguments);
    run_rounds();
    return print_results();
}

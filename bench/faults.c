/* The page-fault benchmark: what one bind of a workload costs in minor page faults,
   processor time and wall time, bind by bind, with whatever malloc the process was
   started with.

   A run has three phases. The first bind is *cold*. The binds are *steady* from the start
   of the longest run of last binds, the cold one excepted, that is long enough and whose
   fault counts agree (policy/steady.h). What lies between is *decay*. A run that ends before its counts are flat has no
   steady phase and says so: a mean over all binds would hide what the first ones cost. Of
   a workload that never repeats itself the caller says which binds are the steady ones. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/crew.h"
#include "bench/workloads.h"
#include "policy/steady.h"

enum {
    BINDS_DEFAULT = 12,
    BINDS_MIN = 2,
    BINDS_MAX = 10000,
};

enum measure { MINOR_FAULTS, CPU_NS, WALL_NS, MEASURES };

static const char *const measure_names[MEASURES] = {"minor_faults", "cpu_ns", "wall_ns"};

struct sample {
    uint64_t value[MEASURES];
};

struct phase {
    const char *name;
    const char *when_empty;
    size_t first;
    size_t binds;
};

enum { COLD, DECAY, STEADY, PHASES };

struct run {
    const struct bench_workload *workload;
    size_t binds;
    size_t steady_binds;     /* how many are steady; 0: to be found */
    uint64_t control_faults; /* of an empty window: 0, or every count is too high by it */
    uint64_t peak_rss_bytes; /* ru_maxrss: of the whole process, up to the last bind */
};

/* Static, so that the measuring asks the measured malloc for nothing. By measure, not by
   bind: a phase of one measure is then a plain array. */
static uint64_t results[MEASURES][BINDS_MAX];

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static struct rusage usage(void)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    return now;
}

static struct sample take_sample(void)
{
    struct sample now;
    now.value[MINOR_FAULTS] = (uint64_t)usage().ru_minflt;
    now.value[CPU_NS] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    now.value[WALL_NS] = clock_ns(CLOCK_MONOTONIC);
    return now;
}

/* Write every page that holding the results will need, or the counts would include them. */
static void touch_results(size_t binds)
{
    for (size_t m = 0; m < MEASURES; m++)
        for (volatile uint64_t *r = results[m]; r < results[m] + binds; r++)
            *r = UINT64_MAX;
}

static void measure_bind(const struct bench_workload *workload, size_t index)
{
    struct sample before = take_sample();
    workload->bind();
    struct sample after = take_sample();
    for (size_t m = 0; m < MEASURES; m++)
        results[m][index] = after.value[m] - before.value[m];
}

static void measure(struct run *run)
{
    touch_results(run->binds);
    bench_crew_start(run->workload->workers);

    take_sample(); /* the first one brings in the code and stack that samples need */
    struct sample before = take_sample();
    struct sample after = take_sample();
    run->control_faults = after.value[MINOR_FAULTS] - before.value[MINOR_FAULTS];

    for (size_t i = 0; i < run->binds; i++)
        measure_bind(run->workload, i);

    run->peak_rss_bytes = (uint64_t)usage().ru_maxrss * 1024;
    bench_crew_stop();
}

static void split_phases(const struct run *run, struct phase phases[PHASES])
{
    size_t binds = run->binds;
    size_t steady = run->steady_binds ? binds - run->steady_binds
                                      : policy_steady_first(results[MINOR_FAULTS], binds);
    phases[COLD] = (struct phase){"cold", "", 0, 1};
    phases[DECAY] = (struct phase){"decay", "-", 1, steady - 1};
    phases[STEADY] = (struct phase){"steady", "not steady: the counts still move", steady,
                                    binds - steady};
}

struct summary {
    uint64_t min, median, max;
};

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static struct summary summarize(const uint64_t *values, size_t count)
{
    static uint64_t sorted[BINDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    return (struct summary){
        .min = sorted[0],
        .median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2,
        .max = sorted[count - 1],
    };
}

static void print_sequence(size_t binds, const char *separator)
{
    for (size_t i = 0; i < binds; i++)
        printf("%s%" PRIu64, i == 0 ? "" : separator, results[MINOR_FAULTS][i]);
}

static void print_text_phase(const struct phase *phase)
{
    if (phase->binds == 0) {
        printf("%-7s %5d  %s\n", phase->name, 0, phase->when_empty);
        return;
    }
    for (size_t m = 0; m < MEASURES; m++) {
        struct summary s = summarize(results[m] + phase->first, phase->binds);
        printf("%-7s %5zu  %-12s %12" PRIu64 " %12" PRIu64 " %12" PRIu64 "\n",
               phase->name, phase->binds, measure_names[m], s.min, s.median, s.max);
    }
}

static void print_text(const struct run *run, const struct phase phases[PHASES])
{
    printf("workload %s: %s\n", run->workload->name, run->workload->description);
    printf("minor faults per bind: ");
    print_sequence(run->binds, " ");
    printf("\n\n%-7s %5s  %-12s %12s %12s %12s\n", "phase", "binds", "per bind", "min",
           "median", "max");
    for (size_t i = 0; i < PHASES; i++)
        print_text_phase(&phases[i]);
    printf("\npeak_rss_bytes %" PRIu64 "\n", run->peak_rss_bytes);
    if (run->control_faults != 0)
        printf("control: an empty window counted %" PRIu64 " minor faults, not 0\n",
               run->control_faults);
}

static void print_json_phase(const struct phase *phase)
{
    if (phase->binds == 0) {
        printf(",\"%s\":null", phase->name);
        return;
    }
    printf(",\"%s\":{\"binds\":%zu", phase->name, phase->binds);
    for (size_t m = 0; m < MEASURES; m++) {
        struct summary s = summarize(results[m] + phase->first, phase->binds);
        printf(",\"%s\":{\"min\":%" PRIu64 ",\"median\":%" PRIu64 ",\"max\":%" PRIu64 "}",
               measure_names[m], s.min, s.median, s.max);
    }
    printf("}");
}

static void print_json(const struct run *run, const struct phase phases[PHASES])
{
    printf("{\"schema\":\"tidemark.faults/1\",\"workload\":\"%s\",\"binds\":%zu",
           run->workload->name, run->binds);
    printf(",\"control_minor_faults\":%" PRIu64 ",\"minor_faults\":[",
           run->control_faults);
    print_sequence(run->binds, ",");
    printf("]");
    for (size_t i = 0; i < PHASES; i++)
        print_json_phase(&phases[i]);
    printf(",\"peak_rss_bytes\":%" PRIu64 "}\n", run->peak_rss_bytes);
}

static void print_help(FILE *to)
{
    fprintf(to,
            "usage: faults [--workload NAME] [--binds N] [--steady N] [--json]\n"
            "Print the minor page faults of each bind of a workload, then min, median "
            "and max\n"
            "of its first bind (cold), of the binds until the counts are flat (decay) "
            "and of\n"
            "the last ones, at least %d, whose counts agree within %d (steady).\n\n"
            "  --workload NAME  what to run; default bind\n"
            "  --binds N        how many binds, %d to %d; default %d\n"
            "  --steady N       the last N are the steady ones, flat or not\n"
            "  --json           the same as one JSON object\n"
            "  --list           the workloads\n"
            "  --help           this text\n",
            POLICY_STEADY_ROUNDS_MIN, POLICY_STEADY_SPREAD, BINDS_MIN, BINDS_MAX,
            BINDS_DEFAULT);
}

static void print_workloads(void)
{
    const struct bench_workload *w;
    for (size_t i = 0; (w = bench_workload_at(i)) != NULL; i++)
        printf("%-14s %s\n", w->name, w->description);
}

static bool parse_count(const char *option, const char *text, size_t least, size_t *count)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value < least ||
        value > BINDS_MAX) {
        fprintf(stderr, "faults: %s %s: not a number from %zu to %d\n", option, text,
                least, BINDS_MAX);
        return false;
    }
    *count = value;
    return true;
}

static bool parse_workload(const char *name, const struct bench_workload **workload)
{
    const struct bench_workload *found = bench_workload_find(name);
    if (found == NULL) {
        fprintf(stderr, "faults: --workload %s: unknown; --list shows what there is\n",
                name);
        return false;
    }
    *workload = found;
    return true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"workload", required_argument, NULL, 'w'},
        {"binds", required_argument, NULL, 'n'},
        {"steady", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    enum { USAGE = 2 };
    struct run run = {.workload = bench_workload_at(0), .binds = BINDS_DEFAULT};
    bool json = false;

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'w':
            if (!parse_workload(optarg, &run.workload))
                return USAGE;
            break;
        case 'n':
            /* A single bind is cold, and says nothing about the next one. */
            if (!parse_count("--binds", optarg, BINDS_MIN, &run.binds))
                return USAGE;
            break;
        case 's':
            if (!parse_count("--steady", optarg, 1, &run.steady_binds))
                return USAGE;
            break;
        case 'j':
            json = true;
            break;
        case 'l':
            print_workloads();
            return EXIT_SUCCESS;
        case 'h':
            print_help(stdout);
            return EXIT_SUCCESS;
        default:
            print_help(stderr);
            return USAGE;
        }
    }
    if (optind != argc || run.steady_binds >= run.binds) {
        print_help(stderr);
        return USAGE;
    }

    struct phase phases[PHASES];
    measure(&run);
    split_phases(&run, phases);
    (json ? print_json : print_text)(&run, phases);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

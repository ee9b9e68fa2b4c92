/* What a pair of malloc and free costs for staging blocks that are not touched, with whatever
   malloc the process was started with. Of one size it is measured beside the least that such
   a pair could be: a pop and a push on one bin of the pool, in turns of the same process. */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/estimate.h"
#include "bench/pinned.h"
#include "pool/bins.h"

enum {
    TURNS = 11,
    ONE_PAIRS = 200000, /* of each thread in each turn */
    ONE_BYTES = 1 << 20,
    MIXED_PAIRS = 10000,
    MIXED_LIVE = 8,
    MIXED_LEAST_BYTES = 64 << 10,
    MIXED_OCTAVES = 8, /* up to 16 MiB */
    STEPS = 4096,      /* of mixed, before they repeat */
};

/* Drawn before the clock starts: a generator would be much of what is measured. */
static size_t step_bytes[STEPS];

static struct pool_bin bin;
static struct pool_record records[1 + BENCH_PINNED_MAX]; /* index 0 means "none" */

static void *claim(size_t bytes)
{
    void *block = malloc(bytes);
    if (block == NULL)
        abort();
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

static void run_one(unsigned index)
{
    (void)index;
    for (unsigned i = 0; i < ONE_PAIRS; i++)
        free(claim(ONE_BYTES));
}

/* Threads start at different steps. The first blocks released are none. */
static void run_mixed(unsigned index)
{
    void *live[MIXED_LIVE] = {NULL};
    size_t first = index * (STEPS / BENCH_PINNED_MAX);
    for (size_t i = 0; i < MIXED_PAIRS; i++) {
        free(live[i % MIXED_LIVE]);
        live[i % MIXED_LIVE] = claim(step_bytes[(first + i) % STEPS]);
    }
    for (size_t i = 0; i < MIXED_LIVE; i++)
        free(live[i]);
}

/* A lost race is part of what it costs. */
static void run_bare(unsigned index)
{
    (void)index;
    for (unsigned i = 0; i < ONE_PAIRS; i++) {
        uint32_t block;
        while ((block = pool_bin_pop(&bin, records)) == 0)
            continue;
        while (!pool_bin_push(&bin, records, block))
            continue;
    }
}

struct workload {
    const char *name;
    void (*run)(unsigned index);
    unsigned pairs;
    void (*yardstick)(unsigned index); /* as many pairs; or NULL */
};

static const struct workload workloads[] = {
    {"one", run_one, ONE_PAIRS, run_bare},
    {"mixed", run_mixed, MIXED_PAIRS, NULL},
};

/* Log-uniform but for straight lines between powers of two, which need no libm. */
static void draw_steps(void)
{
    for (size_t i = 0; i < STEPS; i++) {
        size_t octave = (size_t)MIXED_LEAST_BYTES << random() % MIXED_OCTAVES;
        step_bytes[i] = octave + (size_t)random() % octave;
    }
}

static void fill_bin(void)
{
    for (uint32_t index = 1; index <= BENCH_PINNED_MAX; index++)
        if (!pool_bin_push(&bin, records, index))
            abort();
}

static double ns_per_pair(void (*run)(unsigned index), unsigned pairs, unsigned threads)
{
    return bench_pinned_cpu_ns(threads, run) / ((double)pairs * threads);
}

static void print_median(const char *figure, double *values)
{
    printf("%s %.3f\n", figure, policy_estimate_of(values, TURNS).median);
}

static void measure(const struct workload *workload, unsigned threads)
{
    double pair_ns[TURNS], bare_ns[TURNS], ratio[TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        pair_ns[turn] = ns_per_pair(workload->run, workload->pairs, threads);
        if (!workload->yardstick)
            continue;
        bare_ns[turn] = ns_per_pair(workload->yardstick, workload->pairs, threads);
        ratio[turn] = pair_ns[turn] / bare_ns[turn];
    }
    print_median("pair_ns", pair_ns);
    if (workload->yardstick) {
        print_median("bare_ns", bare_ns);
        print_median("pair/bare", ratio);
    }
}

static const char usage_text[] =
    "usage: claims --workload one|mixed [--threads 1|2]\n"
    "\n"
    "Prints the nanoseconds that one malloc and one free take together, thread CPU time "
    "over\n"
    "the pairs of all threads, median of some turns. Nothing is written into the "
    "blocks.\n"
    "\n"
    "  --workload one    blocks of 1 MiB, one at a time; also what a pop and a push on "
    "one "
    "bin\n"
    "                    take, and the ratio\n"
    "  --workload mixed  64 KiB to 16 MiB; 8 blocks are live, and each new one replaces "
    "the\n"
    "                    oldest\n"
    "  --threads N       each pinned to a processor of its own; default 1\n";

static _Noreturn void refuse_usage(void)
{
    fputs(usage_text, stderr);
    exit(2);
}

static const struct workload *workload_named(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(name, workloads[i].name) == 0)
            return &workloads[i];
    refuse_usage();
}

static unsigned threads_of(const char *text)
{
    char *end;
    unsigned long threads = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || threads < 1 || threads > BENCH_PINNED_MAX)
        refuse_usage();
    return (unsigned)threads;
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"workload", required_argument, NULL, 'w'},
        {"threads", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const struct workload *workload = NULL;
    unsigned threads = 1;
    int option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (option == 'w') {
            workload = workload_named(optarg);
        } else if (option == 't') {
            threads = threads_of(optarg);
        } else if (option == 'h') {
            fputs(usage_text, stdout);
            return EXIT_SUCCESS;
        } else {
            refuse_usage();
        }
    }
    if (workload == NULL || optind != count)
        refuse_usage();
    draw_steps();
    fill_bin();
    measure(workload, threads);
    return EXIT_SUCCESS;
}

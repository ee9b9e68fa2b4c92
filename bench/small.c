/* What a pair of malloc and free costs for small blocks, with whatever malloc the process
   was started with. Prints one number, and nothing else, for bench/paired to collect. */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/pinned.h"

enum {
    MILLIONS_DEFAULT = 10,
    MILLIONS_MAX = 10000,
    MILLION = 1000000,
    PAIR_BYTES = 64,
    MIXED_BYTES_MIN = 16,
    MIXED_BYTES_MAX = 1024,
    RING_BLOCKS = 512, /* live at once in each thread */
    STEPS = 4096,      /* of mixed, before they repeat */
};

struct workload {
    const char *name;
    void (*run)(uint64_t pairs);
};

/* Drawn before the clock starts: a generator would be most of what is measured. */
static struct step {
    uint16_t slot;
    uint16_t bytes;
} steps[STEPS];

/* Compiled without builtins; this keeps what is inlined from being elided too. A program
   writes into what it asked for. */
static void *claim(size_t bytes)
{
    char *block = malloc(bytes);
    if (block == NULL)
        abort();
    *block = 1;
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

static void run_pair64(uint64_t pairs)
{
    for (uint64_t i = 0; i < pairs; i++)
        free(claim(PAIR_BYTES));
}

static void run_mixed(uint64_t pairs)
{
    void *ring[RING_BLOCKS] = {NULL};
    for (uint64_t i = 0; i < pairs; i++) {
        const struct step *step = &steps[i % STEPS];
        free(ring[step->slot]);
        ring[step->slot] = claim(step->bytes);
    }
    for (size_t i = 0; i < RING_BLOCKS; i++)
        free(ring[i]);
}

static const struct workload workloads[] = {{"pair64", run_pair64}, {"mixed", run_mixed}};

static void draw_steps(void)
{
    for (size_t i = 0; i < STEPS; i++) {
        steps[i].slot = (uint16_t)(random() % RING_BLOCKS);
        steps[i].bytes = (uint16_t)(MIXED_BYTES_MIN +
                                    random() % (MIXED_BYTES_MAX - MIXED_BYTES_MIN + 1));
    }
}

/* Written before the threads start. */
static const struct workload *workload;
static uint64_t pairs_each = (uint64_t)MILLIONS_DEFAULT * MILLION;
static unsigned thread_count = 1;

static void run_workload(unsigned index)
{
    (void)index;
    workload->run(pairs_each);
}

static double ns_per_pair(void)
{
    return bench_pinned_cpu_ns(thread_count, run_workload) /
           (double)(pairs_each * thread_count);
}

static const char usage_text[] =
    "usage: small --workload pair64|mixed [--threads 1|2] [--millions N]\n"
    "\n"
    "Prints the nanoseconds that one malloc and one free take together: thread CPU time, "
    "not\n"
    "wall time, of all threads over the pairs of all threads.\n"
    "\n"
    "  --workload pair64   one block of 64 bytes at a time\n"
    "  --workload mixed    16 to 1024 bytes; 512 blocks are live, and each new one "
    "replaces\n"
    "                      one of them, in a fixed random order\n"
    "  --threads N         each pinned to a processor of its own; default 1, the main "
    "thread\n"
    "  --millions N        pairs of each thread, in millions; default 10\n";

static _Noreturn void refuse_usage(void)
{
    fputs(usage_text, stderr);
    exit(2);
}

static unsigned number_up_to(const char *text, unsigned most)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || number < 1 || number > most)
        refuse_usage();
    return (unsigned)number;
}

static const struct workload *workload_named(const char *name)
{
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(name, workloads[i].name) == 0)
            return &workloads[i];
    refuse_usage();
}

static void read_arguments(int count, char **arguments)
{
    static const struct option options[] = {
        {"workload", required_argument, NULL, 'w'},
        {"threads", required_argument, NULL, 't'},
        {"millions", required_argument, NULL, 'm'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (option == 'w') {
            workload = workload_named(optarg);
        } else if (option == 't') {
            thread_count = number_up_to(optarg, BENCH_PINNED_MAX);
        } else if (option == 'm') {
            pairs_each = (uint64_t)number_up_to(optarg, MILLIONS_MAX) * MILLION;
        } else if (option == 'h') {
            fputs(usage_text, stdout);
            exit(EXIT_SUCCESS);
        } else {
            refuse_usage();
        }
    }
    if (workload == NULL || optind != count)
        refuse_usage();
}

int main(int count, char **arguments)
{
    read_arguments(count, arguments);
    draw_steps();
    printf("%.3f\n", ns_per_pair());
    return EXIT_SUCCESS;
}

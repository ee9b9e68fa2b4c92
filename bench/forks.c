/* What idle staging memory costs a fork, with whatever malloc the process was started with:
   the time from the fork to the end of the child, beside that of the same process before it
   had such memory, and the page faults of the parent's next bind. Times are the best of
   some, since the others waited for a processor; faults are medians. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "policy/estimate.h"

enum {
    REPEATS = 25,
    TOTAL_BYTES = 64 << 20,
    BLOCKS_MAX = 64,
    CACHE_LINE_BYTES = 64,
};

static char *blocks[BLOCKS_MAX];
static unsigned block_count;
static char *elsewhere; /* as large, and no part of what a fork copies */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "forks: %s\n", what);
    exit(EXIT_FAILURE);
}

static double minor_faults(void)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    return (double)now.ru_minflt;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void write_lines(char *from, size_t bytes)
{
    for (volatile char *line = from; line < from + bytes; line += CACHE_LINE_BYTES)
        *line = 1;
}

/* What a program did before it forks has taken its place in the caches. */
static double fork_us(void)
{
    write_lines(elsewhere, TOTAL_BYTES);
    double before_us = now_us();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        fail("cannot fork");
    return now_us() - before_us;
}

struct bind_faults {
    double claims; /* of the malloc calls: their own records */
    double blocks; /* of the writes into the blocks */
};

static struct bind_faults bind(void)
{
    size_t bytes = TOTAL_BYTES / block_count;
    double start = minor_faults();
    for (unsigned i = 0; i < block_count; i++)
        if (!(blocks[i] = malloc(bytes)))
            fail("out of memory");
    double claimed = minor_faults();
    for (unsigned i = 0; i < block_count; i++)
        write_lines(blocks[i], bytes);
    double written = minor_faults();
    for (unsigned i = 0; i < block_count; i++)
        free(blocks[i]);
    return (struct bind_faults){claimed - start, written - claimed};
}

static void open_elsewhere(void)
{
    void *mapped = mmap(NULL, TOTAL_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (mapped == MAP_FAILED || madvise(mapped, TOTAL_BYTES, MADV_DONTFORK) != 0)
        fail("cannot map memory");
    elsewhere = mapped;
}

static void print_median(const char *figure, double *values)
{
    printf("%s %.4g\n", figure, policy_estimate_of(values, REPEATS).median);
}

static double least(const double values[REPEATS])
{
    double least = values[0];
    for (unsigned i = 1; i < REPEATS; i++)
        if (values[i] < least)
            least = values[i];
    return least;
}

static void measure(void)
{
    double none_us[REPEATS], idle_us[REPEATS], claims[REPEATS], in_blocks[REPEATS];
    (void)fork_us();
    for (unsigned i = 0; i < REPEATS; i++)
        none_us[i] = fork_us();
    (void)bind();
    for (unsigned i = 0; i < REPEATS; i++) {
        idle_us[i] = fork_us();
        struct bind_faults faults = bind();
        claims[i] = faults.claims;
        in_blocks[i] = faults.blocks;
    }
    print_median("claim_faults", claims);
    print_median("block_faults", in_blocks);
    double none_best_us = least(none_us), idle_best_us = least(idle_us);
    printf("none_us %.1f\nidle_us %.1f\nidle/none %.3f\n", none_best_us, idle_best_us,
           idle_best_us / none_best_us);
}

static unsigned blocks_of(const char *text)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);
    return *end == '\0' && count <= BLOCKS_MAX ? (unsigned)count : 0;
}

int main(int count, char **arguments)
{
    block_count = count == 2 ? blocks_of(arguments[1]) : 0;
    if (block_count == 0) {
        fprintf(stderr, "usage: forks BLOCKS, 1 to %d, which 64 MiB are divided into\n",
                BLOCKS_MAX);
        return 2;
    }
    open_elsewhere();
    measure();
    return EXIT_SUCCESS;
}

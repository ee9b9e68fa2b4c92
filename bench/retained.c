/* What a program without a pool of its own pays for its device and page-locked memory. Runs one
   of its habits, with or without the library before it, and prints how often the driver was asked
   to allocate and to free, the time the program spent in its calls for memory, and the most that
   was held. On the simulated driver, which counts; on another the counts are absent. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/pinned.h"

enum {
    LOOP_BLOCKS = 16, /* a round of `loop` */
    PIECES_MOST = 32, /* a set of `staging` */
    SETS = 2,         /* live at once */
    MEGABYTE = 1000000,
    EXIT_TROUBLE = 2,
};

/* The driver's interface, as far as it is needed here. */
typedef int status; /* 0 is success */
typedef uint64_t address;

static status (*initialize)(unsigned flags);
static status (*create)(void **context, unsigned flags, int device);
static status (*set_current)(void *context);
static status (*synchronize)(void);
static status (*allocate)(address *block, size_t bytes);
static status (*release)(address block);
static status (*allocate_host)(void **block, size_t bytes, unsigned flags);
static status (*release_host)(void *block);
static uint64_t (*calls)(const char *symbol); /* NULL: the driver does not count */
static uint64_t (*pinned_bytes)(void);
static void *context;
static unsigned long round_count;
static bool waits; /* for the context, once a round */

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "retained: %s\n", why);
    exit(EXIT_TROUBLE);
}

static void check(status result, const char *what)
{
    if (result != 0)
        fail(what);
}

static void fetch(void *library, const char *name, void *field, bool may_lack)
{
    void *found = dlsym(library, name);
    if (!found && !may_lack)
        fail(name);
    memcpy(field, &found, sizeof found);
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        fail(dlerror());
    fetch(library, "cuInit", &initialize, false);
    fetch(library, "cuCtxCreate_v2", &create, false);
    fetch(library, "cuCtxSetCurrent", &set_current, false);
    fetch(library, "cuCtxSynchronize", &synchronize, false);
    fetch(library, "cuMemAlloc_v2", &allocate, false);
    fetch(library, "cuMemFree_v2", &release, false);
    fetch(library, "cuMemHostAlloc", &allocate_host, false);
    fetch(library, "cuMemFreeHost", &release_host, false);
    fetch(library, "simcuda_oracle_calls", &calls, true);
    fetch(library, "simcuda_oracle_pinned_bytes", &pinned_bytes, true);
    check(initialize(0), "no driver");
    check(create(&context, 0, 0), "no device");
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct counts {
    uint64_t allocations, frees;
};

static struct counts counts_now(void)
{
    if (!calls)
        return (struct counts){0, 0};
    return (struct counts){
        .allocations = calls("cuMemAlloc_v2") + calls("cuMemHostAlloc"),
        .frees = calls("cuMemFree_v2") + calls("cuMemFreeHost"),
    };
}

/* --- loop: a few blocks a round, and one wait for the context --- */

static void run_loop(unsigned index)
{
    address blocks[LOOP_BLOCKS];
    check(set_current(context), "the context cannot be made current");
    for (unsigned long round = 0; round < round_count; round++) {
        for (unsigned i = 0; i < LOOP_BLOCKS; i++)
            check(allocate(&blocks[i], (size_t)(1 + (i + index) % 4) << 20),
                  "an allocation failed");
        if (waits)
            check(synchronize(), "a wait failed");
        for (unsigned i = 0; i < LOOP_BLOCKS; i++)
            check(release(blocks[i]), "a free failed");
    }
}

/* The waits are the program's own and are taken off. */
static double wait_ns(void)
{
    enum { WAITS = 100000 };
    double start = now_ns();
    for (unsigned i = 0; i < WAITS; i++)
        check(synchronize(), "a wait failed");
    return (now_ns() - start) / WAITS;
}

static void measure_loop(unsigned threads)
{
    unsigned long rounds = round_count;
    round_count = 20;
    (void)bench_pinned_cpu_ns(threads, run_loop);
    round_count = rounds;
    struct counts before = counts_now();
    double ns =
        bench_pinned_cpu_ns(threads, run_loop) / ((double)rounds * LOOP_BLOCKS * threads);
    struct counts after = counts_now();
    printf(
        "loop%s threads %u: %.0f ns a pair, %.4f allocations and %.4f frees by the driver"
        " a round\n",
        waits ? "" : " without waits", threads,
        ns - (waits ? wait_ns() / LOOP_BLOCKS : 0),
        (double)(after.allocations - before.allocations) / (double)(rounds * threads),
        (double)(after.frees - before.frees) / (double)(rounds * threads));
}

/* --- staging: 48 to 64 MB of page-locked pieces an iteration, two sets live --- */

struct set {
    void *pieces[PIECES_MOST];
    size_t bytes[PIECES_MOST];
    unsigned count;
};

static uint64_t random_state = 88172645463325252;

static uint64_t dice(uint64_t sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 16) % sides;
}

static double memory_ns; /* in calls for memory */
static uint64_t live_bytes, live_most, pinned_most, asked;

static void free_set(struct set *set)
{
    double start = now_ns();
    for (unsigned i = 0; i < set->count; i++)
        check(release_host(set->pieces[i]), "a free failed");
    memory_ns += now_ns() - start;
    for (unsigned i = 0; i < set->count; i++)
        live_bytes -= set->bytes[i];
    set->count = 0;
}

/* Pieces of 4 MB, give or take a twentieth. */
static void allocate_set(struct set *set)
{
    uint64_t total = (48 + dice(17)) * MEGABYTE, sum = 0;
    while (sum < total && set->count < PIECES_MOST) {
        set->bytes[set->count] = 3800000 + dice(400001);
        sum += set->bytes[set->count++];
    }
    double start = now_ns();
    for (unsigned i = 0; i < set->count; i++)
        check(allocate_host(&set->pieces[i], set->bytes[i], 0), "an allocation failed");
    memory_ns += now_ns() - start;
    asked += set->count;
    for (unsigned i = 0; i < set->count; i++)
        live_bytes += set->bytes[i];
}

static void note_most(void)
{
    if (live_bytes > live_most)
        live_most = live_bytes;
    if (pinned_bytes && pinned_bytes() > pinned_most)
        pinned_most = pinned_bytes();
}

static void measure_staging(void)
{
    static struct set sets[SETS];
    struct counts before = counts_now();
    for (unsigned long round = 0; round < round_count; round++) {
        struct set *set = &sets[round % SETS];
        free_set(set);
        if (waits)
            check(synchronize(), "a wait failed");
        allocate_set(set);
        note_most();
    }
    struct counts after = counts_now();
    printf(
        "staging%s: %llu asked, %llu allocations and %llu frees by the driver, %.3f ms in"
        " calls for memory, most live %.1f MB, most held %.1f MB (%.3f)\n",
        waits ? "" : " without waits", (unsigned long long)asked,
        (unsigned long long)(after.allocations - before.allocations),
        (unsigned long long)(after.frees - before.frees), memory_ns / 1e6,
        (double)live_most / MEGABYTE, (double)pinned_most / MEGABYTE,
        (double)pinned_most / (double)live_most);
}

int main(int count, char **arguments)
{
    char *end = NULL;
    round_count = count > 2 ? strtoul(arguments[2], &end, 10) : 0;
    if (round_count == 0 || (end && *end != '\0')) {
        fputs(
            "usage: [LD_PRELOAD=libtidemark.so] retained loop|staging ROUNDS [nowait]\n",
            stderr);
        return EXIT_TROUBLE;
    }
    waits = count < 4;
    open_driver();
    if (strcmp(arguments[1], "staging") == 0) {
        measure_staging();
        return EXIT_SUCCESS;
    }
    for (unsigned threads = 1; threads <= BENCH_PINNED_MAX; threads++)
        measure_loop(threads);
    return EXIT_SUCCESS;
}

/* What the library adds to a pair of cuMemAlloc and cuMemFree. For a process that is started
   with the library: each round runs the pairs once by the functions that dlsym hands out and
   once by the driver's own, in random order, so that what drifts on the machine meets both
   alike; what is judged is their difference within a round. */
#include <dlfcn.h>
#include <elf.h>
#include <getopt.h>
#include <link.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/estimate.h"
#include "bench/pinned.h"

enum {
    ROUNDS_DEFAULT = 40,
    PAIRS_DEFAULT = 20000, /* of each thread, in a round */
    LIVE_MAX = 1000000,
    BLOCK_BYTES = 512,
    EXIT_OVER = 1,
    EXIT_TROUBLE = 2,
};

static const double bound_ns = 150;

/* The driver's interface, as far as it is needed here. */
typedef int status; /* 0 is success */
typedef uint64_t address;

struct road {
    status (*allocate)(address *block, size_t bytes);
    status (*release)(address block);
};

static struct road through, plain;
static status (*set_current)(void *context);
static void *context;

/* Written before the threads start. */
static const struct road *current_road;
static unsigned long pair_count = PAIRS_DEFAULT;
static size_t round_count = ROUNDS_DEFAULT;

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "pairs: %s\n", why);
    exit(EXIT_TROUBLE);
}

static void fetch(void *library, const char *name, void *field)
{
    void *found = dlsym(library, name);
    if (found == NULL)
        fail(name);
    memcpy(field, &found, sizeof found);
}

/* A table of the driver's: where an entry of this tag points. */
static uintptr_t table_of(const struct link_map *object, ElfW(Sxword) tag)
{
    for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_ptr;
    fail("the driver has no symbol table");
}

/* As the driver's own symbol table has it: dlsym would hand out the library's function.
   The table of names follows that of symbols. */
static void fetch_plain(void *library, const char *name, void *field)
{
    const struct link_map *object = library;
    const char *names = (const char *)table_of(object, DT_STRTAB);
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)table_of(object, DT_SYMTAB);
    for (; (const char *)symbol < names; symbol++) {
        if (symbol->st_shndx == SHN_UNDEF || strcmp(names + symbol->st_name, name) != 0)
            continue;
        uintptr_t found = object->l_addr + symbol->st_value;
        memcpy(field, &found, sizeof found);
        return;
    }
    fail(name);
}

static void open_driver(void)
{
    status (*initialize)(unsigned flags);
    status (*create)(void **created, unsigned flags, int device);
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL)
        fail(dlerror());
    fetch(library, "cuInit", &initialize);
    fetch(library, "cuCtxCreate_v2", &create);
    fetch(library, "cuCtxSetCurrent", &set_current);
    fetch(library, "cuMemAlloc_v2", &through.allocate);
    fetch(library, "cuMemFree_v2", &through.release);
    fetch_plain(library, "cuMemAlloc_v2", &plain.allocate);
    fetch_plain(library, "cuMemFree_v2", &plain.release);
    if (through.allocate == plain.allocate || through.release == plain.release)
        fail("the driver's own functions were handed out: is the library preloaded?");
    if (initialize(0) != 0 || create(&context, 0, 0) != 0)
        fail("no device");
}

static address allocate(const struct road *road)
{
    address block = 0;
    if (road->allocate(&block, BLOCK_BYTES) != 0)
        fail("an allocation failed");
    return block;
}

static void release(const struct road *road, address block)
{
    if (road->release(block) != 0)
        fail("a free failed");
}

static void run_pairs(unsigned index)
{
    (void)index;
    if (set_current(context) != 0)
        fail("the context cannot be made current");
    for (unsigned long i = 0; i < pair_count; i++)
        release(current_road, allocate(current_road));
}

static double pair_ns(const struct road *road, unsigned threads)
{
    current_road = road;
    return bench_pinned_cpu_ns(threads, run_pairs) / ((double)pair_count * threads);
}

static size_t live_count; /* so far */

struct samples {
    double plain_ns[POLICY_ESTIMATE_SAMPLES_MAX];
    double through_ns[POLICY_ESTIMATE_SAMPLES_MAX];
    double added_ns[POLICY_ESTIMATE_SAMPLES_MAX];
};

static void run_rounds(struct samples *samples, unsigned threads)
{
    for (size_t round = 0; round < round_count; round++) {
        bool plain_first = random() % 2 == 0;
        if (plain_first)
            samples->plain_ns[round] = pair_ns(&plain, threads);
        samples->through_ns[round] = pair_ns(&through, threads);
        if (!plain_first)
            samples->plain_ns[round] = pair_ns(&plain, threads);
        samples->added_ns[round] = samples->through_ns[round] - samples->plain_ns[round];
    }
}

static struct policy_estimate print_estimate(const char *name, double *values)
{
    struct policy_estimate value = policy_estimate_of(values, round_count);
    printf(" %s %.0f [%.0f-%.0f]", name, value.median, values[0],
           values[round_count - 1]);
    return value;
}

/* Within: the median may be at or below the bound for all that the rounds tell. */
static bool measure(unsigned threads)
{
    static struct samples samples;
    run_rounds(&samples, threads);
    printf("live %zu threads %u:", live_count, threads);
    print_estimate("plain", samples.plain_ns);
    print_estimate("through", samples.through_ns);
    struct policy_estimate added = print_estimate("added", samples.added_ns);
    bool is_within = added.low <= bound_ns;
    printf(" ns, 90 %% of the median in %.0f-%.0f: %s %.0f ns\n", added.low, added.high,
           is_within ? "within" : "over", bound_ns);
    fflush(stdout);
    return is_within;
}

static unsigned long number_of(const char *text, unsigned long least, unsigned long most)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > most) {
        fputs(
            "usage: LD_PRELOAD=libtidemark.so pairs [--rounds N] [--pairs N]"
            " [LIVE...]\n"
            "\n"
            "Prints what a pair of allocation and free takes, in nanoseconds of "
            "processor\n"
            "time, with so many allocations live (default 0, 1000 and 100000), in one\n"
            "thread and in two: median [min-max] of the rounds.\n"
            "Exit status: 1 when the library adds more than its bound, 2 for trouble.\n",
            stderr);
        exit(EXIT_TROUBLE);
    }
    return number;
}

static void read_options(int count, char **arguments)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'},
        {"pairs", required_argument, NULL, 'p'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        if (option == 'r')
            round_count = number_of(optarg, POLICY_ESTIMATE_SAMPLES_MIN,
                                    POLICY_ESTIMATE_SAMPLES_MAX);
        else if (option == 'p')
            pair_count = number_of(optarg, 1, 1000000000);
        else
            number_of("", 0, 0);
    }
}

static bool measure_with(const char *live)
{
    size_t wanted = number_of(live, live_count, LIVE_MAX);
    for (; live_count < wanted; live_count++)
        (void)allocate(&through);
    bool is_within = true;
    for (unsigned threads = 1; threads <= BENCH_PINNED_MAX; threads++)
        is_within = measure(threads) && is_within;
    return is_within;
}

int main(int count, char **arguments)
{
    static const char *const lives[] = {"0", "1000", "100000"};
    bool is_within = true;
    read_options(count, arguments);
    open_driver();
    for (int i = optind; i < count; i++)
        is_within = measure_with(arguments[i]) && is_within;
    for (size_t i = 0; optind == count && i < sizeof lives / sizeof *lives; i++)
        is_within = measure_with(lives[i]) && is_within;
    return is_within ? EXIT_SUCCESS : EXIT_OVER;
}

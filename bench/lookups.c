/* What the library adds to finding a function: by dlsym and by cuGetProcAddress, of names that it
   stands before and of others. For a process that is started with the library: each round asks once
   through it and once past it, in random order, so that what drifts on the machine meets both
   alike; what is judged is their difference within a round. */
#include <dlfcn.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/pinned.h"
#include "policy/estimate.h"

enum {
    ROUNDS_DEFAULT = 40,
    LOOKUPS_DEFAULT = 5000, /* in a round */
    VERSION = 13000,
    EXIT_OVER = 1,
    EXIT_TROUBLE = 2,
};

static const double bound_ns = 1000;

typedef void *by_symbol(void *handle, const char *name);
typedef int by_name(const char *name, void **function, int version, uint64_t flags,
                    int *status);

/* The ways through the library and past it. */
static by_symbol *symbol_through, *symbol_past;
static by_name *name_through, *name_past;
static void *driver;

static unsigned long lookup_count = LOOKUPS_DEFAULT;
static size_t round_count = ROUNDS_DEFAULT;

/* What one round asks. */
static struct {
    by_symbol *symbol; /* NULL: by name */
    by_name *name;
    void *handle;
    const char *what;
} now;

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "lookups: %s\n", why);
    exit(EXIT_TROUBLE);
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* The first of each kind, which finds the driver's functions, and so on: once in a process. */
static void open_driver(void)
{
    void *function;
    int status;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (driver == NULL)
        fail(dlerror());
    symbol_through = dlsym;
    function = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "dlsym");
    memcpy(&symbol_past, &function, sizeof function);
    double started_us = now_us();
    function = dlsym(driver, "cuGetProcAddress_v2");
    double first_symbol_us = now_us() - started_us;
    memcpy(&name_through, &function, sizeof function);
    function = symbol_past(driver, "cuGetProcAddress_v2");
    memcpy(&name_past, &function, sizeof function);
    if (name_through == name_past)
        fail("the driver's own function was handed out: is the library preloaded?");
    started_us = now_us();
    if (name_through("cuMemAlloc", &function, VERSION, 0, &status) != 0)
        fail("cuMemAlloc is not found");
    printf("first dlsym %.1f us, first cuGetProcAddress %.1f us\n", first_symbol_us,
           now_us() - started_us);
}

static void look_up(unsigned index)
{
    void *function = NULL;
    int status;
    (void)index;
    for (unsigned long i = 0; i < lookup_count; i++) {
        if (now.symbol != NULL)
            function = now.symbol(now.handle, now.what);
        else if (now.name(now.what, &function, VERSION, 0, &status) != 0)
            function = NULL;
        if (function == NULL)
            fail(now.what);
    }
}

static double lookup_ns(bool through)
{
    bool by_symbols = now.symbol != NULL;
    now.symbol = !by_symbols ? NULL : through ? symbol_through : symbol_past;
    now.name = through ? name_through : name_past;
    return bench_pinned_cpu_ns(1, look_up) / (double)lookup_count;
}

struct samples {
    double past_ns[POLICY_ESTIMATE_SAMPLES_MAX];
    double through_ns[POLICY_ESTIMATE_SAMPLES_MAX];
    double added_ns[POLICY_ESTIMATE_SAMPLES_MAX];
};

static void run_rounds(struct samples *samples)
{
    for (size_t round = 0; round < round_count; round++) {
        bool past_first = random() % 2 == 0;
        if (past_first)
            samples->past_ns[round] = lookup_ns(false);
        samples->through_ns[round] = lookup_ns(true);
        if (!past_first)
            samples->past_ns[round] = lookup_ns(false);
        samples->added_ns[round] = samples->through_ns[round] - samples->past_ns[round];
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
static bool measure(const char *label)
{
    static struct samples samples;
    run_rounds(&samples);
    printf("%s:", label);
    print_estimate("past", samples.past_ns);
    print_estimate("through", samples.through_ns);
    struct policy_estimate added = print_estimate("added", samples.added_ns);
    bool is_within = added.low <= bound_ns;
    printf(" ns, 90 %% of the median in %.0f-%.0f: %s %.0f ns\n", added.low, added.high,
           is_within ? "within" : "over", bound_ns);
    fflush(stdout);
    return is_within;
}

static bool measure_symbol(const char *label, void *handle, const char *name)
{
    now.symbol = symbol_through;
    now.handle = handle;
    now.what = name;
    return measure(label);
}

static bool measure_name(const char *label, const char *name)
{
    now.symbol = NULL;
    now.what = name;
    return measure(label);
}

static unsigned long number_of(const char *text, unsigned long least, unsigned long most)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || number < least || number > most) {
        fputs(
            "usage: LD_PRELOAD=libtidemark.so lookups [--rounds N] [--lookups N]\n"
            "\n"
            "Prints what finding a function takes, in nanoseconds of processor time:\n"
            "median [min-max] of the rounds; and what the first ones took.\n"
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
        {"lookups", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
        if (option == 'r')
            round_count = number_of(optarg, POLICY_ESTIMATE_SAMPLES_MIN,
                                    POLICY_ESTIMATE_SAMPLES_MAX);
        else if (option == 'l')
            lookup_count = number_of(optarg, 1, 1000000000);
        else
            number_of("", 0, 0);
    }
}

int main(int count, char **arguments)
{
    void *libm = dlopen("libm.so.6", RTLD_NOW);
    bool is_within = true;
    read_options(count, arguments);
    open_driver();
    is_within = measure_symbol("dlsym, not the driver's", libm, "sin") && is_within;
    is_within = measure_symbol("dlsym, not hooked", driver, "cuDeviceGet") && is_within;
    is_within = measure_symbol("dlsym, hooked", driver, "cuMemAlloc_v2") && is_within;
    is_within = measure_symbol("dlsym in scope, hooked", RTLD_DEFAULT, "cuMemAlloc_v2") &&
                is_within;
    is_within = measure_name("cuGetProcAddress, not hooked", "cuDeviceGet") && is_within;
    is_within = measure_name("cuGetProcAddress, hooked", "cuMemAlloc") && is_within;
    is_within =
        measure_name("cuGetProcAddress, of itself", "cuGetProcAddress") && is_within;
    return is_within ? EXIT_SUCCESS : EXIT_OVER;
}

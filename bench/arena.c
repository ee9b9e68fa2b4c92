/* What a claim of the arena costs beside the least that it could be: a compare-exchange that
   moves a cursor on and checks nothing. Both in turns of the same process. */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/estimate.h"
#include "bench/pinned.h"
#include "pool/arena.h"

enum {
    TURNS = 31,
    CLAIMS = 500000, /* of each thread in each turn */
    IMAGE_BYTES = 100,
    PREFIX_BYTES = 32,
    ALIGN = 16,
    PIECE_BYTES = 144,
};

static struct pool_arena arena;
static struct {
    _Alignas(64) _Atomic size_t used_bytes;
} bare;

static void run_arena(unsigned index)
{
    (void)index;
    for (unsigned i = 0; i < CLAIMS; i++) {
        size_t offset, image = IMAGE_BYTES;
        __asm__ volatile("" : "+r"(image));
        if (!pool_arena_claim(&arena, image, &offset))
            abort();
        __asm__ volatile("" : : "r"(offset));
    }
}

static void run_bare(unsigned index)
{
    (void)index;
    for (unsigned i = 0; i < CLAIMS; i++) {
        size_t piece = PIECE_BYTES;
        __asm__ volatile("" : "+r"(piece));
        size_t used = atomic_load_explicit(&bare.used_bytes, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&bare.used_bytes, &used,
                                                      used + piece, memory_order_relaxed,
                                                      memory_order_relaxed))
            continue;
        __asm__ volatile("" : : "r"(used));
    }
}

static double ns_per_claim(void (*run)(unsigned index), unsigned threads)
{
    return bench_pinned_cpu_ns(threads, run) / ((double)CLAIMS * threads);
}

static void print(const char *figure, double *values)
{
    struct policy_estimate estimate = policy_estimate_of(values, TURNS);
    printf("%s %.3f [%.3f-%.3f]\n", figure, estimate.median, estimate.low, estimate.high);
}

static void measure(unsigned threads)
{
    static const struct pool_arena_shape shape = {PREFIX_BYTES, ALIGN};
    double claim_ns[TURNS], bare_ns[TURNS], ratio[TURNS];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        /* Nothing is touched, so the block need not be there. */
        pool_arena_open(&arena, &arena, SIZE_MAX, shape);
        claim_ns[turn] = ns_per_claim(run_arena, threads);
        bare_ns[turn] = ns_per_claim(run_bare, threads);
        ratio[turn] = claim_ns[turn] / bare_ns[turn];
    }
    printf("threads %u\n", threads);
    print("claim_ns", claim_ns);
    print("bare_ns", bare_ns);
    print("claim/bare", ratio);
}

static const char usage_text[] =
    "usage: arena\n"
    "\n"
    "Prints the nanoseconds of processor time that one claim of the arena takes on one "
    "and "
    "on two\n"
    "pinned threads, those of a bare compare-exchange that moves a cursor, and the "
    "ratio, "
    "measured\n"
    "in turns: medians of 31 turns with their 90 % intervals.\n";

int main(int count, char **arguments)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option = getopt_long(count, arguments, "", options, NULL);
    if (option != -1 || optind != count) {
        fputs(usage_text, option == 'h' ? stdout : stderr);
        return option == 'h' ? EXIT_SUCCESS : 2;
    }
    for (unsigned threads = 1; threads <= BENCH_PINNED_MAX; threads++)
        measure(threads);
    return EXIT_SUCCESS;
}

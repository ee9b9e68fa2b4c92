#include "bench/workloads.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crew.h"

enum {
    CACHE_LINE_BYTES = 64,
    PAGE_BYTES = 4096,

    DEFINITIONS = 8,
    DEFINITION_BYTES = 129024,
    MIRROR_BYTES = 82460928,
    MIRROR_WRITTEN_BYTES = MIRROR_BYTES / 1000 * 35, /* 3.5 % of it */

    SCATTERED_PAGES = 28, /* of which one is written */

    ARGUMENTS = 8,

    SURVIVORS = 24, /* small blocks that each bind leaves for the next SURVIVED_BINDS */
    SURVIVED_BINDS = 32,
    SURVIVOR_MIN_BYTES = 1 << 10,
    SURVIVOR_MAX_BYTES = 16 << 10,

    CHURN_BUFFERS = 32,
    CHURN_LIVE = 8,
    CHURN_MIN_BYTES = 64 << 10,
    CHURN_OCTAVES = 8, /* up to 16 MiB */

    FRAMES = 8,
    FRAMES_IN_FLIGHT = 3,
    FRAME_1080_BYTES = 1920 * 1080 * 3 / 2,
    FRAME_4K_BYTES = 3840 * 2160 * 3 / 2,

    GROWTH_FROM_BYTES = 4 << 10,
    GROWTH_TO_BYTES = 64 << 20,

    SMALL_BLOCKS = 100000,
    SMALL_LIVE = 64,
    SMALL_MIN_BYTES = 16,
    SMALL_MAX_BYTES = 1024,
};

static const size_t argument_bytes[ARGUMENTS] = {
    64 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20,
};

/* One of everything, since workloads run one at a time; a bind allocates no records. */
static struct {
    char *definitions[DEFINITIONS];
    char *mirror;
    char *arguments[ARGUMENTS];
    char *survivors[SURVIVED_BINDS][SURVIVORS];
    unsigned survivor_row;
    uint64_t random;
} scene = {.random = 0x7469646d61726bU};

/* xorshift64*: the same numbers on every machine, without rand()'s hidden state. */
static uint64_t random_next(void)
{
    scene.random ^= scene.random >> 12;
    scene.random ^= scene.random << 25;
    scene.random ^= scene.random >> 27;
    return scene.random * 0x2545f4914f6cdd1dU >> 32;
}

static size_t random_between(size_t low, size_t high)
{
    return low + random_next() % (high - low + 1);
}

static size_t jittered(size_t bytes)
{
    return bytes / 100 * random_between(75, 125);
}

static char *need(void *block)
{
    if (block == NULL)
        bench_fail("out of memory");
    return block;
}

/* One store in every cache line, which no compiler may drop. */
static void write_lines(char *from, const char *end)
{
    for (volatile char *line = from; line < (volatile const char *)end;
         line += CACHE_LINE_BYTES)
        *line = 1;
}

static char *written(size_t bytes)
{
    char *block = need(malloc(bytes));
    write_lines(block, block + bytes);
    return block;
}

static void release(char **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

/* The parts of a bind. */

static void make_definitions(size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        scene.definitions[i] = written(DEFINITION_BYTES);
}

static void make_mirror(void *block)
{
    scene.mirror = need(block);
    write_lines(scene.mirror, scene.mirror + MIRROR_WRITTEN_BYTES);
}

static void make_arguments(void)
{
    for (size_t i = 0; i < ARGUMENTS; i++)
        scene.arguments[i] = written(argument_bytes[i]);
}

/* Last made, first released, as the scopes of a program end. The order matters to a
   malloc that keeps what lies below the last live block. */
static void release_all(void)
{
    release(scene.arguments, ARGUMENTS);
    release(&scene.mirror, 1);
    release(scene.definitions, DEFINITIONS);
}

/* The binds, one function each. */

static void bind_plain(void)
{
    make_mirror(malloc(MIRROR_BYTES));
    make_definitions(0, DEFINITIONS);
    make_arguments();
    release_all();
}

static void bind_calloc(void)
{
    make_mirror(calloc(1, MIRROR_BYTES));
    make_definitions(0, DEFINITIONS);
    make_arguments();
    release_all();
}

static void make_half_of_definitions(unsigned worker)
{
    make_definitions(worker * (DEFINITIONS / 2), DEFINITIONS / 2);
}

static void bind_threads(void)
{
    bench_crew_run(make_half_of_definitions);
    make_mirror(malloc(MIRROR_BYTES));
    make_arguments();
    release_all();
}

static void bind_on_worker(unsigned worker)
{
    (void)worker;
    bind_plain();
}

static void bind_worker(void)
{
    bench_crew_run(bind_on_worker);
}

static void bind_spawn(void)
{
    bench_crew_start(2);
    bench_crew_run(make_half_of_definitions);
    bench_crew_stop();
    make_mirror(malloc(MIRROR_BYTES));
    make_arguments();
    release_all();
}

static void bind_survivors(void)
{
    char **row = scene.survivors[scene.survivor_row];
    scene.survivor_row = (scene.survivor_row + 1) % SURVIVED_BINDS;
    release(row, SURVIVORS);
    for (size_t i = 0; i < SURVIVORS; i++)
        row[i] = written(random_between(SURVIVOR_MIN_BYTES, SURVIVOR_MAX_BYTES));

    for (size_t i = 0; i < DEFINITIONS; i++)
        scene.definitions[i] = written(jittered(DEFINITION_BYTES));
    make_mirror(malloc(MIRROR_BYTES));
    for (size_t i = 0; i < ARGUMENTS; i++)
        scene.arguments[i] = written(jittered(argument_bytes[i]));
    release_all();
}

static void bind_scattered(void)
{
    scene.mirror = need(malloc(MIRROR_BYTES));
    for (size_t at = 0; at + PAGE_BYTES <= MIRROR_BYTES;
         at += SCATTERED_PAGES * PAGE_BYTES)
        write_lines(scene.mirror + at, scene.mirror + at + PAGE_BYTES);
    release(&scene.mirror, 1);
}

/* Log-uniform but for straight lines between powers of two, which need no libm. */
static size_t churn_bytes(void)
{
    size_t octave = (size_t)CHURN_MIN_BYTES << random_next() % CHURN_OCTAVES;
    return random_between(octave, 2 * octave);
}

static void bind_churn(void)
{
    char *live[CHURN_LIVE] = {NULL};
    for (size_t i = 0; i < CHURN_BUFFERS; i++) {
        release(&live[i % CHURN_LIVE], 1);
        live[i % CHURN_LIVE] = written(churn_bytes());
    }
    release(live, CHURN_LIVE);
}

static void play(size_t frame_bytes)
{
    char *flight[FRAMES_IN_FLIGHT] = {NULL};
    for (size_t i = 0; i < FRAMES; i++) {
        release(&flight[i % FRAMES_IN_FLIGHT], 1);
        flight[i % FRAMES_IN_FLIGHT] = written(frame_bytes);
    }
    release(flight, FRAMES_IN_FLIGHT);
}

static void bind_video1080(void)
{
    play(FRAME_1080_BYTES);
}

static void bind_video4k(void)
{
    play(FRAME_4K_BYTES);
}

static void bind_growth(void)
{
    char *block = NULL;
    size_t written_bytes = 0;
    for (size_t bytes = GROWTH_FROM_BYTES; written_bytes < GROWTH_TO_BYTES;
         bytes += bytes / 2) {
        if (bytes > GROWTH_TO_BYTES)
            bytes = GROWTH_TO_BYTES;
        block = need(realloc(block, bytes));
        write_lines(block + written_bytes, block + bytes);
        written_bytes = bytes;
    }
    free(block);
}

static void bind_small(void)
{
    char *live[SMALL_LIVE] = {NULL};
    for (size_t i = 0; i < SMALL_BLOCKS; i++) {
        release(&live[i % SMALL_LIVE], 1);
        live[i % SMALL_LIVE] = written(random_between(SMALL_MIN_BYTES, SMALL_MAX_BYTES));
    }
    release(live, SMALL_LIVE);
}

/* clang-format off */
static const struct bench_workload workloads[] = {
    {"bind", "8 definitions of 126 KB, a mirror of 82 MB written to 3.5 %, 8 arguments of 64 KB-4 MB",
     0, bind_plain},
    {"bind-calloc", "bind, its mirror from calloc", 0, bind_calloc},
    {"bind-mt", "bind, its definitions made by 2 persistent threads", 2, bind_threads},
    {"bind-thr", "bind, all of it on 1 persistent thread", 1, bind_worker},
    {"bind-spawn", "bind, its definitions made by 2 threads started for each bind", 0, bind_spawn},
    {"bind-surv", "bind, definitions and arguments vary by 25 %, 24 blocks of 1-16 KB live on for 32 binds",
     0, bind_survivors},
    {"bind-scattered", "a mirror of 82 MB, one page in 28 of it written", 0, bind_scattered},
    {"churn", "32 buffers of 64 KB-16 MB, log-uniform, 8 live at once", 0, bind_churn},
    {"video1080", "8 frames of 3.1 MB, 3 in flight", 0, bind_video1080},
    {"video4k", "8 frames of 12.4 MB, 3 in flight", 0, bind_video4k},
    {"growth", "one block grown by realloc from 4 KB to 64 MB, 1.5 times each", 0, bind_growth},
    {"small", "100,000 blocks of 16-1024 bytes, 64 live at once", 0, bind_small},
};
/* clang-format on */

const struct bench_workload *bench_workload_at(size_t index)
{
    return index < sizeof workloads / sizeof *workloads ? &workloads[index] : NULL;
}

const struct bench_workload *bench_workload_find(const char *name)
{
    for (size_t i = 0; bench_workload_at(i) != NULL; i++)
        if (strcmp(workloads[i].name, name) == 0)
            return &workloads[i];
    return NULL;
}

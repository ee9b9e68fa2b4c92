/* What a program sees at a ceiling on its heap, one case a run: heap_ceiling CASE [ARGUMENT...].
   Prints one line. Everything it keeps of its own lies in static memory. Knows nothing of any
   allocator. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 19, MIB = 1 << 20, THREADS = 8 };

static unsigned char *blocks[MOST];
static char output[BUFSIZ];

static bool all_are(const unsigned char *bytes, unsigned char value, size_t size)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void *by_malloc(size_t size)
{
    return malloc(size);
}

static void *by_calloc(size_t size)
{
    return calloc(size / 16, 16);
}

static void *by_realloc(size_t size)
{
    return realloc(NULL, size);
}

static void *by_memalign(size_t size)
{
    return memalign(4096, size);
}

static void *by_aligned_alloc(size_t size)
{
    return aligned_alloc(128, size);
}

/* Returns its error, and leaves the pointer and errno alone. */
static void *by_posix_memalign(size_t size)
{
    void *block = &blocks;
    errno = 77;
    int error = posix_memalign(&block, 4096, size);
    if (error == 0)
        return block;
    errno = error == ENOMEM && errno == 77 && block == &blocks ? ENOMEM : -1;
    return NULL;
}

static const struct way {
    const char *name;
    void *(*allocate)(size_t size);
} ways[] = {
    {"malloc", by_malloc},
    {"calloc", by_calloc},
    {"realloc", by_realloc},
    {"memalign", by_memalign},
    {"aligned_alloc", by_aligned_alloc},
    {"posix_memalign", by_posix_memalign},
    {NULL, NULL},
};

static const struct way *way_named(const char *name)
{
    const struct way *way = ways;
    while (way->name && strcmp(way->name, name) != 0)
        way++;
    if (!way->name)
        _exit(3);
    return way;
}

/* Fills blocks[from...] until memory is refused, or `most` are there; how many there are. */
static size_t fill(void *(*allocate)(size_t), size_t size, size_t from, size_t most)
{
    size_t count = from;
    while (count < most && (blocks[count] = allocate(size)))
        memset(blocks[count++], 1, size);
    return count;
}

static void empty(size_t from, size_t count)
{
    for (size_t i = from; i < count; i++)
        free(blocks[i]);
}

/* WAY SIZE COUNT: how many of COUNT are granted, and why the first was not. */
static void steps(char **arguments)
{
    const struct way *way = way_named(arguments[0]);
    size_t size = strtoul(arguments[1], NULL, 10),
           count = strtoul(arguments[2], NULL, 10);
    size_t granted = fill(way->allocate, size, 0, count), refused = 0;
    int error = granted < count ? errno : 0;
    for (size_t i = granted + 1; i < count && i <= granted + 1000; i++)
        refused += !way->allocate(size) && errno == ENOMEM;
    printf("granted %zu refused %zu error %d\n", granted, refused + (granted < count),
           error);
    empty(0, granted);
}

/* ROUNDS SIZE COUNT: as often, then all is given back. */
static void rounds(char **arguments)
{
    size_t size = strtoul(arguments[1], NULL, 10),
           count = strtoul(arguments[2], NULL, 10);
    for (unsigned long round = strtoul(arguments[0], NULL, 10); round > 0; round--) {
        empty(0, fill(by_malloc, size, 0, count));
        malloc_trim(0);
    }
    malloc_trim(0);
    printf("done\n");
}

/* HELD SIZE: a block that cannot grow keeps its place and contents. */
static void growth(char **arguments)
{
    size_t held = strtoul(arguments[0], NULL, 10), size = strtoul(arguments[1], NULL, 10);
    unsigned char *block = malloc(held);
    memset(block, 7, held);
    errno = 0;
    unsigned char *grown = realloc(block, size);
    bool refused = !grown && errno == ENOMEM;
    printf("refused %d intact %d", refused, refused && all_are(block, 7, held));
    grown = refused ? realloc(block, held + 1) : grown;
    printf(" usable %d\n", grown && all_are(grown, 7, held));
    free(grown);
}

/* At the ceiling a program goes on with what it has. */
static void life(char **arguments)
{
    (void)arguments;
    size_t small = fill(by_malloc, 100, 0, 1000);
    size_t count = fill(by_malloc, 100000, small, MOST);
    count = fill(by_malloc, 5000, count, MOST);
    size_t full = fill(by_malloc, 100, count, MOST);
    empty(500, small);
    size_t again = fill(by_malloc, 100, 500, small);
    free(blocks[full - 1]);
    bool one = (blocks[full - 1] = malloc(100)) != NULL;
    free(blocks[small]);
    bool large = (blocks[small] = calloc(1, 100000)) && all_are(blocks[small], 0, 100000);
    printf("small again %d one %d large %d\n", again == small, one, large);
}

/* FIRST COUNT SECOND COUNT: what one size leaves idle serves the other. */
static void turns(char **arguments)
{
    size_t first = strtoul(arguments[0], NULL, 10),
           second = strtoul(arguments[2], NULL, 10);
    size_t count = fill(by_malloc, first, 0, strtoul(arguments[1], NULL, 10));
    empty(0, count);
    size_t then = fill(by_malloc, second, 0, strtoul(arguments[3], NULL, 10));
    printf("first %zu second %zu\n", count, then);
}

static pthread_barrier_t barrier;

/* Claims and gives back sizes of all kinds; each block holds what this thread wrote. */
static void *race(void *argument)
{
    static const size_t sizes[] = {24, 4000, 40000, 70000, 300000, 1 << 20, 3 << 20};
    enum { HELD = 5, ROUNDS = 20000 };
    unsigned char *held[HELD] = {NULL}, own = (unsigned char)(uintptr_t)argument;
    size_t size[HELD] = {0};
    bool sound = true;
    free(malloc(1));
    pthread_barrier_wait(&barrier);
    unsigned seed = own;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned which = (unsigned)rand_r(&seed) % HELD;
        if (held[which]) {
            sound = sound && held[which][0] == own && held[which][size[which] - 1] == own;
            free(held[which]);
            held[which] = NULL;
        } else {
            size[which] = sizes[(unsigned)rand_r(&seed) % 7];
            held[which] = malloc(size[which]);
            if (held[which])
                held[which][0] = held[which][size[which] - 1] = own;
        }
    }
    for (unsigned i = 0; i < HELD; i++)
        free(held[i]);
    return (void *)(uintptr_t)sound;
}

static void threads(char **arguments)
{
    (void)arguments;
    pthread_t thread[THREADS];
    bool sound = true;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, race, (void *)(i + 1));
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        sound = sound && result;
    }
    printf("sound %d\n", sound);
}

/* The first thing that these threads do with memory, they do when there is none. */
static void *late(void *argument)
{
    pthread_barrier_wait(&barrier);
    free(argument);
    void *block = malloc(100000);
    free(block);
    return block;
}

static void late_threads(char **arguments)
{
    (void)arguments;
    pthread_t thread[THREADS];
    unsigned got = 0;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, late, i % 2 ? malloc(10) : NULL);
    size_t count = fill(by_malloc, 30000, 0, MOST);
    for (size_t size = 8000; size >= 16; size /= 2)
        count = fill(by_malloc, size, count, MOST);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        got += result != NULL;
    }
    printf("ended %d got %u\n", THREADS, got);
}

/* LIVE IDLE: how much a child and then its parent still get, in MiB. */
static void child(char **arguments)
{
    size_t live = strtoul(arguments[0], NULL, 10), idle = strtoul(arguments[1], NULL, 10);
    fill(by_malloc, MIB, 0, live);
    empty(live, fill(by_malloc, MIB, live, live + idle));
    fflush(stdout);
    pid_t process = fork();
    size_t got = fill(by_malloc, MIB, live, MOST) - live;
    if (process == 0)
        _exit((int)got);
    int status = 0;
    waitpid(process, &status, 0);
    printf("child %d parent %zu\n", WEXITSTATUS(status), got);
}

static long address_space_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmSize: %ld", &kib) == 1)
            break;
    fclose(file);
    return kib;
}

/* SIZE COUNT: what refused requests take of the address space, in MiB. */
static void space(char **arguments)
{
    size_t size = strtoul(arguments[0], NULL, 10);
    void *first = malloc(size);
    long before = address_space_kib();
    unsigned refused = !first;
    for (unsigned long count = strtoul(arguments[1], NULL, 10); count > 0; count--)
        refused += !malloc(size);
    printf("refused %u space %ld\n", refused, (address_space_kib() - before) >> 10);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int arguments;
        void (*run)(char **arguments);
    } cases[] = {
        {"steps", 3, steps}, {"rounds", 3, rounds},     {"growth", 2, growth},
        {"life", 0, life},   {"turns", 4, turns},       {"threads", 0, threads},
        {"child", 2, child}, {"late", 0, late_threads}, {"space", 2, space},
    };
    setvbuf(stdout, output, _IOFBF, sizeof(output));
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0 && argc == 2 + cases[i].arguments) {
            cases[i].run(argv + 2);
            return 0;
        }
    return 2;
}

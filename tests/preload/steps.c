/* A program made of steps, for what the kernel limits:

     steps STEP [ARGUMENT...] STEP [ARGUMENT...] ...

   The table at the end names the steps. What a step finds out it prints as "NAME=VALUE" on one
   line; at the end every block that was kept must hold what was written into it. Knows nothing
   of any allocator. */
#define _GNU_SOURCE
#include "steps.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

enum { BLOCKS = 4096 };

struct block {
    unsigned char *bytes;
    size_t size;
};

/* The blocks that `free` will free, and those that stay to the end. */
static struct block held[BLOCKS], kept[BLOCKS];
static size_t held_count, kept_count;

size_t step_size(const char *text)
{
    char *unit;
    size_t size = strtoul(text, &unit, 10);
    return *unit == 'G'   ? size << 30
           : *unit == 'M' ? size << 20
           : *unit == 'K' ? size << 10
                          : size;
}

void step_say(const char *name, long value)
{
    static bool said;
    printf("%s%s=%ld", said ? " " : "", name, value);
    said = true;
}

static bool all_are(const unsigned char *bytes, unsigned char value, size_t size)
{
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* Allocates until there are `count` more or memory is refused. */
static size_t take(size_t count, size_t size, bool zeroed, bool written)
{
    size_t got = 0;
    for (; got < count && held_count < BLOCKS; got++) {
        unsigned char *bytes = zeroed ? calloc(1, size) : malloc(size);
        if (!bytes)
            break;
        if (written)
            memset(bytes, 7, size);
        held[held_count++] = (struct block){bytes, size};
    }
    return got;
}

static void claim(char **arguments)
{
    step_say("claimed", (long)take(strtoul(arguments[0], NULL, 10),
                                   step_size(arguments[1]), false, true));
}

static void reserve(char **arguments)
{
    step_say("reserved", (long)take(strtoul(arguments[0], NULL, 10),
                                    step_size(arguments[1]), false, false));
}

/* One page in sixteen is written. */
static void sparse(char **arguments)
{
    size_t size = step_size(arguments[1]), first = held_count;
    step_say("sparse", (long)take(strtoul(arguments[0], NULL, 10), size, false, false));
    for (; first < held_count; first++)
        for (size_t at = 0; at < size; at += 16 * PAGE)
            held[first].bytes[at] = 1;
}

static void say_zero(size_t first)
{
    bool zero = true;
    for (; first < held_count; first++)
        zero = zero && all_are(held[first].bytes, 0, held[first].size);
    step_say("zero", zero);
}

static void zeroed(char **arguments)
{
    size_t first = held_count;
    step_say("zeroed", (long)take(strtoul(arguments[0], NULL, 10),
                                  step_size(arguments[1]), true, false));
    say_zero(first);
}

/* What is claimed as it comes: zero, or what was there before. */
static void found(char **arguments)
{
    size_t first = held_count;
    step_say("found", (long)take(strtoul(arguments[0], NULL, 10), step_size(arguments[1]),
                                 false, false));
    say_zero(first);
}

static void grow(char **arguments)
{
    struct block *last = &held[held_count - 1];
    unsigned char *bytes = realloc(last->bytes, step_size(arguments[0]));
    step_say("grown", bytes && all_are(bytes, 7, last->size));
    if (bytes)
        *last = (struct block){bytes, last->size};
}

static void align(char **arguments)
{
    void *bytes = NULL;
    step_say("aligned", posix_memalign(&bytes, PAGE, step_size(arguments[0])) == 0);
    free(bytes);
}

static void free_held(char **arguments)
{
    (void)arguments;
    while (held_count > 0)
        free(held[--held_count].bytes);
}

static void keep(char **arguments)
{
    (void)arguments;
    while (held_count > 0) {
        struct block block = held[--held_count];
        memset(block.bytes, (int)(kept_count % 255) + 1, block.size);
        kept[kept_count++] = block;
    }
}

static bool kept_is_intact(void)
{
    for (size_t i = 0; i < kept_count; i++)
        if (!all_are(kept[i].bytes, (unsigned char)(i % 255 + 1), kept[i].size))
            return false;
    return true;
}

static void intact(char **arguments)
{
    (void)arguments;
    step_say("intact", kept_is_intact());
}

/* Many short turns: what looks at the clock or at a limit now and then does so. */
static void turn(char **arguments)
{
    size_t size = step_size(arguments[1]);
    for (unsigned long left = strtoul(arguments[0], NULL, 10); left > 0; left--) {
        unsigned char *volatile bytes = malloc(size);
        free(bytes);
    }
}

static void trim(char **arguments)
{
    (void)arguments;
    malloc_trim(0);
}

static void wait_ms(char **arguments)
{
    unsigned long ms = strtoul(arguments[0], NULL, 10);
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static void page_out(char **arguments)
{
    bool swapped = held_count > 0;
    (void)arguments;
    for (size_t i = 0; i < held_count; i++) {
        madvise(held[i].bytes, held[i].size, MADV_PAGEOUT);
        swapped = swapped && step_is_swapped(held[i].bytes + held[i].size / 2);
    }
    step_say("swapped", swapped);
}

static const struct step {
    const char *name;
    int arguments;
    void (*act)(char **arguments);
} table[] = {
    {"claim", 2, claim},        /* COUNT SIZE: allocates, and writes every byte */
    {"reserve", 2, reserve},    /* COUNT SIZE: allocates */
    {"sparse", 2, sparse},      /* COUNT SIZE: allocates, and writes a page in sixteen */
    {"zeroed", 2, zeroed},      /* COUNT SIZE: by calloc, and looks at every byte */
    {"found", 2, found},        /* COUNT SIZE: by malloc, and looks at every byte */
    {"grow", 1, grow},          /* SIZE: the block held last, by realloc */
    {"align", 1, align},        /* SIZE: by posix_memalign, and frees */
    {"free", 0, free_held},     /* what is held */
    {"keep", 0, keep},          /* what is held, to the end */
    {"intact", 0, intact},      /* what is kept */
    {"turn", 2, turn},          /* COUNT SIZE: allocates and frees */
    {"map", 1, step_map},       /* SIZE: by mmap */
    {"thread", 0, step_thread}, /* starts one */
    {"limit", 2, step_limit},   /* data|as SIZE: by setrlimit */
    {"limit-unseen", 2, step_limit_unseen}, /* data|as SIZE: by the system call */
    {"limit-child", 2, step_vfork_limit},   /* data|as SIZE: of a child of vfork */
    {"lock", 0, step_lock},                 /* all memory, now and later */
    {"shatter", 1, step_shatter}, /* COUNT: all mappings there may be but so many */
    {"trim", 0, trim},
    {"wait", 1, wait_ms},           /* MILLISECONDS */
    {"resident", 0, step_resident}, /* in MiB */
    {"mark", 0, step_mark},         /* faults count from here */
    {"faults", 0, step_faults},
    {"huge", 0, step_huge},     /* MiB for which huge pages were asked for */
    {"page-out", 0, page_out},  /* what is held, to swap */
    {"filter", 1, step_filter}, /* prctl|seccomp|ioctl|lock|move */
    {"crowd", 1, step_crowd},   /* SIZE, in whole 4 GiB */
};

static const struct step *find(const char *name)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    fprintf(stderr, "steps: %s is none\n", name);
    exit(2);
}

/* fork ... joined: the steps between are a child's, which must succeed; they may fork, too. */
static char **after_joined(char **word)
{
    for (int depth = 1; *word && depth > 0; word++)
        depth += strcmp(*word, "fork") == 0 ? 1 : strcmp(*word, "joined") == 0 ? -1 : 0;
    return word;
}

static int end(void)
{
    bool intact = kept_is_intact();
    printf("%s\n", intact ? "" : " NOT INTACT");
    return intact ? 0 : 1;
}

static char **fork_steps(char **word)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        return word;
    int status = -1;
    waitpid(child, &status, 0);
    step_say("child", status);
    return after_joined(word);
}

int main(int argc, char **argv)
{
    (void)argc;
    for (char **word = argv + 1; *word;) {
        const char *name = *word++;
        if (strcmp(name, "exec") == 0) {
            puts("");
            fflush(stdout);
            return execvp(word[0], word);
        }
        if (strcmp(name, "joined") == 0)
            break;
        if (strcmp(name, "fork") == 0) {
            word = fork_steps(word);
            continue;
        }
        const struct step *step = find(name);
        step->act(word);
        word += step->arguments;
    }
    return end();
}

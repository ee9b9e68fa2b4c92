/* What stays resident after demand has fallen to a tenth, with whatever malloc the process
   was started with: some binds at full demand, then one every 100 ms at a tenth of it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FULL_BINDS = 20,
    FULL_SETS = 10, /* of blocks in each bind */
    SET_BLOCKS = 8,
    PAUSE_MS = 100,
    CACHE_LINE_BYTES = 64,
    SECONDS_MAX = 3600,
};

static const size_t set_bytes[SET_BLOCKS] = {
    64 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20,
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "fall: %s\n", what);
    exit(EXIT_FAILURE);
}

static char *written(size_t bytes)
{
    char *block = malloc(bytes);
    if (block == NULL)
        fail("out of memory");
    for (volatile char *line = block; line < block + bytes; line += CACHE_LINE_BYTES)
        *line = 1;
    return block;
}

static void bind(unsigned sets)
{
    char *blocks[FULL_SETS * SET_BLOCKS];
    for (unsigned i = 0; i < sets * SET_BLOCKS; i++)
        blocks[i] = written(set_bytes[i % SET_BLOCKS]);
    for (unsigned i = sets * SET_BLOCKS; i > 0; i--)
        free(blocks[i - 1]);
}

/* The second number of statm. */
static double resident_mb(void)
{
    long size_pages, resident_pages;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL || fscanf(statm, "%ld %ld", &size_pages, &resident_pages) != 2)
        fail("cannot read /proc/self/statm");
    fclose(statm);
    return (double)(resident_pages * sysconf(_SC_PAGESIZE)) / 1e6;
}

static void run(bool fell, unsigned seconds)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (unsigned i = 0; fell && i < FULL_BINDS; i++)
        bind(FULL_SETS);
    for (unsigned i = 0; i < seconds * (1000 / PAUSE_MS); i++) {
        bind(1);
        nanosleep(&pause, NULL);
    }
    printf("%s_mb %.3f\n", fell ? "fallen" : "fresh", resident_mb());
}

int main(int count, char **arguments)
{
    char *end = NULL;
    unsigned long seconds = count == 3 ? strtoul(arguments[2], &end, 10) : 0;
    bool fell = count == 3 && strcmp(arguments[1], "fallen") == 0;
    if (count != 3 || *end != '\0' || seconds < 1 || seconds > SECONDS_MAX ||
        (!fell && strcmp(arguments[1], "fresh") != 0)) {
        fputs(
            "usage: fall fallen|fresh SECONDS\n"
            "Prints what is resident so long after the fall; fresh: without full demand "
            "before it.\n",
            stderr);
        return 2;
    }
    run(fell, (unsigned)seconds);
    return EXIT_SUCCESS;
}

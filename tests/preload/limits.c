/* A program that limits itself while it runs: what is only reserved must not count against it.
   Says for each limit whether it holds and what can still be allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static int can_stage(int count)
{
    void *blocks[64] = {NULL};
    int got = 0;
    while (got < count && (blocks[got] = malloc(2 * MIB)))
        memset(blocks[got++], 1, 2 * MIB);
    for (int i = 0; i < got; i++)
        free(blocks[i]);
    return got == count;
}

int main(int argc, char **argv)
{
    char *small = malloc(MIB), *large = malloc(80 * MIB);
    memset(small, 1, MIB);
    large[0] = 2;
    if (argc > 1 && strcmp(argv[1], "lock") == 0) {
        printf("mlockall %d, ", mlockall(MCL_CURRENT | MCL_FUTURE));
    } else {
        struct rlimit limit = {600 * MIB, 600 * MIB};
        printf("setrlimit %d, ", setrlimit(RLIMIT_AS, &limit));
    }
    void *mapping = mmap(NULL, 100 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("mmap %d, stage %d, ", mapping != MAP_FAILED, can_stage(40));
    void *beyond = malloc((size_t)1 << 30);
    printf("beyond %d, kept %d\n", beyond == NULL, small[MIB - 1] + large[0]);
    free(small);
    free(large);
    return can_stage(10) ? 0 : 1;
}

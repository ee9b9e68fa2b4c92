/* Allocates ordinary and staging sizes and says how it went; under a limit it goes on until
   nothing is left. Knows nothing of any allocator. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    void **blocks = calloc(count, sizeof(*blocks));
    size_t got = 0;
    errno = 0;
    while (got < count && (blocks[got] = malloc(1 << 20)))
        memset(blocks[got++], 1, 4096);
    int error = got < count ? errno : 0;
    for (size_t i = 0; i < got; i++)
        free(blocks[i]);
    char *again = malloc(1 << 20);
    printf("%s %d %s\n", got == count ? "all" : "some", error == ENOMEM || error == 0,
           again ? "again" : "never again");
    free(again);
    free(blocks);
    return 0;
}

/* Programs whose frees are wrong: each ends by a trap after one line that names the pointer and
   what it is. Usage: misuse twice|inside|trimmed|grown|threads */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *opaque(char *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char *block = opaque(malloc(1 << 20)), *other = opaque(malloc(1 << 20));
    memset(block, 1, 1 << 20);
    printf("%p\n", (void *)(strcmp(how, "inside") == 0 ? block + 4096 : block));
    fflush(stdout);
    if (strcmp(how, "inside") == 0)
        free(opaque(block + 4096));
    free(opaque(block));
    if (strcmp(how, "trimmed") == 0)
        malloc_trim(0);
    if (strcmp(how, "grown") == 0)
        (void)!realloc(opaque(block), 5 << 20);
    free(opaque(block));
    free(other);
    return 0;
}

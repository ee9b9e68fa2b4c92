/* An executable with a malloc of its own, as browsers and rustc have: blocks come from a static
   pool, and no other allocator may look at them. What it does not define (malloc_usable_size,
   reallocarray, pvalloc here) is found elsewhere, and must not take its pointers for known. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) char pool[64 << 20];
static size_t used;

void *malloc(size_t bytes)
{
    if (bytes > sizeof(pool) - used - 64)
        return NULL;
    char *block = pool + used + 16;
    memcpy(block - 16, &bytes, sizeof(bytes));
    used += (bytes + 31) & ~(size_t)15;
    return block;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
    char *moved = malloc(bytes);
    size_t held = 0;
    if (block)
        memcpy(&held, (char *)block - 16, sizeof(held));
    if (moved && held)
        memcpy(moved, block, held < bytes ? held : bytes);
    return moved;
}

int main(void)
{
    char *line = NULL;
    size_t length = 0;
    /* libc allocates through us. */
    if (getline(&line, &length, stdin) < 0 || line < pool || line >= pool + sizeof(pool))
        return 1;
    char *copy = strdup(line);
    char *array = reallocarray(copy, 1000, 100);
    if (!array || array < pool || array >= pool + sizeof(pool))
        return 2;
    printf("%zu %s", strlen(array), array);
    /* Whatever answers, it must not crash. */
    (void)malloc_usable_size(array);
    free(array);
    free(line);
    return 0;
}

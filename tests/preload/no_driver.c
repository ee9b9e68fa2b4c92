/* A process without a driver: our exports must not be found where natively there is nothing, and
   do nothing when they are called all the same. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int cuMemAlloc_v2(uint64_t *address, size_t bytes) __attribute__((weak));

static int mapped(const char *name)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        found |= strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

int main(void)
{
    printf("default %d, main %d, next %d, dlvsym %d\n",
           dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL,
           dlsym(dlopen(NULL, RTLD_LAZY), "cuMemAlloc_v2") != NULL,
           dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2") != NULL,
           dlvsym(RTLD_DEFAULT, "cuMemFree_v2", "GLIBC_2.2.5") != NULL);
    uint64_t address = 42;
    if (cuMemAlloc_v2) /* a weak reference is bound by the loader: it cannot be told apart */
        fprintf(stderr, "weak: result %d, untouched %d, driver %d\n", cuMemAlloc_v2(&address, 512),
                address == 42, mapped("libcuda"));
    return 0;
}

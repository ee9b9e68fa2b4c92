/* A program that opens and closes the driver again and again, and something else in its place:

     reopen FIRST COUNT

   FIRST is what it looks up before the first close: nothing, or a name. Each time every road has to
   lead to the same functions; they are called. Prints how many times they did. */
#include "shim/driver_abi.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef CUresult look_up_2(const char *, void **, int, cuuint64_t, int *);
typedef CUresult ask_memory(size_t *, size_t *);

static bool is_mapped(const char *name)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found = found || strstr(line, name) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

/* Both roads give one function, and it works. */
static bool visit(void *driver)
{
    void *by_symbol = dlsym(driver, "cuMemGetInfo_v2");
    void *found = dlsym(driver, "cuGetProcAddress_v2");
    void *by_name = NULL;
    look_up_2 *look_up;
    ask_memory *ask;
    if (by_symbol == NULL || found == NULL)
        return false;
    memcpy(&look_up, &found, sizeof found);
    memcpy(&ask, &by_symbol, sizeof by_symbol);
    size_t total;
    return look_up("cuMemGetInfo", &by_name, 12000, 0, NULL) == CUDA_SUCCESS &&
           by_name == by_symbol && ask(NULL, &total) == CUDA_ERROR_NOT_INITIALIZED;
}

static void *driver_base;

/* Where the driver is now, by a function of its that nobody stands before. */
static void note_base(void *driver)
{
    Dl_info info;
    if (dladdr(dlsym(driver, "cuDeviceGet"), &info) != 0)
        driver_base = info.dli_fbase;
}

/* Takes the place where it was, so that it comes back elsewhere. */
static void take_base(void)
{
    (void)mmap(driver_base, 4096, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static bool is_ours(const char *symbol, void *driver)
{
    Dl_info info;
    void *found = dlsym(driver, symbol);
    return found != NULL && dladdr(found, &info) != 0 &&
           strstr(info.dli_fname, "/libtidemark.so") != NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int good_count = 0;
    int ours_count = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL)
        return 2;
    if (strcmp(argv[1], "nothing") != 0)
        (void)dlsym(driver, argv[1]);
    note_base(driver);
    dlclose(driver);
    bool was_gone = !is_mapped("/libcuda.so.1");
    for (int i = 0; i < atoi(argv[2]); i++) {
        take_base();
        driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (driver == NULL)
            return 2;
        note_base(driver);
        good_count += visit(driver);
        ours_count += is_ours("cuMemAlloc_v2", driver);
        dlclose(driver);
    }
    printf("gone %d, good %d, ours %d\n", was_gone, good_count, ours_count);
    return 0;
}

/* A program that opens, uses and closes plugin.c's library, which brings the driver with it, again and
   again, and something else in its place:

     replug PLUGIN COUNT [past]

   With `past` the library is closed once, by the C library's own dlclose, and then the driver is
   opened by itself and looked up. Prints how many times the driver answered. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NOT_INITIALIZED = 3 };

static int close_library(void *handle, bool past)
{
    int (*function)(void *) = dlclose;
    if (past) {
        void *found = dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "dlclose");
        memcpy(&function, &found, sizeof found);
    }
    return function(handle);
}

static void *driver_base;
static int ours_count; /* look-ups that were answered with the library's function */

/* Where the driver is now, by a function of its that nobody stands before. */
static void note_base(void)
{
    Dl_info info;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver && dladdr(dlsym(driver, "cuDeviceGet"), &info) != 0)
        driver_base = info.dli_fbase;
    if (driver)
        dlclose(driver);
}

/* Takes the place where it was, so that it comes back elsewhere. */
static void take_base(void)
{
    if (driver_base)
        (void)mmap(driver_base, 4096, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static bool use_plugin(const char *path, bool past)
{
    void *plugin = dlopen(path, RTLD_NOW);
    int (*ask)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_ask") : NULL;
    note_base();
    return ask && ask() == NOT_INITIALIZED && close_library(plugin, past) == 0;
}

static bool use_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*ask)(size_t *, size_t *) =
        driver ? (int (*)(size_t *, size_t *))dlsym(driver, "cuMemGetInfo_v2") : NULL;
    size_t total;
    Dl_info info;
    ours_count += ask && dladdr((void *)ask, &info) != 0 &&
                  strstr(info.dli_fname, "/libtidemark.so") != NULL;
    return ask && ask(NULL, &total) == NOT_INITIALIZED && dlclose(driver) == 0;
}

int main(int argc, char **argv)
{
    bool past = argc > 3;
    int good_count = 0;
    if (argc < 3)
        return 2;
    for (int i = 0; i < atoi(argv[2]); i++) {
        good_count += past && i > 0 ? use_driver() : use_plugin(argv[1], past);
        take_base();
    }
    printf("good %d, ours %d\n", good_count, ours_count);
    return 0;
}

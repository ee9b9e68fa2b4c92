#include "tools/tidemark/install.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tidemark/say.h"

/* The folder of the file `path`, in its place. */
static void keep_folder(char *path)
{
    char *slash = strrchr(path, '/');

    *(slash == path ? slash + 1 : slash) = '\0';
}

static bool find_beside(const char *folder, const char *relative, char path[PATH_MAX])
{
    char candidate[PATH_MAX];
    int length = snprintf(candidate, sizeof candidate, "%s/%s", folder, relative);

    return length >= 0 && length < PATH_MAX && realpath(candidate, path) != NULL;
}

bool install_find_library(char path[PATH_MAX])
{
    static const char *const places[] = {
        "libtidemark.so",
        "../lib/libtidemark.so",
        "../lib/x86_64-linux-gnu/libtidemark.so",
    };
    char folder[PATH_MAX];
    bool found = false;

    if (realpath("/proc/self/exe", folder) == NULL) {
        say("/proc/self/exe: %s", strerror(errno));
        return false;
    }
    keep_folder(folder);
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++)
        found = find_beside(folder, places[i], path);
    if (!found) {
        say("libtidemark.so: not in %s, nor in ../lib from there", folder);
        return false;
    }
    if (strpbrk(path, " :") != NULL) {
        say("%s: LD_PRELOAD cannot name a path with a space or a colon", path);
        return false;
    }
    return true;
}

bool install_find_simulation(const char *library, char path[PATH_MAX])
{
    char folder[PATH_MAX];

    strcpy(folder, library);
    keep_folder(folder);
    if (find_beside(folder, "tidemark/simcuda", path) ||
        find_beside(folder, "simcuda", path))
        return true;
    say("--sim: no simulated driver: %s/simcuda: %s", folder, strerror(errno));
    return false;
}

#include "shim/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* glibc's loader notes where the kernel put argc; absent elsewhere. */
extern void *__libc_stack_end __attribute__((weak));

static char *nothing[] = {NULL};

/* argc, argv..., NULL, envp..., NULL as the kernel lays them out. */
static char **initial_environment(void)
{
    if (!&__libc_stack_end || !__libc_stack_end)
        return nothing;
    uintptr_t *stack = __libc_stack_end;
    return (char **)(stack + 1 + *stack + 1);
}

char **shim_environment(void)
{
    if (getauxval(AT_SECURE))
        return nothing;
    return environ ? environ : initial_environment();
}

const char *shim_environment_get(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = shim_environment(); *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

/* Whether a name in LD_PRELOAD, of this length, is this library. */
static bool is_this_library(const char *name, size_t length)
{
    static const char file[] = "libtidemark.so";
    const char *slash = memrchr(name, '/', length);
    const char *base = slash ? slash + 1 : name;
    size_t base_length = length - (size_t)(base - name);
    return base_length >= sizeof(file) - 1 && memcmp(base, file, sizeof(file) - 1) == 0;
}

/* Shortens the list where it stands; false when nothing is left of it. */
static bool drop_from_list(char *list)
{
    char *kept = list;
    for (const char *name = list + strspn(list, " :"); *name;
         name += strspn(name, " :")) {
        size_t length = strcspn(name, " :");
        if (!is_this_library(name, length)) {
            if (kept != list)
                *kept++ = ':';
            memmove(kept, name, length);
            kept += length;
        }
        name += length;
    }
    *kept = '\0';
    return kept != list;
}

void shim_environment_drop_preload(void)
{
    static const char variable[] = "LD_PRELOAD=";
    char **kept = shim_environment();
    for (char **entry = kept; *entry; entry++)
        if (strncmp(*entry, variable, sizeof(variable) - 1) != 0 ||
            drop_from_list(*entry + sizeof(variable) - 1))
            *kept++ = *entry;
    *kept = NULL;
}

#include "shim/environment.h"

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

/* The malloc family as we export it, and what its files share. */
#ifndef SHIM_HOST_HOOKS_H
#define SHIM_HOST_HOOKS_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/host_state.h"

#define HOST(result, name, parameters)                                                   \
    __attribute__((visibility("default"))) result name parameters;
#include "shim/host_hooks.def"

/* Whether somebody else serves: whoever the process would use without us. Decides, at the
   first call. */
bool shim_host_passing(void);

/* Whether the pointer lies where retained blocks do. Only when we serve. */
static inline bool shim_host_is_retained(const void *block)
{
    return pool_heap_owns(&shim_host.heap, block);
}

/* Says what is wrong with a pointer into the retained blocks that was freed, and traps. */
void shim_host_refuse_pointer(const void *block) __attribute__((noreturn));

#endif

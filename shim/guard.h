/* Are we inside ourselves? A driver may come back through our exports while we call it; a
   hook entered at depth above 0 calls the real function and does nothing else. */
#ifndef SHIM_GUARD_H
#define SHIM_GUARD_H

#include <stdbool.h>

/* Initial-exec: reading it calls nothing and allocates nothing. */
extern __thread int shim_guard_depth __attribute__((tls_model("initial-exec")));

/* True when this thread was outside: then shim_guard_leave must follow. */
static inline bool shim_guard_enter(void)
{
    if (shim_guard_depth > 0)
        return false;
    shim_guard_depth++;
    return true;
}

static inline void shim_guard_leave(void)
{
    shim_guard_depth--;
}

#endif

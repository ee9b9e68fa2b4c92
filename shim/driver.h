/* The real driver: found among the loaded objects, never linked and never loaded by us.
   One table of its functions, typed; a function that this driver lacks is NULL there. */
#ifndef SHIM_DRIVER_H
#define SHIM_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver_abi.h"
#include "shim/recorder_calls.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

/* Prototypes of what we export in the driver's place. */
#define HOOK(symbol, base, since, flags, parameters)                                     \
    SHIM_EXPORT CUresult symbol parameters;
#include "shim/driver_hooks.def"

struct shim_driver_calls {
#define HOOK(symbol, base, since, flags, parameters) CUresult(*symbol) parameters;
#define CALL(symbol, parameters)                     CUresult(*symbol) parameters;
#include "shim/driver_hooks.def"
};

enum shim_hook_id {
#define HOOK(symbol, base, since, flags, parameters) SHIM_HOOK_##symbol,
#include "shim/driver_hooks.def"
    SHIM_HOOK_COUNT
};

typedef void (*shim_function)(void);

/* A function as dlsym hands it out. */
static inline void *shim_function_pointer(shim_function function)
{
    return (void *)(uintptr_t)function;
}

/* One HOOK row as data. */
struct shim_hook {
    const char *symbol;
    const char *base;
    int since;
    cuuint64_t flags;
    shim_function function; /* ours */
};

extern const struct shim_hook shim_hooks[SHIM_HOOK_COUNT];

/* One copy of the driver in memory. */
struct shim_driver {
    struct shim_driver_calls call;
    shim_function real[SHIM_HOOK_COUNT]; /* as its symbol table has them */
    /* As its own cuGetProcAddress answers for the row; filled when that first differs. */
    _Atomic(shim_function) answered[SHIM_HOOK_COUNT];
    _Atomic bool answers_known;
    uintptr_t base;       /* where it is loaded */
    uintptr_t start, end; /* its mapped range */
    char path[512];
};

/* The hook whose exported symbol has this name; -1 when there is none. */
int shim_hook_named(const char *symbol);

/* The hooks of one base name, one after the other, ordered by symbol; -1 when there is none,
   or no further one. An older form comes before a newer one of the same stream kind. */
int shim_hook_first_form(const char *base);
int shim_hook_next_form(const char *base, int row);

/* The driver, if one is mapped; NULL otherwise. Takes none of the loader's locks that a
   library constructor holds, so that any hook may call it. */
struct shim_driver *shim_driver_find(void);

/* The same, in a hook of the function's name: the call may bound a bind (shim/recorder.h). */
#define shim_driver_get() shim_driver_get_in(__func__)

static inline struct shim_driver *shim_driver_get_in(const char *function)
{
    if (__builtin_expect(shim_recorder_watches_calls, 0))
        shim_recorder_called(function);
    return shim_driver_find();
}

/* The same for dlsym, which may take those locks: looks again whether the driver is still
   where it was, and keeps it mapped from then on, so that a close and reopen by the
   program cannot leave a stale table behind. */
struct shim_driver *shim_driver_pin(void);

/* Whether a call of ours has led to the driver, so that its table is in use. */
bool shim_driver_is_met(void);

/* Whether code at this address belongs to the driver. */
static inline bool shim_driver_contains(const struct shim_driver *driver,
                                        const void *code)
{
    return (uintptr_t)code - driver->start < driver->end - driver->start;
}

/* Whether it belongs to another copy of the driver, which is not the one above. */
bool shim_driver_is_other(const struct shim_driver *driver, const void *code);

/* Around a fork. */
void shim_driver_fork_prepare(void);
void shim_driver_fork_done(void);

#endif

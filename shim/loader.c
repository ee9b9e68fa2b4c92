#include "shim/loader.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver.h"
#include "shim/elf.h"
#include "shim/init.h"
#include "shim/libc.h"

/* Until a name is known to be hooked, nothing may be called here that a sanitizer could
   own: its start-up looks its own interceptors up through us.

   A look-up for the pseudo-handles searches from the object that calls. These functions
   run inside our own entry, so whatever we look up ourselves with RTLD_NEXT searches from
   here; `still_ours` keeps the compiler from turning such a call into a jump, which would
   put the program in our place. */

/* The definitions after ours, which may be another preload's; each written once, with the
   same value by whoever comes first. */
static struct {
    _Atomic(void *) dlsym, dlvsym, dlopen;
} next;

static void *still_ours(void *result)
{
    __asm__ volatile("" : "+r"(result));
    return result;
}

static void *following(_Atomic(void *) *slot, const char *name)
{
    void *function = atomic_load_explicit(slot, memory_order_relaxed);
    if (function)
        return function;
    function = (void *)shim_elf_next_definition(name);
    atomic_store_explicit(slot, function, memory_order_relaxed);
    return function;
}

static struct shim_loader_answer jump(void *function)
{
    return (struct shim_loader_answer){.jump = function};
}

static struct shim_loader_answer answer(void *value)
{
    return (struct shim_loader_answer){.value = value};
}

/* One look-up, with or without a version. */
struct question {
    void *handle;
    const char *name;
    const char *version; /* NULL: dlsym */
    const void *caller;
};

static void *ask(const struct question *question, void *handle)
{
    void *result = question->version
                       ? shim_libc.dlvsym(handle, question->name, question->version)
                       : shim_libc.dlsym(handle, question->name);
    return still_ours(result);
}

static bool searches_scope(const void *handle)
{
    return handle == RTLD_DEFAULT || handle == RTLD_NEXT ||
           handle == shim_elf_main_handle();
}

/* No driver is mapped, but the program's scope holds our exports: answer as if it did
   not. Objects before us in the scope are searched first, and found; RTLD_NEXT of a
   caller behind us never meets us. */
static struct shim_loader_answer without_driver(const struct question *question, int hook,
                                                void *otherwise)
{
    void *ours = shim_function_pointer(shim_hooks[hook].function);
    if (question->handle == RTLD_NEXT)
        return jump(otherwise);
    void *found = ask(question, question->handle);
    return answer(found == ours ? ask(question, RTLD_NEXT) : found);
}

static struct shim_loader_answer pick(const struct question *question, void *otherwise)
{
    int hook = shim_hook_named(question->name);
    if (hook < 0 || !shim_settings()->options.enabled || !shim_libc.dlsym)
        return jump(otherwise);
    struct shim_driver *driver = shim_driver_pin();
    if (searches_scope(question->handle))
        return driver ? jump(otherwise) : without_driver(question, hook, otherwise);
    void *found = ask(question, question->handle);
    if (found && driver && found == shim_function_pointer(driver->real[hook]) &&
        !shim_driver_contains(driver, question->caller))
        return answer(shim_function_pointer(shim_hooks[hook].function));
    return answer(found);
}

struct shim_loader_answer shim_loader_pick_dlsym(void *handle, const char *name,
                                                 const void *caller)
{
    struct question question = {.handle = handle, .name = name, .caller = caller};
    return pick(&question, following(&next.dlsym, "dlsym"));
}

struct shim_loader_answer shim_loader_pick_dlvsym(void *handle, const char *name,
                                                  const char *version, const void *caller)
{
    struct question question = {handle, name, version, caller};
    return pick(&question, following(&next.dlvsym, "dlvsym"));
}

struct shim_loader_answer shim_loader_pick_dlopen(const char *file, int mode,
                                                  const void *caller)
{
    (void)file;
    (void)caller;
    if (mode & RTLD_DEEPBIND) {
        /* A deep-bound plugin would free with glibc what libc allocated with us. */
        const struct policy_options *options = &shim_settings()->options;
        if (options->enabled && options->deepbind)
            mode &= ~RTLD_DEEPBIND;
    }
    return (struct shim_loader_answer){
        .jump = following(&next.dlopen, "dlopen"),
        .value = (void *)(intptr_t)mode,
    };
}

bool shim_loader_keep(const char *path)
{
    void *handle = shim_libc.dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return still_ours(handle) != NULL;
}

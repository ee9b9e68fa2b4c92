#include "shim/loader.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver.h"
#include "shim/driver_lookup.h"
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
    _Atomic(void *) dlsym, dlvsym, dlopen, dlclose;
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

/* Where in the loader's list the object is that calls. */
struct place {
    const void *caller;
    uintptr_t base;    /* of that object, or ours where it comes behind us */
    bool is_before_us; /* then its scope is the program's, and it has no other */
};

static int look_before_us(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct place *place = context;
    struct shim_elf_object object = shim_elf_range(info);
    place->base = object.base;
    place->is_before_us = shim_elf_contains(&object, place->caller);
    return place->is_before_us || shim_elf_contains(&object, &next);
}

/* Whether a search of the program's scope ends at our export. Objects before us are found
   first; RTLD_NEXT of a caller behind us never meets us, and no versioned name does. */
static bool leads_to_us(const struct question *question, const struct place *place)
{
    if (question->version)
        return false;
    if (question->handle != RTLD_NEXT)
        return shim_elf_first_is_ours(question->name);
    return shim_elf_next_is_ours(place->base, question->name);
}

/* Ours where the driver's would be found without us, or that itself where we are off; else what
   would be found: another library's function of that name, or none. A caller behind us may have
   the driver in a scope of its own, which cannot be searched from here: there it is taken to
   be. */
static struct shim_loader_answer pick_in_scope(const struct question *question, int hook,
                                               bool enabled, void *otherwise)
{
    const struct shim_driver *driver = enabled ? shim_driver_pin() : shim_driver_get();
    void *real = driver ? shim_function_pointer(driver->real[hook]) : NULL;
    if (real && question->handle != RTLD_NEXT &&
        shim_driver_contains(driver, question->caller))
        return answer(real);
    struct place place = {.caller = question->caller};
    (void)shim_libc.dl_iterate_phdr(look_before_us, &place);
    if (!leads_to_us(question, &place))
        return jump(otherwise);
    void *found = ask(question, RTLD_NEXT);
    bool may_have_its_own = question->handle == RTLD_DEFAULT && !place.is_before_us;
    if (real && (found == real || (!found && may_have_its_own)))
        found = enabled ? shim_function_pointer(shim_hooks[hook].function) : real;
    return answer(found);
}

static struct shim_loader_answer pick(const struct question *question, void *otherwise)
{
    int hook = shim_hook_named(question->name);
    if (hook < 0 || !shim_libc.dlsym)
        return jump(otherwise);
    bool enabled = shim_settings()->options.enabled;
    if (searches_scope(question->handle))
        return pick_in_scope(question, hook, enabled, otherwise);
    if (!enabled)
        return jump(otherwise);
    const struct shim_driver *driver = shim_driver_pin();
    void *found = ask(question, question->handle);
    if (!found || !driver || shim_driver_contains(driver, question->caller))
        return answer(found);
    if (found == shim_function_pointer(driver->real[hook]))
        return answer(shim_function_pointer(shim_hooks[hook].function));
    if (shim_driver_is_other(driver, found))
        shim_lookup_note_other(question->name);
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

/* A driver that we have called, for a library that is linked to it, must not go: the library
   may come back and call us before anybody looks where the driver is then. */
struct shim_loader_answer shim_loader_pick_dlclose(void *handle, const char *unused,
                                                   const void *caller)
{
    (void)handle;
    (void)unused;
    (void)caller;
    if (shim_driver_is_met())
        (void)shim_driver_pin();
    return jump(following(&next.dlclose, "dlclose"));
}

bool shim_loader_keep(const char *path)
{
    void *handle = shim_libc.dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return still_ours(handle) != NULL;
}

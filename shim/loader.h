/* dlsym, dlvsym, dlopen and dlclose as the program sees them. Only hooked names of the driver
   are answered by us; everything else is a jump to the next definition in scope, with the
   program's own return address on the stack (jumps.S). */
#ifndef SHIM_LOADER_H
#define SHIM_LOADER_H

#include <stdbool.h>

/* What the assembly does next. Two words, returned in registers. */
struct shim_loader_answer {
    void *jump;  /* jump there, arguments as they were; NULL: return the value */
    void *value; /* dlsym, dlvsym: the result; dlopen: the mode, as a number */
};

struct shim_loader_answer shim_loader_pick_dlsym(void *handle, const char *name,
                                                 const void *caller);
struct shim_loader_answer shim_loader_pick_dlvsym(void *handle, const char *name,
                                                  const char *version,
                                                  const void *caller);
struct shim_loader_answer shim_loader_pick_dlopen(const char *file, int mode,
                                                  const void *caller);

struct shim_loader_answer shim_loader_pick_dlclose(void *handle, const char *unused,
                                                   const void *caller);

/* Keeps an object that is loaded now from ever being unloaded. */
bool shim_loader_keep(const char *path);

#endif

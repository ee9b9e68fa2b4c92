/* What serves where we stand aside: the C library's own functions, and those of the
   malloc family that the process would use without us. Found in symbol tables, since a
   symbol reference would bind back to us. */
#ifndef SHIM_LIBC_H
#define SHIM_LIBC_H

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct shim_libc {
    /* glibc's, whoever else overrides them; NULL under another C library. */
    void *(*dlsym)(void *handle, const char *name);
    void *(*dlvsym)(void *handle, const char *name, const char *version);
    void *(*dlopen)(const char *file, int mode);
    int (*dl_iterate_phdr)(int (*visit)(struct dl_phdr_info *, size_t, void *),
                           void *context);
    /* The next definition behind ours: glibc's, or another allocator's. */
#define HOST(result, name, parameters) result(*name) parameters;
#include "shim/host_hooks.def"
};

/* Written once, by the two functions below. */
extern struct shim_libc shim_libc;

/* Finds glibc's functions. False when this process has no glibc. */
bool shim_libc_open(void);

/* Finds the malloc family: only where we stand aside, since names that nobody defines are
   looked up in every object of the process. May be called again, from any thread: every
   call writes the same values. */
void shim_libc_open_family(void);

#endif

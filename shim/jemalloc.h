/* The private jemalloc: Debian's archive with every public symbol renamed, so that
   neither the program nor another copy of jemalloc meets it (shim/CMakeLists.txt).
   Contracts are those of jemalloc(3). */
#ifndef SHIM_JEMALLOC_H
#define SHIM_JEMALLOC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *jemalloc_malloc(size_t bytes);
void *jemalloc_calloc(size_t count, size_t bytes);
void *jemalloc_realloc(void *block, size_t bytes);
void *jemalloc_memalign(size_t alignment, size_t bytes);
void jemalloc_free(void *block);
size_t jemalloc_malloc_usable_size(void *block);

void *jemalloc_mallocx(size_t bytes, int flags);
void *jemalloc_rallocx(void *block, size_t bytes, int flags);
size_t jemalloc_xallocx(void *block, size_t bytes, size_t extra, int flags);
void jemalloc_dallocx(void *block, int flags);
size_t jemalloc_nallocx(size_t bytes, int flags);
int jemalloc_mallctl(const char *name, void *old, size_t *old_bytes, void *new,
                     size_t new_bytes);
int jemalloc_mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
int jemalloc_mallctlbymib(const size_t *mib, size_t mib_length, void *old,
                          size_t *old_bytes, void *new, size_t new_bytes);
void jemalloc_malloc_stats_print(void (*put)(void *context, const char *text),
                                 void *context, const char *options);

/* Boots it and takes its class of 8 bytes, which is aligned to 8, out of use: from then on
   every request is aligned to 16 without a word from the caller. */
void shim_jemalloc_open(void);

/* From now on memory that it gives up is unmapped, not retained: something counts it. */
void shim_jemalloc_retain_nothing(void);

/* Gives memory back that it keeps for later; whether it could. */
bool shim_jemalloc_purge(void);

/* Memory system calls that it has made, and counting one. */
extern _Atomic uint64_t shim_jemalloc_calls;
void shim_jemalloc_count(void);

#endif

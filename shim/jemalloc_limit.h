/* The private jemalloc where the heap has a ceiling. It is told that memory is committed
   strictly: then it keeps address space to itself, and commits and decommits pages in it by
   mappings of ours, so that every page is charged before it enters an extent and refunded when
   it has left. */
#ifndef SHIM_JEMALLOC_LIMIT_H
#define SHIM_JEMALLOC_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* mmap(2) and munmap(2) for extents, as the kernel returns them. May be called under jemalloc's
   locks. */
long shim_jemalloc_limit_map(void *address, size_t bytes, int protection, int flags);
long shim_jemalloc_limit_unmap(void *address, size_t bytes);

/* Between the two, of one thread, no page is refused that the kernel has. */
void shim_jemalloc_limit_lift(void);
void shim_jemalloc_limit_restore(void);

/* Memory for jemalloc's own records, which is not charged; NULL when the kernel has none. A
   power of two of at least a page is the alignment. */
void *shim_jemalloc_limit_map_records(size_t bytes, size_t alignment);

#endif

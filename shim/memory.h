/* How much memory this process may use, and whether what lies idle in it is counted. */
#ifndef SHIM_MEMORY_H
#define SHIM_MEMORY_H

#include <stdint.h>

/* The machine's memory, or the limit of a cgroup above us, in bytes. Reads files, unless a
   seccomp filter may be in force; allocates nothing. */
uint64_t shim_memory_usable(void);

/* The least limit that a group sets of those that `groups`, a text like /proc/self/cgroup,
   names, and of the groups above them; UINT64_MAX: none. The hierarchies are mounted in
   `root`, either version of them. */
uint64_t shim_memory_group_limit(const char *groups, const char *root);

/* Why memory or address space that lies idle here would be missing elsewhere, as the report
   says it: something counts it, by what is mapped and not by what is used. NULL: nothing
   does. Reads a file. */
const char *shim_memory_counted(void);

#endif

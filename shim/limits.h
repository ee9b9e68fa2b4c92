/* What a program does to its own limits: memory or address space that is limited or locked must
   not count what lies idle or is only reserved, and under a seccomp filter we make memory
   system calls only. The calls themselves are the C library's, unchanged. */
#ifndef SHIM_LIMITS_H
#define SHIM_LIMITS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "shim/loader.h"

/* This process's memory is its own: at the start, and in a child of fork. */
void shim_limits_own(void);

/* What jumps.S asks; only `jump` of the answer is used. */
struct shim_loader_answer shim_limits_pick_prctl(int option, unsigned long mode,
                                                 const void *caller);
struct shim_loader_answer shim_limits_pick_syscall(long number, unsigned long operation,
                                                   const void *caller);

#endif

/* What a program does to its own limits, seen before it happens: an address space that is
   limited or locked must not count what we only reserved, and under a seccomp filter we make
   memory system calls only. The calls themselves are the C library's, unchanged. */
#ifndef SHIM_LIMITS_H
#define SHIM_LIMITS_H

#include <sys/resource.h>
#include <sys/types.h>

#include "shim/loader.h"

/* What jumps.S asks; only `jump` of the answer is used. */
struct shim_loader_answer shim_limits_pick_prctl(int option, unsigned long mode,
                                                 const void *caller);
struct shim_loader_answer shim_limits_pick_syscall(long number, unsigned long operation,
                                                   const void *caller);

#endif

/* The host side: whether the malloc family is served by us, and by what. */
#ifndef SHIM_HOST_H
#define SHIM_HOST_H

#include <stdbool.h>

#include "pool/stats.h"
#include "shim/init.h"

/* Whether the objects in the process say that the malloc family is not ours to serve; decides
   so, then. Called at the first call of all, which may come from the dynamic loader while
   a sanitizer's interceptors are not ready: calls nothing that could be intercepted. */
bool shim_host_stand_aside(void);

/* Decides who serves and opens the retained blocks. Called once, while the settings are
   read; allocates nothing. */
void shim_host_open(const struct shim_settings *settings);

/* Opens the fast road of the malloc family. Called once, by our constructor. */
void shim_host_start(void);

/* "on", or why nothing is retained. */
const char *shim_host_retention(void);

/* Gives the address space back in which no retained block was born yet: from now on staging
   is retained only as far as it was. */
void shim_host_shed(void);

/* Something counts what lies idle, by this reason: retention ends, for good. */
void shim_host_close(const char *reason);

/* The kernel has refused memory: gives back what is idle, in such a way that a limit in force
   counts it. Whether to ask again. May be called anywhere below an allocation. */
bool shim_host_make_room(void);

/* Gives back what is idle of retained blocks; whether that was anything. May be called anywhere
   below an allocation. */
bool shim_host_trim(void);

/* The program is about to install a seccomp filter: what would be asked for later is asked
   for now, and from then on only memory system calls are made. */
void shim_host_expect_filter(void);

/* Fills the heap and memory-call counters. */
void shim_host_report(struct pool_stats *stats);

/* Around a fork. */
void shim_host_fork_prepare(void);
void shim_host_fork_done(bool in_child);

#endif

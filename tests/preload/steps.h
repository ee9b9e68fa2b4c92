/* What the two halves of steps.c share. */
#ifndef STEPS_H
#define STEPS_H

#include <stdbool.h>
#include <stddef.h>

enum { MIB = 1 << 20, PAGE = 4096 };

/* "64M" in bytes. */
size_t step_size(const char *text);

/* Prints one NAME=VALUE. */
void step_say(const char *name, long value);

/* Steps that speak to the kernel, in steps_kernel.c; steps.c says what they are. */
void step_map(char **arguments);
void step_thread(char **arguments);
void step_limit(char **arguments);
void step_limit_unseen(char **arguments);
void step_vfork_limit(char **arguments);
void step_lock(char **arguments);
void step_shatter(char **arguments);
void step_resident(char **arguments);
void step_mark(char **arguments);
void step_faults(char **arguments);
void step_huge(char **arguments);
void step_filter(char **arguments);
void step_crowd(char **arguments);

/* Whether the page at this address is in swap. */
bool step_is_swapped(const unsigned char *bytes);

#endif

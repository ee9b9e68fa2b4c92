/* The program's environment, readable before libc has set `environ` up: the first malloc of
   a process may come from the dynamic loader. Empty for a setuid program. */
#ifndef SHIM_ENVIRONMENT_H
#define SHIM_ENVIRONMENT_H

/* The value of a variable, in the environment itself; NULL when it is not set. */
const char *shim_environment_get(const char *name);

/* Takes this library out of LD_PRELOAD, so that what the program starts runs without it: the
   one change that we make, when asked to. What others put there stays. */
void shim_environment_drop_preload(void);

/* The NULL-terminated "NAME=value" array. */
char **shim_environment(void);

#endif

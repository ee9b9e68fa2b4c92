/* The program's environment, readable before libc has set `environ` up: the first malloc
   of a process may come from the dynamic loader. Never changes it; empty for a setuid
   program. */
#ifndef SHIM_ENVIRONMENT_H
#define SHIM_ENVIRONMENT_H

/* The value of a variable, in the environment itself; NULL when it is not set. */
const char *shim_environment_get(const char *name);

/* The NULL-terminated "NAME=value" array. */
char **shim_environment(void);

#endif

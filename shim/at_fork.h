/* pthread_atfork, where the C library has glibc's form of it. */
#ifndef SHIM_AT_FORK_H
#define SHIM_AT_FORK_H

/* Registers handlers around fork(2); 0, or an error number. Under a C library that lacks
   __register_atfork nothing of ours is in use, and nothing is registered. */
int shim_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif

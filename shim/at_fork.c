#include "shim/at_fork.h"

/* What libc's static part would call for us. Weak, because a strong reference keeps a musl
   program from starting at all. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void),
                             void (*child)(void), void *object) __attribute__((weak));

/* Names this library to glibc, which drops the handlers when it is unloaded. */
extern void *__dso_handle __attribute__((visibility("hidden")));

int shim_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork ? __register_atfork(prepare, parent, child, __dso_handle)
                             : 0;
}

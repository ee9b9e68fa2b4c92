/* Where memory enters the pool: the kernel in life, a fake in tests. The pool asks for
   address space once, makes pieces of it writable as they are first needed, and never
   calls the kernel itself. */
#ifndef POOL_SOURCE_H
#define POOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct pool_source {
    /* Address space of `bytes` that can neither be read nor written, aligned to at least
       a page; NULL when the source has none. */
    void *(*reserve)(size_t bytes);
    /* Makes a piece of what was reserved readable and writable, reading as zero until it
       is written. False, and nothing changed, when the source refuses. */
    bool (*enable)(void *address, size_t bytes);
    /* Gives address space back, enabled or not. */
    void (*release)(void *address, size_t bytes);
    /* Gives the memory behind an enabled piece back and keeps the piece: it reads as zero
       again. False, and nothing changed, when the source refuses. */
    bool (*discard)(void *address, size_t bytes);
};

#endif

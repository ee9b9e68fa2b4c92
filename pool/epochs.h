/* When memory that was freed can no longer be in use by a device. A free is stamped; what was
   stamped is ready once a synchronisation of a whole context has ended that began after the
   stamp. Synchronisations are the program's own, or an event over all of a context's work that
   is asked about and never waited for. Contexts are numbers that are never used twice.

             begin  end  stamp  ended  poll  add, drop
     begin     -     -     -      -     -       -        (- : may run at the same time)
     end       -     -     -      -     -       -
     poll      -     -     -      -     -       X        (X : of one context, not between
     add, drop -     -     -      -     X       -         pool_epochs_hold and _let) */
#ifndef POOL_EPOCHS_H
#define POOL_EPOCHS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/lock.h"
#include "pool/source.h"

enum {
    /* Contexts that live at once. With one more, nothing is ever ready everywhere. */
    POOL_EPOCH_CONTEXTS = 64,
};

struct pool_epoch_context {
    _Atomic uint32_t context; /* its number; 0: the slot is free. Under the lock */
    _Atomic bool waited;      /* somebody has waited for it */
    _Atomic bool polling; /* a thread is asking about the event, or the context is held */
    _Atomic uint64_t
        ended;      /* ticket of the latest synchronisation that has ended; rises */
    uint64_t event; /* ticket of the event on its way; 0: none. Of who polls */
};

struct pool_epochs {
    const struct pool_source *source;
    _Alignas(
        64) _Atomic uint64_t begun; /* how many synchronisations have begun: tickets */
    _Alignas(64) _Atomic uint64_t everywhere; /* least `ended` of all contexts */
    struct pool_lock lock;                    /* guards what contexts there are */
    _Atomic bool waited;                      /* somebody has waited for some context */
    bool overflowed;                          /* there was one too many; under the lock */
    struct pool_epoch_context contexts[POOL_EPOCH_CONTEXTS];
};

void pool_epochs_open(struct pool_epochs *epochs, const struct pool_source *source);

/* A context lives. `is_new`: nothing was submitted to it yet, so that what was freed before
   is none of its business. Again for the same context: nothing happens. */
void pool_epochs_add(struct pool_epochs *epochs, uint32_t context, bool is_new);

/* It has ended, and its work with it. */
void pool_epochs_drop(struct pool_epochs *epochs, uint32_t context);

/* Around the end of a context: meanwhile the source is not asked about it. Waits for a thread
   that is asking; that thread waits for nothing. */
void pool_epochs_hold(struct pool_epochs *epochs, uint32_t context);
void pool_epochs_let(struct pool_epochs *epochs, uint32_t context);

/* A synchronisation begins: before the driver is called. The ticket. */
uint64_t pool_epochs_begin(struct pool_epochs *epochs);

/* It has ended, and the driver said that all work of the context is done. A context that was
   never added counts from now on. */
void pool_epochs_end(struct pool_epochs *epochs, uint32_t context, uint64_t ticket);

/* The stamp of a free that happens now. */
static inline uint64_t pool_epochs_stamp(const struct pool_epochs *epochs)
{
    return atomic_load_explicit(&epochs->begun, memory_order_relaxed); /* A */
}

/* What was freed in a context is ready when its stamp is below; 0: nothing is. */
uint64_t pool_epochs_ended(const struct pool_epochs *epochs, uint32_t context);

/* The same for what any context could use. */
static inline uint64_t pool_epochs_ended_everywhere(const struct pool_epochs *epochs)
{
    return atomic_load_explicit(&epochs->everywhere, memory_order_acquire); /* B */
}

/* Whether anybody, or an event, has ever waited for the context; for any context (0). */
bool pool_epochs_has_waited(const struct pool_epochs *epochs, uint32_t context);

/* Asks for readiness of what was stamped so: events under way, and a new one where none is.
   Never waits. In a context, or everywhere (0). The source must have events. */
void pool_epochs_poll(struct pool_epochs *epochs, uint32_t context, uint64_t stamp);

#endif

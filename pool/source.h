/* Where memory enters the pool: the kernel in life, a fake in tests. The pool asks for
   address space once, makes pieces of it writable as they are first needed, and never
   calls the kernel itself. */
#ifndef POOL_SOURCE_H
#define POOL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of an event that was recorded. */
enum pool_event {
    POOL_EVENT_PENDING,
    POOL_EVENT_DONE,
    POOL_EVENT_LOST, /* nothing will ever be known of it */
};

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
    /* Asks for huge pages in a piece; at best a hint. NULL: the source has none. */
    void (*prefer_huge)(void *address, size_t bytes);
    /* Marks a piece whose contents a child of fork need not have: it reads as zero there. Or
       takes the mark back. False when the source refuses. NULL: the source cannot. */
    bool (*wipe_on_fork)(void *address, size_t bytes, bool wipe);
    /* Moves contents between two pieces of equal size without copying; what is left reads as
       zero. False, and nothing changed, when the source refuses. NULL: it cannot. */
    bool (*move)(void *from, void *to, size_t bytes);
    /* Asked before memory enters: a block is about to hold `bytes` more than it does. False: it
       must not. What was charged is refunded when the memory has left; discard, when it
       succeeds, does so by itself. NULL, both: nothing is counted. May be called under the
       pool's locks. */
    bool (*charge)(size_t bytes);
    void (*refund)(size_t bytes);
    /* A clock that never goes back, in milliseconds. NULL: nothing ever ages. */
    uint64_t (*now_ms)(void);
    /* Records an event over all work that was submitted to a context so far, in the place of
       the one before; false when that cannot be done now. NULL: the source has no events. */
    bool (*event_record)(uint32_t context);
    /* What has become of it. Does not wait. */
    enum pool_event (*event_state)(uint32_t context);
};

static inline bool pool_source_charge(const struct pool_source *source, size_t bytes)
{
    return !source->charge || bytes == 0 || source->charge(bytes);
}

static inline void pool_source_refund(const struct pool_source *source, size_t bytes)
{
    if (source->charge && bytes > 0)
        source->refund(bytes);
}

#endif

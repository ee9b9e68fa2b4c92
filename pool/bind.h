/* Explicit binds, from inside: what pool/tidemark.h describes, over any source of host memory.
   The functions of that header are defined here in the pool, but for tidemark_set_open,
   which knows where host memory comes from. */
#ifndef POOL_BIND_H
#define POOL_BIND_H

#include "pool/arena.h"
#include "pool/bind_leases.h"
#include "pool/bind_record.h"
#include "pool/retained.h"
#include "pool/spill.h"
#include "pool/tidemark.h"

enum pool_bind_phase {
    POOL_BIND_IDLE,      /* no bind is in flight */
    POOL_BIND_RECORDING, /* objects are claimed */
    POOL_BIND_SHIPPED,   /* they were uploaded */
    POOL_BIND_HELD,      /* between binds, one thread works on the slot */
};

/* Who is told of binds; each is called in the thread that does it. */
struct pool_bind_observer {
    void (*begins)(struct tidemark_bind *bind);
    void (*phase)(struct tidemark_bind *bind, const char *phase);
    void (*ends)(struct tidemark_bind *bind); /* before the slot is given up */
};

/* The observer's own; the pool does not look at it. */
struct pool_bind_watch {
    long thread;
    const char *phase; /* NULL: none */
    struct pool_bind_figures began, phase_began;
};

/* A slot, and the bind in flight on it. */
struct tidemark_bind {
    struct tidemark_set *set;
    _Atomic int phase;
    bool is_left;    /* the last bind was forgotten, not ended */
    uint64_t number; /* of binds begun */
    struct pool_bind_memory host, device;

    struct pool_arena objects; /* over the staging block, as it was when the bind began */
    struct pool_spills spills;
    _Atomic uint64_t spilled;
    struct pool_retained staging; /* host: objects are recorded here */
    struct pool_retained shipped; /* device: and live here */

    struct pool_retained mirror;      /* host */
    struct pool_retained temporaries; /* device */
    struct pool_arena slices;         /* over the temporaries */
    struct pool_bind_leases leases;

    struct tidemark_counts counts; /* those that only the bind's own thread adds to */
    struct pool_bind_watch watch;
};

struct tidemark_set {
    struct tidemark_settings settings;
    struct pool_arena_shape object, slice;
    struct pool_bind_source host_source, device_source;
    struct pool_bind_budget host_budget, device_budget;
    uint64_t address;                          /* of this, as the source gave it */
    const struct pool_bind_observer *observer; /* or NULL */
    struct tidemark_bind slots[];
};

/* As tidemark_set_open, with host memory from `host`; its addresses are pointers, aligned as
   malloc's are at least, and its free does not fail. */
enum tidemark_result pool_set_open(const struct tidemark_settings *settings,
                                   const struct pool_bind_source *host,
                                   const struct pool_bind_observer *observer,
                                   struct tidemark_set **set);

/* Whether `align` is a power of two within the limits. */
static inline bool pool_bind_may_align(size_t align)
{
    return align != 0 && (align & (align - 1)) == 0 && align <= TIDEMARK_ALIGN_MAX;
}

/* Whether the bind is in this phase, or in flight at all, seen by one of its own threads. */
bool pool_bind_is_in(const struct tidemark_bind *bind, enum pool_bind_phase phase);
bool pool_bind_is_open(const struct tidemark_bind *bind);

/* Takes an idle slot for one thread; false when a bind is in flight, or somebody else has it.
   Then: the next phase, or back to idle. */
POLICY_MUST_CHECK bool pool_bind_hold(struct tidemark_bind *bind);
void pool_bind_enter(struct tidemark_bind *bind, enum pool_bind_phase phase);
void pool_bind_let_go(struct tidemark_bind *bind);

/* Begins a bind on a slot that is held. */
void pool_bind_begin(struct tidemark_bind *bind);

/* Starts the slices over what the slot keeps. */
void pool_bind_open_slices(struct tidemark_bind *bind);

/* Ends every lease, after copying back where that is asked for; the first refusal. */
enum tidemark_result pool_bind_end_leases(struct tidemark_bind *bind, bool copies_back);

/* Forgets the bind in flight, without a call. */
void pool_bind_forget(struct tidemark_bind *bind);

/* Ends what a forgotten bind had left on a slot that is held; the first refusal. */
enum tidemark_result pool_bind_settle(struct tidemark_bind *bind);

/* Gives back everything that a held slot keeps; the first refusal. */
enum tidemark_result pool_bind_release(struct tidemark_bind *bind);

/* What the device's error means, after keeping it for the counts. */
enum tidemark_result pool_bind_keep_error(struct tidemark_bind *bind, int error);

/* Where the header of an object is in its piece. */
static inline size_t pool_bind_header_offset(const struct tidemark_set *set)
{
    return set->object.prefix_bytes - sizeof(struct tidemark_header);
}

#endif

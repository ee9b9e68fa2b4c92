#include "pool/epochs.h"

#include <sched.h>

/* Memory order
   [A] begun. A thread submits work that uses a block, frees the block and takes a stamp;
       another begins a synchronisation, takes a ticket and calls the driver. Where the ticket
       is above the stamp, the driver must know of the work when it is called. If it did not,
       then its own lock orders that call before the submission; the ticket, which was taken
       before the call, happened before the stamp, and the stamp would be at least the ticket.
       So relaxed suffices for the stamp, whatever thread submitted, as long as the free comes
       after it. Tickets have one order, and each follows whatever was done before those below
       it: others count by them, too.

   [B] ended, everywhere. Stored with release after the driver has said so and read with
       acquire before a block is handed out: what a device wrote before is seen by whoever
       gets the block next.

   [C] polling is a lock that nobody waits for but who ends a context: acquired by exchange,
       released by store; it guards `event` and the source's event of the context.

   [D] context, waited. Written under the lock; a reader that meets an older value takes the
       context for unknown, or for one that nobody waits for, and nothing is ready or kept. */

void pool_epochs_open(struct pool_epochs *epochs, const struct pool_source *source)
{
    epochs->source = source;
    pool_lock_open(&epochs->lock);
}

/* The slot of a context; NULL when it has none. Numbers follow each other, so the first look
   nearly always meets it. */
static struct pool_epoch_context *find(const struct pool_epochs *epochs, uint32_t context)
{
    const struct pool_epoch_context *contexts = epochs->contexts;
    for (uint32_t probe = 0; context && probe < POOL_EPOCH_CONTEXTS; probe++) {
        uint32_t slot = (context + probe) % POOL_EPOCH_CONTEXTS;
        if (atomic_load_explicit(&contexts[slot].context, memory_order_relaxed) == /* D */
            context)
            return (struct pool_epoch_context *)(uintptr_t)&contexts[slot];
    }
    return NULL;
}

/* Under the lock. */
static void note_everywhere(struct pool_epochs *epochs)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t slot = 0; slot < POOL_EPOCH_CONTEXTS; slot++) {
        const struct pool_epoch_context *at = &epochs->contexts[slot];
        if (atomic_load_explicit(&at->context, memory_order_relaxed) == 0) /* D */
            continue;
        uint64_t ended = atomic_load_explicit(&at->ended, memory_order_acquire); /* B */
        least = ended < least ? ended : least;
    }
    if (least == UINT64_MAX || epochs->overflowed)
        least = 0;
    atomic_store_explicit(&epochs->everywhere, least, memory_order_release); /* B */
}

/* Under the lock. NULL when there is no room. */
static struct pool_epoch_context *add(struct pool_epochs *epochs, uint32_t context,
                                      uint64_t ended)
{
    struct pool_epoch_context *at = find(epochs, context);
    if (at)
        return at;
    for (uint32_t probe = 0; probe < POOL_EPOCH_CONTEXTS && !at; probe++) {
        uint32_t slot = (context + probe) % POOL_EPOCH_CONTEXTS;
        if (atomic_load_explicit(&epochs->contexts[slot].context, memory_order_relaxed) ==
            0) /* D */
            at = &epochs->contexts[slot];
    }
    if (!at) {
        epochs->overflowed = true;
        return NULL;
    }
    at->event = 0;
    atomic_store_explicit(&at->waited, false, memory_order_relaxed);    /* D */
    atomic_store_explicit(&at->ended, ended, memory_order_release);     /* B */
    atomic_store_explicit(&at->context, context, memory_order_relaxed); /* D */
    return at;
}

void pool_epochs_add(struct pool_epochs *epochs, uint32_t context, bool is_new)
{
    if (find(epochs, context) || !pool_lock_take(&epochs->lock))
        return;
    uint64_t ended = is_new ? pool_epochs_begin(epochs) : 0;
    (void)add(epochs, context, ended);
    note_everywhere(epochs);
    pool_lock_give(&epochs->lock);
}

void pool_epochs_drop(struct pool_epochs *epochs, uint32_t context)
{
    if (!pool_lock_take(&epochs->lock))
        return;
    struct pool_epoch_context *at = find(epochs, context);
    if (at) {
        atomic_store_explicit(&at->context, 0, memory_order_relaxed);     /* D */
        atomic_store_explicit(&at->polling, false, memory_order_release); /* C */
    }
    note_everywhere(epochs);
    pool_lock_give(&epochs->lock);
}

static bool begin_polling(struct pool_epoch_context *at)
{
    return !atomic_exchange_explicit(&at->polling, true, memory_order_acquire); /* C */
}

static void end_polling(struct pool_epoch_context *at)
{
    atomic_store_explicit(&at->polling, false, memory_order_release); /* C */
}

void pool_epochs_hold(struct pool_epochs *epochs, uint32_t context)
{
    struct pool_epoch_context *at = find(epochs, context);
    while (at && !begin_polling(at))
        sched_yield();
}

void pool_epochs_let(struct pool_epochs *epochs, uint32_t context)
{
    struct pool_epoch_context *at = find(epochs, context);
    if (at)
        end_polling(at);
}

uint64_t pool_epochs_begin(struct pool_epochs *epochs)
{
    return 1 + atomic_fetch_add_explicit(&epochs->begun, 1, memory_order_acq_rel); /* A */
}

void pool_epochs_end(struct pool_epochs *epochs, uint32_t context, uint64_t ticket)
{
    if (!pool_lock_take(&epochs->lock))
        return;
    struct pool_epoch_context *at = add(epochs, context, 0);
    atomic_store_explicit(&epochs->waited, true, memory_order_relaxed); /* D */
    if (at)
        atomic_store_explicit(&at->waited, true, memory_order_relaxed); /* D */
    if (at && atomic_load_explicit(&at->ended, memory_order_relaxed) < ticket) {
        atomic_store_explicit(&at->ended, ticket, memory_order_release); /* B */
        note_everywhere(epochs);
    }
    pool_lock_give(&epochs->lock);
}

uint64_t pool_epochs_ended(const struct pool_epochs *epochs, uint32_t context)
{
    const struct pool_epoch_context *at = find(epochs, context);
    return at ? atomic_load_explicit(&at->ended, memory_order_acquire) : 0; /* B */
}

bool pool_epochs_has_waited(const struct pool_epochs *epochs, uint32_t context)
{
    const struct pool_epoch_context *at = context ? find(epochs, context) : NULL;
    const _Atomic bool *waited = context ? (at ? &at->waited : NULL) : &epochs->waited;
    return waited && atomic_load_explicit(waited, memory_order_relaxed); /* D */
}

/* Whether no event is on its way any more. */
static bool event_is_over(struct pool_epochs *epochs, struct pool_epoch_context *at,
                          uint32_t context)
{
    if (at->event == 0)
        return true;
    enum pool_event state = epochs->source->event_state(context);
    if (state == POOL_EVENT_DONE)
        pool_epochs_end(epochs, context, at->event);
    if (state != POOL_EVENT_PENDING)
        at->event = 0;
    return at->event == 0;
}

/* An event that was recorded over idle streams is done at once. */
static void poll_one(struct pool_epochs *epochs, struct pool_epoch_context *at,
                     uint64_t stamp)
{
    if (!begin_polling(at))
        return;
    uint32_t context = atomic_load_explicit(&at->context, memory_order_relaxed); /* D */
    if (context != 0 && event_is_over(epochs, at, context) &&
        atomic_load_explicit(&at->ended, memory_order_relaxed) <= stamp) {
        uint64_t ticket = pool_epochs_begin(epochs);
        if (epochs->source->event_record(context)) {
            at->event = ticket;
            (void)event_is_over(epochs, at, context);
        }
    }
    end_polling(at);
}

void pool_epochs_poll(struct pool_epochs *epochs, uint32_t context, uint64_t stamp)
{
    if (context != 0) {
        struct pool_epoch_context *at = find(epochs, context);
        if (at)
            poll_one(epochs, at, stamp);
        return;
    }
    for (uint32_t slot = 0; slot < POOL_EPOCH_CONTEXTS; slot++) {
        struct pool_epoch_context *at = &epochs->contexts[slot];
        if (atomic_load_explicit(&at->ended, memory_order_relaxed) <= stamp)
            poll_one(epochs, at, stamp);
    }
}

#include "pool/bind.h"

#include <string.h>

/* Memory order
   [A] phase, taking an idle slot: the exchange that takes it acquires what the release of the
       thread that left it idle had published, so a slot may go from thread to thread.
   [B] phase, asked by a bind's own threads: they were given the handle after the bind began, and
       by that hand-over see it begun. A claim that comes too late is the caller's mistake;
       the answer to it is a courtesy.
   [C] spilled, calls, error: figures, read by the bind's thread after its recorders are done. */

bool pool_bind_hold(struct tidemark_bind *bind)
{
    int idle = POOL_BIND_IDLE;
    return atomic_compare_exchange_strong_explicit(&bind->phase, &idle, POOL_BIND_HELD,
                                                   memory_order_acquire,  /* A */
                                                   memory_order_relaxed); /* A */
}

void pool_bind_let_go(struct tidemark_bind *bind)
{
    atomic_store_explicit(&bind->phase, POOL_BIND_IDLE, memory_order_release); /* A */
}

void pool_bind_enter(struct tidemark_bind *bind, enum pool_bind_phase phase)
{
    atomic_store_explicit(&bind->phase, (int)phase, memory_order_relaxed); /* B */
}

bool pool_bind_is_in(const struct tidemark_bind *bind, enum pool_bind_phase phase)
{
    return atomic_load_explicit(&bind->phase, memory_order_relaxed) == (int)phase; /* B */
}

bool pool_bind_is_open(const struct tidemark_bind *bind)
{
    return pool_bind_is_in(bind, POOL_BIND_RECORDING) ||
           pool_bind_is_in(bind, POOL_BIND_SHIPPED);
}

void pool_bind_forget(struct tidemark_bind *bind)
{
    if (!pool_bind_is_open(bind))
        return;
    bind->is_left = true;
    pool_bind_let_go(bind);
}

enum tidemark_result pool_bind_keep_error(struct tidemark_bind *bind, int error)
{
    if (error == 0)
        return TIDEMARK_DONE;
    atomic_store_explicit(&bind->device.error, error, memory_order_relaxed); /* C */
    return TIDEMARK_DEVICE_REFUSED;
}

enum tidemark_result pool_bind_settle(struct tidemark_bind *bind)
{
    if (!bind->is_left)
        return TIDEMARK_DONE;
    bind->is_left = false;
    pool_spills_end(&bind->spills, &bind->host);
    /* The host memory that a lease names may be gone by now. */
    return pool_bind_end_leases(bind, false);
}

enum tidemark_result pool_bind_release(struct tidemark_bind *bind)
{
    struct pool_retained *of_device[] = {&bind->shipped, &bind->temporaries};
    struct pool_retained *of_host[] = {&bind->staging, &bind->mirror,
                                       &bind->leases.block};
    enum tidemark_result result = TIDEMARK_DONE;
    for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
        enum tidemark_result one = pool_retained_release(of_device[i], &bind->device);
        result = result == TIDEMARK_DONE ? one : result;
    }
    for (size_t i = 0; i < sizeof(of_host) / sizeof(of_host[0]); i++)
        (void)pool_retained_release(of_host[i], &bind->host); /* never refused */
    return result;
}

static void begin_counts(struct pool_bind_memory *memory)
{
    atomic_store_explicit(&memory->calls, 0, memory_order_relaxed); /* C */
    atomic_store_explicit(&memory->error, 0, memory_order_relaxed); /* C */
}

void pool_bind_begin(struct tidemark_bind *bind)
{
    (void)pool_bind_settle(bind);
    begin_counts(&bind->host);
    begin_counts(&bind->device);
    atomic_store_explicit(&bind->spilled, 0, memory_order_relaxed); /* C */
    bind->number++;
    bind->counts = (struct tidemark_counts){.bind = bind->number};
    pool_spills_open(&bind->spills);
    pool_arena_open(&bind->objects, (const void *)(uintptr_t)bind->staging.base,
                    pool_retained_room(&bind->staging), bind->set->object);
    pool_bind_open_slices(bind);
    pool_bind_enter(bind, POOL_BIND_RECORDING);
    if (bind->set->observer)
        bind->set->observer->begins(bind);
}

/* Makes a piece an object: its header, and zeroes wherever no image will be. Returns the image. */
static char *begin_object(const struct tidemark_bind *bind, char *piece,
                          size_t piece_bytes, uint64_t key, size_t image_bytes)
{
    const struct tidemark_header header = {
        .magic = TIDEMARK_OBJECT_MAGIC,
        .key = key,
        .image_bytes = image_bytes,
        .bind = bind->number,
    };
    const size_t before = pool_bind_header_offset(bind->set);
    const size_t prefix = bind->set->object.prefix_bytes;
    memset(piece, 0, before);
    memcpy(piece + before, &header, sizeof(header));
    memset(piece + prefix + image_bytes, 0, piece_bytes - prefix - image_bytes);
    return piece + prefix;
}

static enum tidemark_result spill(struct tidemark_bind *bind, uint64_t key,
                                  size_t piece_bytes, struct tidemark_object *object)
{
    struct pool_spill *made;
    enum tidemark_result result = pool_spill_push(&bind->spills, &bind->host, piece_bytes,
                                                  bind->set->object.align, &made);
    if (result != TIDEMARK_DONE)
        return result;
    atomic_fetch_add_explicit(&bind->spilled, 1, memory_order_relaxed); /* C */
    object->image =
        begin_object(bind, made->piece, piece_bytes, key, object->image_bytes);
    object->offset = TIDEMARK_NO_OFFSET;
    object->spilled = made;
    return TIDEMARK_DONE;
}

enum tidemark_result tidemark_bind_claim(struct tidemark_bind *bind, uint64_t key,
                                         size_t image_bytes,
                                         struct tidemark_object *object)
{
    size_t piece_bytes, offset;
    if (!bind || !object)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_in(bind, POOL_BIND_RECORDING))
        return TIDEMARK_OUT_OF_TURN;
    if (!pool_arena_piece(bind->set->object, image_bytes, &piece_bytes))
        return TIDEMARK_TOO_LARGE;
    struct tidemark_object made = {.image_bytes = image_bytes};
    if (pool_arena_claim(&bind->objects, image_bytes, &offset)) {
        char *piece = (char *)(uintptr_t)bind->staging.base + offset;
        made.image = begin_object(bind, piece, piece_bytes, key, image_bytes);
        made.offset = offset + pool_bind_header_offset(bind->set);
    } else {
        enum tidemark_result result = spill(bind, key, piece_bytes, &made);
        if (result != TIDEMARK_DONE)
            return result;
    }
    *object = made;
    return TIDEMARK_DONE;
}

enum tidemark_result tidemark_bind_phase(struct tidemark_bind *bind, const char *name)
{
    if (!bind || !name)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind))
        return TIDEMARK_OUT_OF_TURN;
    if (bind->set->observer)
        bind->set->observer->phase(bind, name);
    return TIDEMARK_DONE;
}

void tidemark_bind_counts(const struct tidemark_bind *bind,
                          struct tidemark_counts *counts)
{
    *counts = bind->counts;
    counts->spilled = atomic_load_explicit(&bind->spilled, memory_order_relaxed); /* C */
    counts->host_calls =
        atomic_load_explicit(&bind->host.calls, memory_order_relaxed); /* C */
    counts->device_calls =
        atomic_load_explicit(&bind->device.calls, memory_order_relaxed); /* C */
    counts->device_error =
        atomic_load_explicit(&bind->device.error, memory_order_relaxed); /* C */
}

/* The end of a recording: what was recorded is checked, put together and shipped at once. */
#include <string.h>

#include "pool/bind.h"

/* The piece of the object whose header is at `header`; 0: no claim of this bind wrote it, or
   somebody wrote past the end of the object before it. */
static size_t piece_of(const struct tidemark_bind *bind, const char *at)
{
    struct tidemark_header header;
    size_t piece_bytes;
    memcpy(&header, at, sizeof(header));
    if (!tidemark_header_is_object(&header, bind->number) ||
        !pool_arena_piece(bind->set->object, header.image_bytes, &piece_bytes))
        return 0;
    return piece_bytes;
}

/* Walks the arena from header to header, and counts. */
static bool check_recorded(const struct tidemark_bind *bind, size_t used_bytes,
                           uint64_t *count)
{
    const char *base = (const char *)(uintptr_t)bind->staging.base;
    const size_t before = pool_bind_header_offset(bind->set);
    for (size_t offset = 0; offset < used_bytes; (*count)++) {
        size_t piece_bytes = piece_of(bind, base + offset + before);
        if (piece_bytes == 0 || piece_bytes > used_bytes - offset)
            return false;
        offset += piece_bytes;
    }
    return true;
}

/* Checks what spilled and gives each a place behind `*total_bytes`, which grows by it. */
static enum tidemark_result place_spilled(const struct tidemark_bind *bind,
                                          uint64_t *total_bytes, uint64_t *count)
{
    const size_t before = pool_bind_header_offset(bind->set);
    for (struct pool_spill *spill = pool_spills_first(&bind->spills); spill;
         spill = spill->next) {
        if (piece_of(bind, spill->piece + before) != spill->piece_bytes)
            return TIDEMARK_OVERRUN;
        spill->offset = (size_t)*total_bytes;
        if (!policy_checked_add(*total_bytes, spill->piece_bytes, total_bytes))
            return TIDEMARK_TOO_LARGE;
        (*count)++;
    }
    return TIDEMARK_DONE;
}

/* The host first: its failure leaves the device alone. */
static enum tidemark_result make_room(struct tidemark_bind *bind, size_t used_bytes,
                                      size_t total_bytes)
{
    struct pool_retained_need need = {
        .bytes = total_bytes,
        .align = bind->set->object.align,
        .kept_bytes = used_bytes,
    };
    enum tidemark_result result =
        pool_retained_acquire(&bind->staging, &bind->host, &need);
    if (result != TIDEMARK_DONE)
        return result;
    need.kept_bytes = 0;
    need.is_cleared = true;
    return pool_retained_acquire(&bind->shipped, &bind->device, &need);
}

static enum tidemark_result ship(struct tidemark_bind *bind, size_t total_bytes)
{
    const struct tidemark_device *device = &bind->set->settings.device;
    char *base = (char *)(uintptr_t)bind->staging.base;
    for (const struct pool_spill *spill = pool_spills_first(&bind->spills); spill;
         spill = spill->next)
        memcpy(base + spill->offset, spill->piece, spill->piece_bytes);
    int error = device->upload(device->context, bind->shipped.base, base, total_bytes);
    return pool_bind_keep_error(bind, error);
}

enum tidemark_result tidemark_bind_upload(struct tidemark_bind *bind,
                                          struct tidemark_upload *upload)
{
    if (!bind || !upload)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_in(bind, POOL_BIND_RECORDING))
        return TIDEMARK_OUT_OF_TURN;
    size_t used_bytes = pool_arena_used(&bind->objects);
    uint64_t total_bytes = used_bytes, count = 0;
    if (!check_recorded(bind, used_bytes, &count))
        return TIDEMARK_OVERRUN;
    enum tidemark_result result = place_spilled(bind, &total_bytes, &count);
    if (result == TIDEMARK_DONE && total_bytes > 0) {
        result = make_room(bind, used_bytes, (size_t)total_bytes);
        if (result == TIDEMARK_DONE)
            result = ship(bind, (size_t)total_bytes);
    }
    if (result != TIDEMARK_DONE)
        return result;
    bind->counts.objects = count;
    bind->counts.bytes = total_bytes;
    bind->counts.uploads = total_bytes > 0;
    pool_bind_enter(bind, POOL_BIND_SHIPPED);
    *upload = (struct tidemark_upload){
        .address = total_bytes > 0 ? bind->shipped.base : 0,
        .bytes = (size_t)total_bytes,
        .bind = bind->number,
    };
    return TIDEMARK_DONE;
}

enum tidemark_result tidemark_bind_address(const struct tidemark_bind *bind,
                                           const struct tidemark_object *object,
                                           uint64_t *address)
{
    if (!bind || !object || !address)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_in(bind, POOL_BIND_SHIPPED))
        return TIDEMARK_OUT_OF_TURN;
    size_t offset = object->offset;
    if (object->spilled) {
        const struct pool_spill *spill = object->spilled;
        offset = spill->offset + pool_bind_header_offset(bind->set);
    }
    *address = bind->shipped.base + offset;
    return TIDEMARK_DONE;
}

/* What a bind has besides its objects: a mirror, and temporaries for its tensors. */
#include "pool/bind.h"

enum tidemark_result tidemark_bind_mirror(struct tidemark_bind *bind, size_t bytes,
                                          size_t align, void **mirror)
{
    if (!bind || !mirror || bytes == 0 || !pool_bind_may_align(align))
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind))
        return TIDEMARK_OUT_OF_TURN;
    const struct pool_retained_need need = {.bytes = bytes, .align = align};
    enum tidemark_result result =
        pool_retained_acquire(&bind->mirror, &bind->host, &need);
    if (result == TIDEMARK_DONE)
        *mirror = (void *)(uintptr_t)bind->mirror.base;
    return result;
}

void pool_bind_open_slices(struct tidemark_bind *bind)
{
    pool_arena_open(&bind->slices, (const void *)(uintptr_t)bind->temporaries.base,
                    pool_retained_room(&bind->temporaries), bind->set->slice);
}

enum tidemark_result tidemark_bind_plan(struct tidemark_bind *bind, size_t bytes)
{
    if (!bind)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind) || pool_arena_used(&bind->slices) > 0)
        return TIDEMARK_OUT_OF_TURN;
    if (bytes == 0)
        return TIDEMARK_DONE;
    const struct pool_retained_need need = {
        .bytes = bytes,
        .align = bind->set->slice.align,
    };
    enum tidemark_result result =
        pool_retained_acquire(&bind->temporaries, &bind->device, &need);
    if (result == TIDEMARK_DONE)
        pool_bind_open_slices(bind);
    return result;
}

enum tidemark_result tidemark_bind_slice(struct tidemark_bind *bind, size_t bytes,
                                         uint64_t *address)
{
    size_t offset;
    if (!bind || !address)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind))
        return TIDEMARK_OUT_OF_TURN;
    if (!pool_arena_claim(&bind->slices, bytes, &offset))
        return TIDEMARK_NO_ROOM;
    *address = bind->temporaries.base + offset;
    return TIDEMARK_DONE;
}

/* The one answer to whether a tensor gets a slice: planned and not sliced, or sliced and not
   planned, every later slice would be another's. */
static bool is_sliced(const struct tidemark_tensor *tensor)
{
    return tensor->device == 0 && tensor->bytes > 0;
}

static enum tidemark_result check_tensors(const struct tidemark_bind *bind,
                                          const struct tidemark_tensor *tensors,
                                          size_t count, size_t *required_bytes)
{
    uint64_t required = 0;
    for (size_t i = 0; i < count; i++) {
        size_t slice_bytes;
        if (!is_sliced(&tensors[i]))
            continue;
        if ((tensors[i].is_input || tensors[i].is_output) && !tensors[i].host)
            return TIDEMARK_MALFORMED;
        if (tensors[i].is_output && !bind->set->settings.device.download)
            return TIDEMARK_MALFORMED;
        if (!pool_arena_piece(bind->set->slice, tensors[i].bytes, &slice_bytes) ||
            !policy_checked_add(required, slice_bytes, &required))
            return TIDEMARK_TOO_LARGE;
    }
    *required_bytes = (size_t)required;
    return TIDEMARK_DONE;
}

/* Slices and leases one tensor, and copies it in. There is room for the lease. */
static enum tidemark_result stage_one(struct tidemark_bind *bind,
                                      const struct tidemark_tensor *tensor)
{
    const struct tidemark_device *device = &bind->set->settings.device;
    struct tidemark_lease lease = {
        .host = tensor->host,
        .device = tensor->device,
        .bytes = tensor->bytes,
        .ending = TIDEMARK_ENDS_CALLER,
    };
    if (is_sliced(tensor)) {
        enum tidemark_result result =
            tidemark_bind_slice(bind, tensor->bytes, &lease.device);
        if (result != TIDEMARK_DONE)
            return result;
        lease.ending = TIDEMARK_ENDS_SLICE;
        lease.copies_back = tensor->is_output;
    }
    if (is_sliced(tensor) && tensor->is_input) {
        int error =
            device->upload(device->context, lease.device, tensor->host, tensor->bytes);
        if (error != 0)
            return pool_bind_keep_error(bind, error);
        bind->counts.copied_in++;
    }
    pool_bind_leases_add(&bind->leases, &lease);
    return TIDEMARK_DONE;
}

/* All of them, or none. */
static enum tidemark_result stage_all(struct tidemark_bind *bind,
                                      const struct tidemark_tensor *tensors, size_t count)
{
    const size_t before = bind->leases.count;
    enum tidemark_result result = TIDEMARK_DONE;
    for (size_t i = 0; i < count && result == TIDEMARK_DONE; i++)
        result = stage_one(bind, &tensors[i]);
    if (result != TIDEMARK_DONE) {
        bind->leases.count = before;
        pool_bind_open_slices(bind);
    }
    return result;
}

enum tidemark_result tidemark_bind_stage(struct tidemark_bind *bind,
                                         struct tidemark_tensor *tensors, size_t count)
{
    size_t required;
    if (!bind || (!tensors && count > 0))
        return TIDEMARK_MALFORMED;
    enum tidemark_result result = check_tensors(bind, tensors, count, &required);
    if (result == TIDEMARK_DONE)
        result = tidemark_bind_plan(bind, required);
    if (result == TIDEMARK_DONE)
        result = pool_bind_leases_reserve(&bind->leases, &bind->host, count);
    if (result == TIDEMARK_DONE)
        result = stage_all(bind, tensors, count);
    if (result != TIDEMARK_DONE)
        return result;
    const size_t first = bind->leases.count - count;
    for (size_t i = 0; i < count; i++)
        tensors[i].device = pool_bind_leases_at(&bind->leases, first + i)->device;
    return TIDEMARK_DONE;
}

/* How a bind ends: its leases, and the bind itself. */
#include "pool/bind.h"

/* Whether a lease can be ended as it says. */
static bool is_endable(const struct tidemark_bind *bind,
                       const struct tidemark_lease *lease)
{
    if (lease->ending < TIDEMARK_ENDS_FREED || lease->ending > TIDEMARK_ENDS_CALLER)
        return false;
    return !lease->copies_back || (bind->set->settings.device.download && lease->host);
}

enum tidemark_result tidemark_bind_lease(struct tidemark_bind *bind,
                                         const struct tidemark_lease *lease)
{
    if (!bind || !lease || !is_endable(bind, lease))
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind))
        return TIDEMARK_OUT_OF_TURN;
    enum tidemark_result result = pool_bind_leases_reserve(&bind->leases, &bind->host, 1);
    if (result == TIDEMARK_DONE)
        pool_bind_leases_add(&bind->leases, lease);
    return result;
}

static enum tidemark_result copy_back(struct tidemark_bind *bind,
                                      const struct tidemark_lease *lease)
{
    const struct tidemark_device *device = &bind->set->settings.device;
    int error =
        device->download(device->context, lease->host, lease->device, lease->bytes);
    bind->counts.copied_back += error == 0;
    return pool_bind_keep_error(bind, error);
}

static enum tidemark_result end_one(struct tidemark_bind *bind,
                                    const struct tidemark_lease *lease)
{
    const struct tidemark_device *device = &bind->set->settings.device;
    switch (lease->ending) {
    case TIDEMARK_ENDS_FREED:
        bind->counts.ended_freed++;
        pool_bind_memory_count_call(&bind->device);
        return pool_bind_keep_error(bind,
                                    device->release(device->context, lease->device));
    case TIDEMARK_ENDS_SLICE:
        bind->counts.ended_slice++;
        break;
    case TIDEMARK_ENDS_CALLER:
        bind->counts.ended_caller++;
        break;
    }
    return TIDEMARK_DONE;
}

/* Everything comes back before anything goes: a free may wait for the device. */
enum tidemark_result pool_bind_end_leases(struct tidemark_bind *bind, bool copies_back)
{
    enum tidemark_result result = TIDEMARK_DONE, one;
    const size_t count = bind->leases.count;
    for (size_t i = 0; copies_back && i < count; i++) {
        const struct tidemark_lease *lease = pool_bind_leases_at(&bind->leases, i);
        one =
            lease->copies_back && lease->device ? copy_back(bind, lease) : TIDEMARK_DONE;
        result = result == TIDEMARK_DONE ? one : result;
    }
    for (size_t i = 0; i < count; i++) {
        const struct tidemark_lease *lease = pool_bind_leases_at(&bind->leases, i);
        one = lease->device ? end_one(bind, lease) : TIDEMARK_DONE;
        result = result == TIDEMARK_DONE ? one : result;
    }
    bind->leases.count = 0;
    return result;
}

enum tidemark_result tidemark_bind_end(struct tidemark_bind *bind, int is_failed)
{
    if (!bind)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_is_open(bind))
        return TIDEMARK_OUT_OF_TURN;
    enum tidemark_result result = pool_bind_end_leases(bind, !is_failed);
    pool_spills_end(&bind->spills, &bind->host);
    if (bind->set->observer)
        bind->set->observer->ends(bind);
    pool_bind_let_go(bind);
    return result;
}

/* A set of slots: made, looked at, given back and given up. */
#include "pool/bind.h"

enum { SET_ALIGN = _Alignof(struct tidemark_set) };

static bool is_possible(const struct tidemark_settings *settings)
{
    const struct tidemark_device *device = &settings->device;
    return settings->slot_count >= 1 && settings->slot_count <= TIDEMARK_SLOTS_MAX &&
           pool_bind_may_align(settings->object_align) &&
           pool_bind_may_align(settings->temporary_align) && device->allocate &&
           device->release && device->upload;
}

static void open_budget(struct pool_bind_budget *budget, uint64_t bytes)
{
    *budget = (struct pool_bind_budget){.ceiling.bytes = bytes ? bytes : UINT64_MAX};
}

/* The header stands right before the image, which is as aligned as the piece. */
static struct pool_arena_shape object_shape(size_t align)
{
    const size_t header = sizeof(struct tidemark_header);
    return (struct pool_arena_shape){
        .prefix_bytes = align > header ? align : header,
        .align = align,
    };
}

static void open_slot(struct tidemark_set *set, struct tidemark_bind *slot)
{
    *slot = (struct tidemark_bind){
        .set = set,
        .host = {.source = &set->host_source, .budget = &set->host_budget},
        .device = {.source = &set->device_source, .budget = &set->device_budget},
    };
}

enum tidemark_result pool_set_open(const struct tidemark_settings *settings,
                                   const struct pool_bind_source *host,
                                   const struct pool_bind_observer *observer,
                                   struct tidemark_set **set)
{
    if (!settings || !set)
        return TIDEMARK_MALFORMED;
    struct tidemark_settings asked = *settings;
    if (asked.object_align == 0)
        asked.object_align = TIDEMARK_OBJECT_ALIGN;
    if (asked.temporary_align == 0)
        asked.temporary_align = TIDEMARK_TEMPORARY_ALIGN;
    if (!is_possible(&asked))
        return TIDEMARK_MALFORMED;
    uint64_t address;
    size_t bytes = sizeof(struct tidemark_set) +
                   asked.slot_count * sizeof(struct tidemark_bind) + SET_ALIGN - 1;
    if (host->allocate(host->context, bytes, &address) != 0)
        return TIDEMARK_NO_HOST_MEMORY;
    uintptr_t base = (address + SET_ALIGN - 1) & ~(uintptr_t)(SET_ALIGN - 1);
    struct tidemark_set *made = (void *)base;
    *made = (struct tidemark_set){
        .settings = asked,
        .object = object_shape(asked.object_align),
        .slice = {.prefix_bytes = 0, .align = asked.temporary_align},
        .host_source = *host,
        .device_source = {.context = asked.device.context,
                          .allocate = asked.device.allocate,
                          .release = asked.device.release,
                          .clear = asked.device.clear,
                          .refusal = TIDEMARK_DEVICE_REFUSED},
        .address = address,
        .observer = observer,
    };
    open_budget(&made->host_budget, asked.host_budget_bytes);
    open_budget(&made->device_budget, asked.device_budget_bytes);
    for (unsigned slot = 0; slot < asked.slot_count; slot++)
        open_slot(made, &made->slots[slot]);
    *set = made;
    return TIDEMARK_DONE;
}

static void free_set(struct tidemark_set *set)
{
    const struct pool_bind_source host = set->host_source;
    (void)host.release(host.context, set->address);
}

/* All of them or none: the caller may then end the bind that is in the way. */
static bool hold_all(struct tidemark_set *set)
{
    for (unsigned slot = 0; slot < set->settings.slot_count; slot++) {
        if (pool_bind_hold(&set->slots[slot]))
            continue;
        while (slot-- > 0)
            pool_bind_let_go(&set->slots[slot]);
        return false;
    }
    return true;
}

enum tidemark_result tidemark_set_close(struct tidemark_set *set)
{
    enum tidemark_result result = TIDEMARK_DONE;
    if (!set)
        return TIDEMARK_MALFORMED;
    if (!hold_all(set))
        return TIDEMARK_OUT_OF_TURN;
    for (unsigned slot = 0; slot < set->settings.slot_count; slot++) {
        struct tidemark_bind *bind = &set->slots[slot];
        enum tidemark_result left = pool_bind_settle(bind);
        enum tidemark_result kept = pool_bind_release(bind);
        if (result == TIDEMARK_DONE)
            result = left != TIDEMARK_DONE ? left : kept;
    }
    free_set(set);
    return result;
}

void tidemark_set_abandon(struct tidemark_set *set)
{
    if (!set)
        return;
    for (unsigned slot = 0; slot < set->settings.slot_count; slot++) {
        struct tidemark_bind *bind = &set->slots[slot];
        pool_retained_abandon(&bind->shipped, &bind->device);
        pool_retained_abandon(&bind->temporaries, &bind->device);
        pool_spills_end(&bind->spills, &bind->host);
        (void)pool_bind_release(bind);
    }
    free_set(set);
}

void tidemark_set_held(const struct tidemark_set *set, uint64_t *host_bytes,
                       uint64_t *device_bytes)
{
    *host_bytes = policy_ledger_charged(&set->host_budget.account);
    *device_bytes = policy_ledger_charged(&set->device_budget.account);
}

/* NULL when there is no such slot. */
static struct tidemark_bind *slot_of(struct tidemark_set *set, unsigned slot)
{
    return set && slot < set->settings.slot_count ? &set->slots[slot] : NULL;
}

enum tidemark_result tidemark_slot_release(struct tidemark_set *set, unsigned slot)
{
    struct tidemark_bind *bind = slot_of(set, slot);
    if (!bind)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_hold(bind))
        return TIDEMARK_OUT_OF_TURN;
    enum tidemark_result left = pool_bind_settle(bind);
    enum tidemark_result kept = pool_bind_release(bind);
    pool_bind_let_go(bind);
    return left != TIDEMARK_DONE ? left : kept;
}

enum tidemark_result tidemark_slot_reset(struct tidemark_set *set, unsigned slot)
{
    struct tidemark_bind *bind = slot_of(set, slot);
    if (!bind)
        return TIDEMARK_MALFORMED;
    pool_bind_forget(bind);
    return TIDEMARK_DONE;
}

enum tidemark_result tidemark_bind_open(struct tidemark_set *set, unsigned slot,
                                        struct tidemark_bind **bind)
{
    struct tidemark_bind *idle = slot_of(set, slot);
    if (!idle || !bind)
        return TIDEMARK_MALFORMED;
    if (!pool_bind_hold(idle))
        return TIDEMARK_OUT_OF_TURN;
    pool_bind_begin(idle);
    *bind = idle;
    return TIDEMARK_DONE;
}

/* Retained device and page-locked memory that goes back to the driver, and what contexts and the
   program's waits mean for it. */
#include "shim/driver_observe.h"
#include "shim/driver_source.h"
#include "shim/guard.h"
#include "shim/lease.h"
#include "shim/retain.h"
#include "shim/retain_pool.h"

enum { EVERY_KIND = 1 << POOL_BLOCK_DEVICE | 1 << POOL_BLOCK_PINNED };

/* What the driver would not free stays charged until its context ends. */
uint64_t shim_retain_give_back(const struct shim_driver *driver,
                               const struct pool_device_taken *taken)
{
    struct pool_lease lease;
    bool leased = shim_lease_close(taken->address, &lease);
    bool is_free = shim_source_free(driver, taken);
    if (leased && is_free) {
        shim_lease_settle(&lease);
        return lease.bytes;
    }
    pool_devices_forget(shim_retain_pool(), taken->block);
    if (leased) {
        lease.block = 0;
        shim_lease_open(&lease);
    }
    return 0;
}

/* One batch; false when there was nothing. */
static bool release(const struct shim_driver *driver,
                    const struct pool_device_choice *choice, uint64_t *bytes)
{
    struct pool_device_taken taken[POOL_DEVICE_BATCH];
    size_t count = pool_devices_take(shim_retain_pool(), choice, taken);
    for (size_t i = 0; i < count; i++)
        *bytes += shim_retain_give_back(driver, &taken[i]);
    return count > 0;
}

static bool may_release(void)
{
    return shim_retain_pool() && !shim_observe_capturing();
}

static struct pool_device_choice choose(const struct shim_device *device)
{
    return (struct pool_device_choice){
        .kinds = device ? 1 << POOL_BLOCK_DEVICE : 1 << POOL_BLOCK_PINNED,
        .device = device ? (int)device->ordinal : -1,
    };
}

void shim_retain_make_room(const struct shim_driver *driver,
                           const struct shim_device *device, uint64_t bytes,
                           uint64_t short_bytes)
{
    struct pool_device_choice choice = choose(device);
    uint64_t released = 0;
    if (!may_release() || short_bytes == 0)
        return;
    pool_devices_refused(shim_retain_pool(),
                         device ? POOL_BLOCK_DEVICE : POOL_BLOCK_PINNED,
                         device ? device->ordinal : 0, bytes - short_bytes + 1);
    do
        choice.bytes = short_bytes - released;
    while (release(driver, &choice, &released) && released < short_bytes);
}

/* Whether nothing runs that a free could wait for, by an event that was recorded just now. */
static bool is_at_rest(struct pool_devices *pool, const struct pool_device_key *key)
{
    uint64_t stamp = pool_epochs_stamp(&pool->epochs);
    if (!pool->source->event_record)
        return false;
    pool_epochs_poll(&pool->epochs, key->kind == POOL_BLOCK_PINNED ? 0 : key->context,
                     stamp);
    return pool_devices_ready_below(pool, pool_device_key_pack(key)) > stamp;
}

/* What is idle before some of it goes. */
static void note_idle(struct pool_devices *pool, enum pool_block_kind kind,
                      struct shim_retain_trimmed *trimmed)
{
    struct pool_device_figures figures = pool_devices_read(pool, kind);
    uint64_t idle = figures.idle_bytes + trimmed->trimmed_bytes;
    if (idle > trimmed->idle_bytes)
        trimmed->idle_bytes = idle;
    if (figures.largest_idle_bytes > trimmed->largest_idle_bytes)
        trimmed->largest_idle_bytes = figures.largest_idle_bytes;
}

void shim_retain_make_way(const struct shim_driver *driver,
                          const struct shim_retain_request *request,
                          struct shim_retain_trimmed *trimmed)
{
    struct pool_devices *pool = shim_retain_opened();
    struct shim_place place;
    if (!pool || !POOL_GET(pool, kept) || request->bytes == 0 ||
        !shim_retain_may_act(driver, &place))
        return;
    const struct pool_device_key key = shim_retain_key(request, &place);
    struct pool_device_choice choice = {
        .kinds = 1u << key.kind, .device = -1, .context = key.context};
    choice.bytes = pool_devices_excess(pool, &key, request->bytes);
    if (choice.bytes == 0 || !is_at_rest(pool, &key))
        return;
    note_idle(pool, key.kind, trimmed);
    (void)release(driver, &choice, &trimmed->trimmed_bytes);
}

bool shim_retain_after_refusal(const struct shim_driver *driver, CUresult result,
                               enum pool_lease_kind kind, uint64_t bytes,
                               struct shim_retain_trimmed *trimmed)
{
    struct shim_place place;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || !shim_retain_may_act(driver, &place))
        return false;
    struct pool_devices *pool = shim_retain_pool();
    enum pool_block_kind block = shim_retain_kind(kind);
    struct pool_device_choice choice =
        choose(block == POOL_BLOCK_DEVICE ? place.device : NULL);
    note_idle(pool, block, trimmed);
    uint64_t before = trimmed->trimmed_bytes;
    pool_devices_refused(pool, block, place.device->ordinal, bytes);
    while (release(driver, &choice, &trimmed->trimmed_bytes))
        ;
    return trimmed->trimmed_bytes > before;
}

void shim_retain_trim(void)
{
    const struct pool_device_choice all = {.kinds = EVERY_KIND, .device = -1};
    const struct shim_driver *driver = shim_driver_get();
    uint64_t released = 0;
    if (!driver || !shim_guard_enter())
        return;
    if (may_release())
        while (release(driver, &all, &released))
            ;
    shim_guard_leave();
}

/* One batch is enough: as many frees as that come back soon. Only of the current context, since
   the driver may wait for the work of whatever context it frees memory of. */
void shim_retain_pay(const struct shim_driver *driver)
{
    struct pool_devices *pool = shim_retain_opened();
    struct shim_place place;
    uint64_t released = 0;
    if (!pool || !pool_devices_owes(pool) || !shim_retain_may_act(driver, &place))
        return;
    const struct pool_device_choice owed = {
        .kinds = EVERY_KIND, .device = -1, .context = place.owner, .owed_only = true};
    (void)release(driver, &owed, &released);
}

void shim_retain_forget(uint32_t block)
{
    if (block && shim_retain_opened())
        pool_devices_forget(shim_retain_opened(), block);
}

uint64_t shim_retain_idle_bytes(const struct shim_device *device)
{
    struct pool_devices *pool = shim_retain_opened();
    return pool ? pool_devices_idle_bytes(pool, device->ordinal) : 0;
}

void shim_retain_met(uint32_t owner, bool is_new)
{
    struct pool_devices *pool = shim_retain_pool();
    if (pool)
        pool_epochs_add(&pool->epochs, owner, is_new);
}

void shim_retain_ending(uint32_t owner)
{
    struct pool_devices *pool = shim_retain_pool();
    if (pool)
        pool_devices_ending(pool, owner);
}

void shim_retain_ended(uint32_t owner, bool ended)
{
    struct pool_devices *pool = shim_retain_pool();
    if (!pool)
        return;
    if (ended)
        shim_source_ended(owner);
    pool_devices_end(pool, owner, ended);
}

void shim_retain_synchronised(const struct shim_driver *driver, CUcontext context,
                              uint64_t stamp)
{
    struct pool_devices *pool = shim_retain_pool();
    uint32_t owners[SHIM_RETAIN_INCARNATIONS];
    struct shim_place place;
    if (!pool)
        return;
    bool is_here = shim_place_current(driver, &place) && place.handle == context;
    if (is_here && place.owner && place.is_only) {
        pool_epochs_end(&pool->epochs, place.owner, stamp);
    } else {
        unsigned count = shim_place_owners(context, owners, SHIM_RETAIN_INCARNATIONS);
        while (count > 0)
            pool_epochs_end(&pool->epochs, owners[--count], stamp);
    }
    /* The context has nothing to do just now: a free would not wait. */
    if (is_here)
        shim_retain_pay(driver);
}

void shim_retain_report(struct pool_stats *stats)
{
    struct pool_devices *pool = shim_retain_opened();
    if (!pool)
        return;
    struct pool_device_figures device = pool_devices_read(pool, POOL_BLOCK_DEVICE);
    struct pool_device_figures pinned = pool_devices_read(pool, POOL_BLOCK_PINNED);
#define FIGURE(name)                                                                     \
    stats->device_blocks_##name = device.name;                                           \
    stats->pinned_blocks_##name = pinned.name
    FIGURE(claims);
    FIGURE(reused);
    FIGURE(missed_unready);
    FIGURE(missed_size);
    FIGURE(released);
    FIGURE(released_bytes);
    FIGURE(idle_bytes);
    FIGURE(largest_idle_bytes);
    FIGURE(high_water_bytes);
#undef FIGURE
}

#include "shim/retain.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "shim/driver_observe.h"
#include "shim/driver_source.h"
#include "shim/host_source.h"
#include "shim/init.h"
#include "shim/inspected.h"
#include "shim/lease.h"
#include "shim/memory.h"
#include "shim/retain_pool.h"
#include "shim/say.h"

/* Memory order: is_open is stored with release when the rest is written, and acquired before any
   of it is used. `stopped` is set where a context comes up that the pool's rule does not cover,
   before that context can be used. */

static struct pool_devices pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool is_open;
static const char *state = "off: nothing was allocated by a driver";
static char state_text[96];
static struct pool_source source;
static _Atomic bool stopped;

static uint64_t share_of(const struct policy_ceiling_request *request, uint64_t bytes)
{
    switch (request->kind) {
    case POLICY_CEILING_NONE:
    case POLICY_CEILING_DEVICE:
        return 0;
    case POLICY_CEILING_PERCENT:
        return policy_quantity_share_down(request->share, bytes);
    case POLICY_CEILING_BYTES:
        break;
    }
    return request->bytes;
}

/* Where no ceiling is, a share is one of the whole device. */
static uint64_t retain_bytes(enum pool_block_kind kind, uint32_t ordinal)
{
    const struct policy_options *options = &shim_settings()->options;
    if (kind == POOL_BLOCK_PINNED)
        return share_of(&options->pinned_retain, shim_memory_usable());
    const struct policy_ceiling *ceiling = &shim_device_known(ordinal)->ceiling;
    return share_of(&options->device_retain, ceiling->source == POLICY_CEILING_UNBUDGETED
                                                 ? ceiling->total_bytes
                                                 : ceiling->bytes);
}

static const char *off(const char *reason)
{
    struct pool_text text = {.bytes = state_text, .capacity = sizeof(state_text) - 1};
    pool_text_put(&text, "off: ");
    pool_text_put(&text, reason);
    state_text[text.length] = '\0';
    return state_text;
}

static const char *open_pool(const struct policy_options *options)
{
    const struct shim_driver *driver = shim_driver_get();
    const char *inspected = shim_inspected();
    if (options->device_retain.kind == POLICY_CEILING_NONE &&
        options->pinned_retain.kind == POLICY_CEILING_NONE)
        return off("TIDEMARK_DEVICE_RETAIN and TIDEMARK_PINNED_RETAIN are off");
    if (inspected)
        return off(inspected);
    source = shim_host_source;
    source.charge = NULL; /* records are none of the program's memory */
    source.refund = NULL;
    if (driver && shim_source_has_events(driver)) {
        source.event_record = shim_source_event_record;
        source.event_state = shim_source_event_state;
    }
    const struct pool_device_tuning tuning = {.decay_ms = options->decay,
                                              .retain_bytes = retain_bytes};
    if (!pool_devices_open(&pool, &source, &tuning))
        return off("no address space");
    atomic_store_explicit(&is_open, true, memory_order_release);
    return "on";
}

static void open_once(void)
{
    struct shim_line line;
    state = open_pool(&shim_settings()->options);
    if (!shim_settings()->options.verbose)
        return;
    shim_line_begin(&line);
    pool_text_put(&line.text, "retention of device and page-locked blocks: ");
    pool_text_put(&line.text, state);
    shim_line_end(&line);
}

struct pool_devices *shim_retain_opened(void)
{
    return atomic_load_explicit(&is_open, memory_order_acquire) ? &pool : NULL;
}

struct pool_devices *shim_retain_pool(void)
{
    pthread_once(&once, open_once);
    return shim_retain_opened();
}

uint64_t shim_retain_stamp(void)
{
    return pool_epochs_begin(&pool.epochs);
}

const char *shim_retain_state(void)
{
    return atomic_load_explicit(&stopped, memory_order_relaxed)
               ? "off: the program uses contexts of parts of a device"
               : state;
}

void shim_retain_fork_in_child(void)
{
    if (shim_retain_opened())
        state = "off: a child of fork has no driver";
    atomic_store_explicit(&is_open, false, memory_order_release);
    shim_observe_forget_own();
}

static bool is_kept(enum pool_lease_kind kind)
{
    const struct policy_options *options = &shim_settings()->options;
    return (shim_retain_kind(kind) == POOL_BLOCK_PINNED
                ? options->pinned_retain.kind
                : options->device_retain.kind) != POLICY_CEILING_NONE;
}

bool shim_retain_may_act(const struct shim_driver *driver, struct shim_place *place)
{
    return shim_retain_pool() && !shim_observe_capturing() &&
           shim_place_current(driver, place) && place->owner &&
           !shim_observe_sticky(place->handle);
}

static bool may_keep(const struct shim_driver *driver, enum pool_lease_kind kind,
                     struct shim_place *place)
{
    return is_kept(kind) && !atomic_load_explicit(&stopped, memory_order_relaxed) &&
           shim_retain_may_act(driver, place);
}

/* What it holds for the program. */
static bool renew(const struct shim_driver *driver, const struct pool_device_key *key,
                  uint64_t address, uint64_t bytes)
{
    enum policy_reuse reuse = shim_settings()->options.reuse;
    int value = reuse == POLICY_REUSE_ZERO ? 0 : 0xff;
    if (reuse == POLICY_REUSE_DIRTY)
        return true;
    if (key->kind == POOL_BLOCK_DEVICE)
        return shim_source_fill(driver, key->context, address, bytes,
                                (unsigned char)value);
    memset((void *)(uintptr_t)address, value, bytes);
    return true;
}

bool shim_retain_claim(const struct shim_driver *driver,
                       const struct shim_retain_request *request, uint64_t *address)
{
    struct shim_place place;
    if (request->bytes == 0 || !may_keep(driver, request->kind, &place))
        return false;
    struct pool_device_key key = shim_retain_key(request, &place);
    uint32_t block = pool_devices_claim(&pool, &key, request->bytes);
    if (!block)
        return false;
    uint64_t found = pool_devices_address(&pool, block);
    if (!renew(driver, &key, found, request->bytes)) {
        const struct pool_device_taken taken = {
            .address = found, .block = block, .key = key};
        (void)shim_retain_give_back(driver, &taken);
        return false;
    }
    *address = found;
    return true;
}

static void set_block(void *context, struct pool_lease *lease)
{
    lease->block = *(const uint32_t *)context;
}

void shim_retain_adopt(const struct shim_driver *driver,
                       const struct shim_retain_request *request, uint64_t address)
{
    struct shim_place place;
    if (request->bytes == 0 || !may_keep(driver, request->kind, &place))
        return;
    struct pool_device_key key = shim_retain_key(request, &place);
    uint32_t block = pool_devices_adopt(&pool, &key, address, request->bytes);
    if (block && !shim_lease_visit(address, set_block, &block))
        pool_devices_forget(&pool, block);
}

/* A free, as its lease decides it. */
struct freeing {
    enum pool_lease_kind kind;
    bool may_keep, is_ours;
    uint32_t owner; /* of the lease */
    enum pool_device_return what;
};

static void try_return(void *context, struct pool_lease *lease)
{
    struct freeing *freeing = context;
    if (lease->block == 0 || lease->kind != freeing->kind)
        return;
    freeing->is_ours = true;
    freeing->owner = lease->owner;
    if (freeing->may_keep)
        freeing->what = pool_devices_return(&pool, lease->block);
    else
        freeing->what = pool_devices_is_live(&pool, lease->block) ? POOL_DEVICE_REFUSED
                                                                  : POOL_DEVICE_NOT_LIVE;
}

static void expose(void *context, struct pool_lease *lease)
{
    (void)context;
    if (lease->block)
        pool_devices_expose(&pool, lease->block);
}

/* As drivers do, though none promises it: the context has nothing left to do when the free
   returns. What was freed is ready then. */
static void wait_after(const struct shim_driver *driver, uint32_t owner)
{
    if (!shim_settings()->options.free_sync)
        return;
    uint64_t ticket = pool_epochs_begin(&pool.epochs);
    if (shim_source_synchronise(driver, owner))
        pool_epochs_end(&pool.epochs, owner, ticket);
}

enum shim_retain_free shim_retain_free(const struct shim_driver *driver,
                                       enum pool_lease_kind kind, uint64_t address)
{
    struct shim_place place;
    struct freeing freeing = {.kind = kind};
    if (address == 0 || !shim_retain_pool())
        return SHIM_RETAIN_UNTOUCHED;
    freeing.may_keep = may_keep(driver, kind, &place);
    if (freeing.may_keep && shim_observe_take_exported(address))
        (void)shim_lease_visit(address, expose, NULL);
    (void)shim_lease_visit(address, try_return, &freeing);
    if (!freeing.is_ours || freeing.what == POOL_DEVICE_REFUSED)
        return SHIM_RETAIN_UNTOUCHED;
    if (freeing.what == POOL_DEVICE_NOT_LIVE)
        return SHIM_RETAIN_TWICE;
    wait_after(driver, freeing.owner);
    return SHIM_RETAIN_FREED;
}

void shim_retain_stop(void)
{
    atomic_store_explicit(&stopped, true, memory_order_relaxed);
}

void shim_retain_share(void)
{
    if (shim_retain_pool())
        pool_devices_share(&pool);
}

#include "shim/place.h"

#include <pthread.h>
#include <stdatomic.h>

#include "shim/lease.h"
#include "shim/retain.h"

/* Memory order
   [A] contexts[] is read and changed under `lock`. A thread keeps what it found there, with
       the version at which it looked, and looks again when the version has moved. The version
       moves by a release under the lock whenever a context begins to end or has ended, and is
       acquired before each use. A thread that used a context while another thread ended it
       may be one version late, as its call may be with the driver. */

enum {
    /* Of one context, at once. */
    INCARNATIONS_MOST = 8,
};

struct context {
    CUcontext handle; /* NULL: a free entry */
    uint32_t owner;
    CUdevice ordinal;      /* -1: to be asked for */
    unsigned attach_count; /* beside the use that made it */
    unsigned ending_count; /* calls under way that may end it */
};

static struct context contexts[SHIM_PLACE_CONTEXTS_MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_owner; /* under the lock */
static _Atomic uint64_t version = 1;

/* What this thread found last. */
static __thread struct {
    CUcontext handle;
    uint64_t version;
    struct shim_place place;
} here __attribute__((tls_model("initial-exec")));

static struct context *find(CUcontext handle)
{
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST; i++)
        if (contexts[i].handle == handle && contexts[i].ending_count == 0)
            return &contexts[i];
    return NULL;
}

static uint32_t next_owner(void)
{
    last_owner = last_owner % (SHIM_PLACE_OTHER_OWNERS - 1) + 1;
    return last_owner;
}

/* The entry of a live context; a new one where it is met for the first time. Under the lock. */
static struct context *enter(CUcontext handle, bool is_new)
{
    struct context *context = find(handle);
    struct context *empty = find(NULL);
    if (context || !empty)
        return context;
    *empty = (struct context){.handle = handle, .owner = next_owner(), .ordinal = -1};
    shim_retain_met(empty->owner, is_new);
    return empty;
}

/* The incarnation of a live context that lies on this device; 0 where there are too many. */
static uint32_t meet(CUcontext handle, CUdevice ordinal)
{
    uint32_t owner = 0;
    pthread_mutex_lock(&lock);
    struct context *context = enter(handle, false);
    if (context) {
        context->ordinal = ordinal;
        owner = context->owner;
    }
    pthread_mutex_unlock(&lock);
    return owner;
}

/* The same, if the device is known already. */
static bool recall(CUcontext handle, uint32_t *owner, CUdevice *ordinal)
{
    pthread_mutex_lock(&lock);
    const struct context *context = find(handle);
    bool is_known = context && context->ordinal >= 0;
    if (is_known) {
        *owner = context->owner;
        *ordinal = context->ordinal;
    }
    pthread_mutex_unlock(&lock);
    return is_known;
}

static bool look_up(const struct shim_driver *driver, CUcontext handle, uint64_t now)
{
    uint32_t owner;
    CUdevice ordinal = -1;
    if (!recall(handle, &owner, &ordinal)) {
        if (!driver->call.cuCtxGetDevice ||
            driver->call.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
            return false;
        owner = meet(handle, ordinal);
    }
    struct shim_device *device = shim_device_get(driver, ordinal);
    if (!device)
        return false;
    here.handle = handle;
    here.version = now;
    uint32_t owners[2];
    bool is_only = shim_place_owners(handle, owners, 2) < 2;
    here.place = (struct shim_place){device, owner, handle, is_only};
    return true;
}

bool shim_place_current(const struct shim_driver *driver, struct shim_place *place)
{
    CUcontext handle = NULL;
    if (!driver->call.cuCtxGetCurrent ||
        driver->call.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || !handle)
        return false;
    uint64_t now = atomic_load_explicit(&version, memory_order_acquire); /* A */
    if ((here.handle != handle || here.version != now) && !look_up(driver, handle, now))
        return false;
    *place = here.place;
    return true;
}

static void move_on(void)
{
    atomic_fetch_add_explicit(&version, 1, memory_order_release); /* A */
}

void shim_place_created(CUcontext handle)
{
    pthread_mutex_lock(&lock);
    if (handle)
        (void)enter(handle, true);
    pthread_mutex_unlock(&lock);
}

CUcontext shim_place_handle(uint32_t owner)
{
    CUcontext handle = NULL;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST && !handle; i++)
        if (contexts[i].owner == owner && contexts[i].ending_count == 0)
            handle = contexts[i].handle;
    pthread_mutex_unlock(&lock);
    return handle;
}

/* Under the lock. */
static unsigned list(CUcontext handle, uint32_t owners[], unsigned most)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST && count < most; i++)
        if (contexts[i].handle == handle && contexts[i].ending_count == 0)
            owners[count++] = contexts[i].owner;
    return count;
}

unsigned shim_place_owners(CUcontext handle, uint32_t owners[], unsigned most)
{
    pthread_mutex_lock(&lock);
    unsigned count = handle ? list(handle, owners, most) : 0;
    pthread_mutex_unlock(&lock);
    return count;
}

uint32_t shim_place_ending(CUcontext handle)
{
    uint32_t owners[INCARNATIONS_MOST];
    if (!handle)
        return 0;
    pthread_mutex_lock(&lock);
    uint32_t last = last_owner;
    unsigned count = list(handle, owners, INCARNATIONS_MOST);
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST; i++)
        contexts[i].ending_count += contexts[i].handle == handle;
    move_on();
    pthread_mutex_unlock(&lock);
    /* Waits for calls of ours that are with the driver: not under the lock. */
    while (count > 0)
        shim_retain_ending(owners[--count]);
    return last;
}

static bool is_remembered(uint32_t owner)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST && !found; i++)
        found = contexts[i].handle && contexts[i].owner == owner;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Whoever ends an owner takes it out before he looks for its leases: he finds this one, or it is
   found out here, since both look under the lock of the lease's shard. */
void shim_place_opened(uint32_t owner)
{
    bool is_current =
        here.place.owner == owner &&
        here.version == atomic_load_explicit(&version, memory_order_acquire); /* A */
    if (!is_current && owner != 0 && owner < SHIM_PLACE_OTHER_OWNERS &&
        !is_remembered(owner))
        shim_lease_end_owner(owner);
}

/* Takes an incarnation out that was there when its end began; 0 when there is none. One that was
   met since may be a new context of the same handle, on another device. */
static uint32_t take_ended(CUcontext handle, uint32_t last)
{
    uint32_t owner = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST; i++) {
        if (contexts[i].handle != handle)
            continue;
        contexts[i].ordinal = -1;
        if (contexts[i].owner > last || owner)
            continue;
        owner = contexts[i].owner;
        contexts[i] = (struct context){.handle = NULL};
    }
    move_on();
    pthread_mutex_unlock(&lock);
    return owner;
}

/* A new incarnation may have been met since: then both are of the one context, and end with it.
   Another call may still end them. */
static void keep(CUcontext handle, uint32_t last)
{
    uint32_t owners[INCARNATIONS_MOST];
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHIM_PLACE_CONTEXTS_MOST; i++)
        if (contexts[i].handle == handle && contexts[i].owner <= last &&
            --contexts[i].ending_count == 0 && count < INCARNATIONS_MOST)
            owners[count++] = contexts[i].owner;
    move_on();
    pthread_mutex_unlock(&lock);
    while (count > 0)
        shim_retain_ended(owners[--count], false);
}

void shim_place_ended(CUcontext handle, uint32_t last, bool ended)
{
    if (!handle)
        return;
    if (!ended) {
        keep(handle, last);
        return;
    }
    for (uint32_t owner; (owner = take_ended(handle, last)) != 0;) {
        shim_lease_end_owner(owner);
        shim_retain_ended(owner, true);
    }
}

void shim_place_attach(CUcontext handle)
{
    pthread_mutex_lock(&lock);
    struct context *context = handle ? enter(handle, false) : NULL;
    if (context)
        context->attach_count++;
    pthread_mutex_unlock(&lock);
}

bool shim_place_detach(CUcontext handle)
{
    bool was_attached = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; handle && !was_attached && i < SHIM_PLACE_CONTEXTS_MOST; i++) {
        was_attached = contexts[i].handle == handle && contexts[i].attach_count > 0;
        contexts[i].attach_count -= was_attached;
    }
    pthread_mutex_unlock(&lock);
    return was_attached;
}

void shim_place_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

void shim_place_fork_done(void)
{
    pthread_mutex_unlock(&lock);
}

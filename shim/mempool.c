#include "shim/mempool.h"

#include <pthread.h>

#include "shim/driver_observe.h"
#include "shim/place.h"
#include "shim/room.h"

/* An ended pool is one that the driver no longer knows, while memory out of it is in use. */
enum state { LIVE, ENDING, ENDED };

struct shim_mempool {
    CUmemoryPool handle;        /* NULL: a free entry */
    struct shim_device *device; /* NULL: its memory is the host's */
    enum state state;
    uint64_t charged_bytes; /* on the account for it, but for what is in pending_bytes */
    uint64_t pending_bytes; /* admitted for calls that are under way */
    uint64_t seen_bytes;    /* reserved, as the driver said last */
    uint64_t live_bytes;    /* handed out, or about to be, as they were asked for */
    uint64_t live_count;
    uint64_t ask_count; /* questions asked of the driver */
    uint64_t answered;  /* the latest of them whose answer is in seen_bytes */
};

/* All under the lock. */
static struct shim_mempool pools[SHIM_MEMPOOLS_MOST];
static unsigned pool_count; /* entries below are in use, or were */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t shim_mempool_owner(const struct shim_mempool *pool)
{
    return SHIM_PLACE_OTHER_OWNERS + (uint32_t)(pool - pools);
}

static struct shim_mempool *of_owner(uint32_t owner)
{
    return &pools[owner - SHIM_PLACE_OTHER_OWNERS];
}

/* The handle of a pool that has ended may come again. */
static struct shim_mempool *find(CUmemoryPool handle)
{
    for (unsigned i = 0; i < pool_count; i++)
        if (pools[i].handle == handle && pools[i].state == LIVE)
            return &pools[i];
    return NULL;
}

static struct shim_mempool *enter(CUmemoryPool handle, struct shim_device *device)
{
    struct shim_mempool *pool = find(NULL);
    if (!pool && pool_count < SHIM_MEMPOOLS_MOST)
        pool = &pools[pool_count++];
    if (pool)
        *pool = (struct shim_mempool){.handle = handle, .device = device};
    return pool;
}

static void count_live(struct shim_mempool *pool, uint64_t bytes)
{
    pool->live_count++;
    pool->live_bytes += bytes;
}

static void uncount_live(struct shim_mempool *pool, uint64_t bytes)
{
    pool->live_count--;
    pool->live_bytes -= bytes;
}

/* Under the lock. */
static struct shim_mempool *named(CUmemoryPool handle, struct shim_device *device)
{
    struct shim_mempool *pool = find(handle);
    return pool ? pool : enter(handle, device);
}

/* Counted in the same breath: an entry with something live is never given to another pool, even
   if the program ends this one meanwhile. */
struct shim_mempool *shim_mempool_draw(CUmemoryPool handle, struct shim_device *device,
                                       uint64_t bytes)
{
    if (!handle)
        return NULL;
    pthread_mutex_lock(&lock);
    struct shim_mempool *pool = named(handle, device);
    if (pool)
        count_live(pool, bytes);
    pthread_mutex_unlock(&lock);
    return pool;
}

CUmemoryPool shim_mempool_of_device(const struct shim_driver *driver,
                                    const struct shim_device *device)
{
    CUmemoryPool handle = NULL;
    if (!driver->call.cuDeviceGetMemPool ||
        driver->call.cuDeviceGetMemPool(&handle, (CUdevice)device->ordinal) !=
            CUDA_SUCCESS)
        return NULL;
    return handle;
}

/* NULL for the host's; *is_known is false where the properties do not say. */
static struct shim_device *device_of(const struct shim_driver *driver,
                                     const CUmemPoolProps *properties, bool *is_known)
{
    CUmemLocationType type = properties->location.type;
    struct shim_device *device = type == CU_MEM_LOCATION_TYPE_DEVICE
                                     ? shim_device_get(driver, properties->location.id)
                                     : NULL;
    *is_known = device || type == CU_MEM_LOCATION_TYPE_HOST ||
                type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    return device;
}

void shim_mempool_created(const struct shim_driver *driver, CUmemoryPool handle,
                          const CUmemPoolProps *properties)
{
    bool is_known;
    struct shim_device *device = device_of(driver, properties, &is_known);
    if (!handle || !is_known)
        return;
    pthread_mutex_lock(&lock);
    (void)named(handle, device);
    pthread_mutex_unlock(&lock);
}

/* Whether the account has what it should; under the lock. What does not fit is there all the
   same, and is charged as far as it fits, so that nothing else is given meanwhile. What others
   have pending may or may not be part of what was seen: it is neither charged twice nor taken
   off. */
static bool balance(struct shim_mempool *pool, struct policy_verdict *verdict)
{
    uint64_t total_bytes = pool->charged_bytes + pool->pending_bytes;
    if (pool->seen_bytes > total_bytes) {
        uint64_t lacking_bytes = pool->seen_bytes - total_bytes;
        *verdict = shim_room_try(pool->device, lacking_bytes);
        bool fits = verdict->kind == POLICY_ADMITTED;
        if (!fits)
            lacking_bytes -= lacking_bytes < verdict->short_bytes ? lacking_bytes
                                                                  : verdict->short_bytes;
        if (fits || shim_room_try(pool->device, lacking_bytes).kind == POLICY_ADMITTED)
            pool->charged_bytes += lacking_bytes;
        return fits;
    }
    if (pool->seen_bytes < pool->charged_bytes) {
        shim_room_refund(pool->device, pool->charged_bytes - pool->seen_bytes);
        pool->charged_bytes = pool->seen_bytes;
    }
    return true;
}

/* Nobody will ever say again what an ended pool has reserved: it is charged until its last
   allocation is freed. Under the lock. */
static void bury(struct shim_mempool *pool)
{
    if (pool->state != ENDED || pool->live_count > 0 || pool->pending_bytes > 0)
        return;
    shim_room_refund(pool->device, pool->charged_bytes);
    *pool = (struct shim_mempool){.handle = NULL};
}

static bool ask(const struct shim_driver *driver, CUmemoryPool handle, uint64_t *bytes)
{
    cuuint64_t reserved = 0;
    if (!driver->call.cuMemPoolGetAttribute ||
        driver->call.cuMemPoolGetAttribute(handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                           &reserved) != CUDA_SUCCESS)
        return false;
    *bytes = reserved;
    return true;
}

/* Asks what the pool has reserved and balances it; `admitted_bytes` of what is pending are now
   charged. Of two that ask at once the answer to the later question counts: it knows of all
   that was done before the earlier one. */
static bool true_up(const struct shim_driver *driver, struct shim_mempool *pool,
                    uint64_t admitted_bytes, struct policy_verdict *verdict)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    uint64_t question = ++pool->ask_count;
    CUmemoryPool handle = pool->state == LIVE ? pool->handle : NULL;
    pthread_mutex_unlock(&lock);
    bool is_told = handle && !shim_observe_capturing() && ask(driver, handle, &bytes);
    pthread_mutex_lock(&lock);
    pool->pending_bytes -= admitted_bytes;
    pool->charged_bytes += admitted_bytes;
    if (is_told && question > pool->answered) {
        pool->answered = question;
        pool->seen_bytes = bytes;
    }
    bool fits = !is_told || balance(pool, verdict);
    bury(pool);
    pthread_mutex_unlock(&lock);
    return fits;
}

struct shim_mempool *shim_mempool_ending(CUmemoryPool handle)
{
    pthread_mutex_lock(&lock);
    struct shim_mempool *pool = handle ? find(handle) : NULL;
    if (pool)
        pool->state = ENDING;
    pthread_mutex_unlock(&lock);
    return pool;
}

void shim_mempool_ended(struct shim_mempool *pool, bool ended)
{
    if (!pool)
        return;
    pthread_mutex_lock(&lock);
    pool->state = ended ? ENDED : LIVE;
    bury(pool);
    pthread_mutex_unlock(&lock);
}

/* What the pool seems to lack for `bytes` that it is about to hand out, and that are counted as
   live already. What others are about to be given they have admitted themselves. */
static uint64_t lacking_bytes(const struct shim_mempool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    uint64_t total_bytes = pool->charged_bytes + pool->pending_bytes;
    uint64_t lacking =
        pool->live_bytes > total_bytes ? pool->live_bytes - total_bytes : 0;
    pthread_mutex_unlock(&lock);
    return lacking < bytes ? lacking : bytes;
}

/* Charges it, once more after idle memory is gone, which may have been the pool's own. */
static struct policy_verdict admit(const struct shim_driver *driver,
                                   struct shim_mempool *pool, uint64_t bytes,
                                   uint64_t *admitted_bytes)
{
    *admitted_bytes = lacking_bytes(pool, bytes);
    struct policy_verdict verdict = shim_room_try(pool->device, *admitted_bytes);
    if (verdict.kind == POLICY_OVER_CEILING && bytes <= verdict.limit_bytes) {
        shim_room_make(driver, pool->device, *admitted_bytes);
        *admitted_bytes = lacking_bytes(pool, bytes);
        verdict = shim_room_try(pool->device, *admitted_bytes);
    }
    verdict.asked_bytes = bytes;
    return verdict;
}

CUresult shim_mempool_begin(const struct shim_driver *driver, const char *call,
                            struct shim_mempool *pool, uint64_t bytes,
                            struct shim_draw *draw)
{
    *draw = (struct shim_draw){.call = call, .pool = pool, .bytes = bytes};
    struct policy_verdict verdict = admit(driver, pool, bytes, &draw->admitted_bytes);
    if (verdict.kind != POLICY_ADMITTED) {
        shim_mempool_returned(shim_mempool_owner(pool), bytes);
        return shim_room_refuse(driver, call, pool->device, &verdict);
    }
    pthread_mutex_lock(&lock);
    pool->pending_bytes += draw->admitted_bytes;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult shim_mempool_settle(const struct shim_driver *driver,
                             const struct shim_draw *draw)
{
    struct policy_verdict verdict = {.kind = POLICY_ADMITTED};
    if (true_up(driver, draw->pool, draw->admitted_bytes, &verdict))
        return CUDA_SUCCESS;
    shim_room_make(driver, draw->pool->device, verdict.asked_bytes);
    if (true_up(driver, draw->pool, 0, &verdict))
        return CUDA_SUCCESS;
    verdict.asked_bytes = draw->bytes;
    return shim_room_refuse(driver, draw->call, draw->pool->device, &verdict);
}

void shim_mempool_cancel(const struct shim_driver *driver, const struct shim_draw *draw,
                         CUresult result)
{
    uint32_t owner = shim_mempool_owner(draw->pool);
    pthread_mutex_lock(&lock);
    draw->pool->pending_bytes -= draw->admitted_bytes;
    pthread_mutex_unlock(&lock);
    shim_room_refund(draw->pool->device, draw->admitted_bytes);
    shim_mempool_returned(owner, draw->bytes);
    shim_mempool_refresh(driver, owner);
    /* What it grew by lies idle now, beyond the ceiling. */
    if (result == CUDA_SUCCESS)
        shim_mempool_trim(driver, draw->pool->device, UINT64_MAX);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        shim_room_driver_refused(driver, draw->call, draw->pool->device, draw->bytes,
                                 &draw->trimmed);
}

void shim_mempool_returned(uint32_t owner, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    uncount_live(of_owner(owner), bytes);
    bury(of_owner(owner));
    pthread_mutex_unlock(&lock);
}

/* Has the driver take idle memory of a pool back and keep the rest; false where that is not to
   be asked. */
static bool trim_to(const struct shim_driver *driver, struct shim_mempool *pool,
                    uint64_t kept_bytes)
{
    struct policy_verdict verdict;
    pthread_mutex_lock(&lock);
    CUmemoryPool handle = pool->state == LIVE ? pool->handle : NULL;
    pthread_mutex_unlock(&lock);
    if (!handle || !driver->call.cuMemPoolTrimTo || shim_observe_capturing() ||
        driver->call.cuMemPoolTrimTo(handle, kept_bytes) != CUDA_SUCCESS)
        return false;
    (void)true_up(driver, pool, 0, &verdict);
    return true;
}

static uint64_t seen_bytes(const struct shim_mempool *pool)
{
    pthread_mutex_lock(&lock);
    uint64_t bytes = pool->seen_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

enum { LEAST_PIECE_BYTES = 2 << 20 }; /* of a device, as drivers have it so far */

/* How many bytes the pool gave up. The driver gives back whole pieces of any size, and none that
   would leave less than is to be kept. Ends: what is kept is halved, down to the least piece. */
static uint64_t trim_one(const struct shim_driver *driver, struct shim_mempool *pool,
                         uint64_t bytes)
{
    uint64_t before_bytes = seen_bytes(pool), after_bytes = before_bytes;
    uint64_t kept_bytes = before_bytes > bytes ? before_bytes - bytes : 0;
    bool is_over = before_bytes == 0;
    while (!is_over && trim_to(driver, pool, kept_bytes)) {
        after_bytes = seen_bytes(pool);
        is_over = kept_bytes == 0 || after_bytes + bytes <= before_bytes;
        kept_bytes = kept_bytes / 2 < LEAST_PIECE_BYTES ? 0 : kept_bytes / 2;
    }
    return before_bytes > after_bytes ? before_bytes - after_bytes : 0;
}

/* What a pool took and nobody may have is given back as soon as it can be: a free of it waits for
   its stream. */
void shim_mempool_refresh(const struct shim_driver *driver, uint32_t owner)
{
    struct policy_verdict verdict;
    if (!true_up(driver, of_owner(owner), 0, &verdict))
        (void)trim_one(driver, of_owner(owner), verdict.short_bytes);
}

void shim_mempool_refresh_named(const struct shim_driver *driver, CUmemoryPool handle)
{
    pthread_mutex_lock(&lock);
    struct shim_mempool *pool = handle ? find(handle) : NULL;
    pthread_mutex_unlock(&lock);
    if (pool)
        shim_mempool_refresh(driver, shim_mempool_owner(pool));
}

/* The pools of a device one after the other, from this entry on; NULL: no further one. */
static struct shim_mempool *next_of(const struct shim_device *device, unsigned *index)
{
    struct shim_mempool *found = NULL;
    pthread_mutex_lock(&lock);
    for (; !found && *index < pool_count; ++*index)
        if (pools[*index].handle && pools[*index].state == LIVE &&
            pools[*index].device == device)
            found = &pools[*index];
    pthread_mutex_unlock(&lock);
    return found;
}

void shim_mempool_refresh_all(const struct shim_driver *driver,
                              const struct shim_device *device)
{
    unsigned index = 0;
    for (struct shim_mempool *pool; (pool = next_of(device, &index));)
        shim_mempool_refresh(driver, shim_mempool_owner(pool));
}

void shim_mempool_trim(const struct shim_driver *driver, const struct shim_device *device,
                       uint64_t bytes)
{
    unsigned index = 0;
    for (struct shim_mempool *pool; bytes > 0 && (pool = next_of(device, &index));) {
        uint64_t freed_bytes = trim_one(driver, pool, bytes);
        bytes -= freed_bytes < bytes ? freed_bytes : bytes;
    }
}

void shim_mempool_fork_prepare(void)
{
    pthread_mutex_lock(&lock);
}

void shim_mempool_fork_done(void)
{
    pthread_mutex_unlock(&lock);
}

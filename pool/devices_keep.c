/* How long retained device and page-locked blocks are kept: taken out when more is held than
   was needed or when the memory is asked for, and dropped with their context. */
#include "pool/devices.h"

#include <time.h>

#include "policy/must.h"

/* Memory order: as in pool/devices.c. A block that is popped belongs to this thread; its state
   is stored before anybody else can have it. */

enum { RELEASE_WAIT_NS = 50000 };

static struct pool_device_block *at(struct pool_devices *pool, uint32_t block)
{
    return &pool->blocks.blocks[block];
}

static void add(_Atomic uint64_t *figure, uint64_t amount)
{
    atomic_fetch_add_explicit(figure, amount, memory_order_relaxed); /* a figure */
}

static void add_ready(void *context, struct pool_device_bin *bin, uint32_t size_class)
{
    *(uint64_t *)context +=
        pool_bin_idle(&bin->ready) * pool_device_class_bytes(size_class);
}

/* What a device has ended since is sorted out first, where a domain has any such block. */
static void sift_domain(struct pool_devices *pool, struct pool_device_domain *domain,
                        uint64_t packed)
{
    uint64_t ended = pool_devices_ready_below(pool, packed);
    for (uint32_t word = 0; word < POOL_DEVICE_USED_WORDS; word++) {
        uint64_t bits = POOL_GET(domain, used[word]);
        for (; bits; bits &= bits - 1)
            pool_device_bin_sift(
                &domain->bins[64 * word + (uint32_t)__builtin_ctzll(bits)], &pool->blocks,
                ended);
    }
}

static bool counts_in(const struct pool_device_domain *domain, uint32_t account)
{
    return pool_device_domain_key(domain) != 0 && POOL_GET(domain, account) == account;
}

/* What is not known to be ready, that is: a bin knows the least that its blocks can be. */
uint64_t pool_devices_unready(struct pool_devices *pool, uint32_t account)
{
    uint64_t ready = 0;
    if (POOL_GET(&pool->accounts[account], idle_bytes) == 0)
        return 0;
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++) {
        struct pool_device_domain *domain = &pool->domains.domains[index];
        if (!counts_in(domain, account) || !pool_lock_take(&domain->lock))
            continue;
        if (counts_in(domain, account)) {
            sift_domain(pool, domain, pool_device_domain_key(domain));
            pool_device_domain_walk(domain, add_ready, &ready);
        }
        pool_lock_give(&domain->lock);
    }
    uint64_t idle = POOL_GET(&pool->accounts[account], idle_bytes);
    return idle > ready ? idle - ready : 0;
}

static bool owes(const struct pool_device_account *account)
{
    return pool_device_account_owed(account) > 0 && POOL_GET(account, idle_bytes) > 0;
}

void pool_devices_note_debt(struct pool_devices *pool, uint32_t account)
{
    if (owes(&pool->accounts[account]))
        POOL_SET(pool, owing, true);
}

/* Another thread may note a debt meanwhile: it is looked at last. */
static void look_for_debts(struct pool_devices *pool)
{
    POOL_SET(pool, owing, false);
    for (uint32_t place = 0; place <= POOL_DEVICES_MOST; place++)
        pool_devices_note_debt(pool, place);
}

struct fattest {
    struct pool_device_bin *bin;
    uint64_t ready_bytes, bytes;
};

static void compare(void *context, struct pool_device_bin *bin, uint32_t size_class)
{
    struct fattest *fattest = context;
    uint64_t each = pool_device_class_bytes(size_class);
    uint64_t ready_bytes = pool_bin_idle(&bin->ready) * each;
    uint64_t bytes = pool_device_bin_idle(bin) * each;
    if (ready_bytes > fattest->ready_bytes ||
        (ready_bytes == fattest->ready_bytes && bytes > fattest->bytes))
        *fattest = (struct fattest){bin, ready_bytes, bytes};
}

/* Of the class in which most is idle and was passed over: what one class holds too much of,
   another lacks. What was freed just now comes last. Under the domain's lock. 0: none. */
static uint32_t take_any(struct pool_devices *pool, struct pool_device_domain *domain)
{
    struct fattest fattest = {0};
    pool_device_domain_walk(domain, compare, &fattest);
    uint32_t block = fattest.bin ? pool_device_bin_take(fattest.bin, &pool->blocks) : 0;
    if (block) {
        must(POOL_GET(&pool->blocks.records[block], state) == POOL_IDLE);
        POOL_SET(&pool->blocks.records[block], state, POOL_GONE);
        pool_device_account_take(
            &pool->accounts[POOL_GET(domain, account)],
            pool_device_held_bytes(POOL_GET(at(pool, block), bytes)));
    }
    return block;
}

/* The same; what the driver has already is dropped. */
static uint32_t take_one(struct pool_devices *pool, struct pool_device_domain *domain)
{
    uint32_t block = take_any(pool, domain);
    while (block && POOL_GET(at(pool, block), exposed)) {
        pool_device_blocks_give(&pool->blocks, block);
        block = take_any(pool, domain);
    }
    return block;
}

static void describe(struct pool_devices *pool, const struct pool_device_domain *domain,
                     uint32_t block, struct pool_device_taken *taken)
{
    uint64_t packed = POOL_GET(at(pool, block), key);
    *taken = (struct pool_device_taken){
        .address = POOL_GET(at(pool, block), address),
        .bytes = POOL_GET(at(pool, block), bytes),
        .block = block,
        .key = {.context = pool_device_key_context(packed),
                .kind = pool_device_key_kind(packed),
                .flags = pool_device_key_flags(packed),
                .device = POOL_GET(domain, device)},
    };
}

/* What has been taken so far, for one choice. */
struct haul {
    const struct pool_device_choice *choice;
    struct pool_device_taken *taken;
    size_t count;
    uint64_t bytes;
};

static bool is_enough(const struct haul *haul, const struct pool_device_account *account)
{
    const struct pool_device_choice *choice = haul->choice;
    return haul->count == POOL_DEVICE_BATCH ||
           (choice->bytes > 0 && haul->bytes >= choice->bytes) ||
           (choice->owed_only && pool_device_account_owed(account) == 0);
}

/* Under the domain's lock. */
static void take_from(struct pool_devices *pool, struct pool_device_domain *domain,
                      struct haul *haul)
{
    const struct pool_device_account *account =
        &pool->accounts[POOL_GET(domain, account)];
    if (haul->choice->owed_only)
        sift_domain(pool, domain, pool_device_domain_key(domain));
    while (!is_enough(haul, account)) {
        uint32_t block = take_one(pool, domain);
        if (!block)
            break;
        struct pool_device_taken *taken = &haul->taken[haul->count++];
        describe(pool, domain, block, taken);
        haul->bytes += taken->bytes;
        struct pool_device_counts *counts = &pool->counts[taken->key.kind];
        add(&counts->released, 1);
        add(&counts->released_bytes, taken->bytes);
        domain->releasing++;
    }
}

static bool is_chosen(const struct pool_device_domain *domain,
                      const struct pool_device_choice *choice)
{
    uint64_t packed = pool_device_domain_key(domain);
    if (packed == 0 || !(choice->kinds & 1u << pool_device_key_kind(packed)))
        return false;
    if (choice->context && choice->context != pool_device_key_context(packed))
        return false;
    return choice->device < 0 || pool_device_key_kind(packed) == POOL_BLOCK_PINNED ||
           (uint32_t)choice->device == POOL_GET(domain, device);
}

size_t pool_devices_take(struct pool_devices *pool,
                         const struct pool_device_choice *choice,
                         struct pool_device_taken taken[POOL_DEVICE_BATCH])
{
    struct haul haul = {.choice = choice, .taken = taken};
    if (POOL_GET(pool, closed))
        return 0;
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++) {
        struct pool_device_domain *domain = &pool->domains.domains[index];
        if (!is_chosen(domain, choice) || !pool_lock_take(&domain->lock))
            continue;
        /* Looked at again: its context may be ending since. */
        if (is_chosen(domain, choice))
            take_from(pool, domain, &haul);
        pool_lock_give(&domain->lock);
    }
    if (choice->owed_only)
        look_for_debts(pool);
    return haul.count;
}

uint64_t pool_devices_excess(struct pool_devices *pool, const struct pool_device_key *key,
                             uint64_t bytes)
{
    uint32_t place = key->kind == POOL_BLOCK_PINNED ? POOL_DEVICES_MOST : key->device;
    if (place > POOL_DEVICES_MOST ||
        !pool_device_account_is_open(&pool->accounts[place]) ||
        POOL_GET(&pool->accounts[place], idle_bytes) == 0)
        return 0;
    return pool_device_account_excess(&pool->accounts[place],
                                      pool_device_held_bytes(bytes),
                                      pool_devices_unready(pool, place));
}

void pool_devices_refused(struct pool_devices *pool, enum pool_block_kind kind,
                          uint32_t device, uint64_t bytes)
{
    uint32_t place = kind == POOL_BLOCK_PINNED ? POOL_DEVICES_MOST : device;
    if (place <= POOL_DEVICES_MOST && pool_device_account_is_open(&pool->accounts[place]))
        pool_device_account_refused(&pool->accounts[place], bytes);
}

/* True while blocks of the domain are with the driver. Behind a lost lock nobody waits. */
static bool is_releasing(struct pool_device_domain *domain)
{
    if (!pool_lock_take(&domain->lock))
        return false;
    bool releasing = domain->releasing > 0;
    pool_lock_give(&domain->lock);
    return releasing;
}

/* The driver's own end of the context waits for as much. */
static void wait_for_releases(struct pool_device_domain *domain)
{
    const struct timespec moment = {.tv_nsec = RELEASE_WAIT_NS};
    while (is_releasing(domain))
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

void pool_devices_ending(struct pool_devices *pool, uint32_t context)
{
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++) {
        struct pool_device_domain *domain = &pool->domains.domains[index];
        if (!pool_device_domain_is_of(domain, context) || !pool_lock_take(&domain->lock))
            continue;
        pool_device_domain_hide(domain, true);
        pool_lock_give(&domain->lock);
        wait_for_releases(domain);
    }
    pool_epochs_hold(&pool->epochs, context);
}

/* Under the domain's lock; the context took the memory along. */
static void drop_idle(struct pool_devices *pool, struct pool_device_domain *domain)
{
    for (uint32_t block = take_any(pool, domain); block; block = take_any(pool, domain))
        pool_device_blocks_give(&pool->blocks, block);
}

static void end_domain(struct pool_devices *pool, struct pool_device_domain *domain)
{
    drop_idle(pool, domain);
    add(&pool->counts[pool_device_domain_kind(domain)].hits_before,
        pool_device_domain_served(domain));
    pool_device_domain_drop(domain);
}

void pool_devices_end(struct pool_devices *pool, uint32_t context, bool ended)
{
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++) {
        struct pool_device_domain *domain = &pool->domains.domains[index];
        if (!pool_device_domain_is_of(domain, context) || !pool_lock_take(&domain->lock))
            continue;
        if (ended)
            end_domain(pool, domain);
        else
            pool_device_domain_hide(domain, false);
        pool_lock_give(&domain->lock);
    }
    if (ended)
        pool_epochs_drop(&pool->epochs, context);
    else
        pool_epochs_let(&pool->epochs, context);
}

void pool_devices_share(struct pool_devices *pool)
{
    POOL_SET(pool, shared, true);
}

void pool_devices_close(struct pool_devices *pool)
{
    POOL_SET(pool, closed, true);
}

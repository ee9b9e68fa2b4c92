#include "pool/devices.h"

#include "policy/must.h"

/* Memory order
   [A] state of a record. A free exchanges LIVE for IDLE, so that of two frees of one block one
       alone goes on; it acquires nothing and publishes nothing, since bins hand blocks on.

   [B] closed, counts, aged_ms. A thread that sees closed late is one that came before; the
       others are figures, and who exchanges aged_ms begins the window. */

#define NONE UINT64_MAX /* no stamp */

static bool is_closed(const struct pool_devices *pool)
{
    return atomic_load_explicit(&pool->closed, memory_order_relaxed); /* B */
}

static void count(_Atomic uint64_t *figure)
{
    atomic_fetch_add_explicit(figure, 1, memory_order_relaxed); /* B */
}

static struct pool_device_block *at(struct pool_devices *pool, uint32_t block)
{
    return &pool->blocks.blocks[block];
}

static struct pool_device_domain *domain_of(struct pool_devices *pool, uint32_t block)
{
    return &pool->domains.domains[POOL_GET(at(pool, block), domain)];
}

static uint64_t held_bytes(struct pool_devices *pool, uint32_t block)
{
    return pool_device_held_bytes(POOL_GET(at(pool, block), bytes));
}

static struct pool_device_account *account_of(struct pool_devices *pool, uint32_t block)
{
    return &pool->accounts[POOL_GET(at(pool, block), account)];
}

bool pool_devices_open(struct pool_devices *pool, const struct pool_source *source,
                       const struct pool_device_tuning *tuning)
{
    pool->source = source;
    pool->tuning = *tuning;
    pool_lock_open(&pool->lock);
    pool_epochs_open(&pool->epochs, source);
    pool_device_domains_open(&pool->domains, source);
    for (uint32_t place = 0; place <= POOL_DEVICES_MOST; place++)
        pool_lock_open(&pool->accounts[place].lock);
    if (source->now_ms)
        POOL_SET(pool, aged_ms, source->now_ms()); /* B */
    if (pool_device_blocks_open(&pool->blocks, source))
        return true;
    pool_devices_close(pool);
    return false;
}

/* The account's place, opened; POOL_DEVICES_MOST + 1: there is none. */
static uint32_t account_for(struct pool_devices *pool, const struct pool_device_key *key)
{
    uint32_t place = key->kind == POOL_BLOCK_PINNED ? POOL_DEVICES_MOST : key->device;
    if (place > POOL_DEVICES_MOST || !pool_lock_take(&pool->lock))
        return POOL_DEVICES_MOST + 1;
    struct pool_device_account *account = &pool->accounts[place];
    if (!pool_device_account_is_open(account))
        pool_device_account_open(account,
                                 pool->tuning.retain_bytes
                                     ? pool->tuning.retain_bytes(key->kind, key->device)
                                     : UINT64_MAX);
    pool_lock_give(&pool->lock);
    return place;
}

static struct pool_device_domain *
domain_for(struct pool_devices *pool, const struct pool_device_key *key, uint64_t packed)
{
    struct pool_device_domain *domain = pool_device_domain_find(&pool->domains, packed);
    if (domain || (key->kind == POOL_BLOCK_DEVICE && key->device >= POOL_DEVICES_MOST))
        return domain;
    uint32_t account = account_for(pool, key);
    if (account > POOL_DEVICES_MOST)
        return NULL;
    return pool_device_domain_add(&pool->domains, packed, key->device, account);
}

uint32_t pool_devices_adopt(struct pool_devices *pool, const struct pool_device_key *key,
                            uint64_t address, uint64_t bytes)
{
    uint64_t packed = pool_device_key_pack(key);
    if (is_closed(pool) || pool_device_class(bytes) >= POOL_DEVICE_CLASSES)
        return 0;
    struct pool_device_domain *domain = domain_for(pool, key, packed);
    uint32_t block = domain ? pool_device_blocks_take(&pool->blocks) : 0;
    if (!block)
        return 0;
    POOL_SET(at(pool, block), address, address);
    POOL_SET(at(pool, block), bytes, bytes);
    POOL_SET(at(pool, block), requested, bytes);
    POOL_SET(at(pool, block), key, packed);
    POOL_SET(at(pool, block), domain, (uint16_t)(domain - pool->domains.domains));
    POOL_SET(at(pool, block), account, (uint16_t)POOL_GET(domain, account));
    POOL_SET(at(pool, block), exposed, 0);
    pool_device_account_add(account_of(pool, block), held_bytes(pool, block),
                            pool_devices_unready(pool, POOL_GET(domain, account)));
    pool_devices_note_debt(pool, POOL_GET(domain, account));
    return block;
}

static bool is_within_reach_of_all(const struct pool_devices *pool, uint64_t packed)
{
    return pool_device_key_kind(packed) == POOL_BLOCK_PINNED || POOL_GET(pool, shared);
}

uint64_t pool_devices_ready_below(const struct pool_devices *pool, uint64_t packed)
{
    return is_within_reach_of_all(pool, packed)
               ? pool_epochs_ended_everywhere(&pool->epochs)
               : pool_epochs_ended(&pool->epochs, pool_device_key_context(packed));
}

/* Looks in the two classes that hold nearly all blocks of at most nine eighths. */
static uint32_t search(struct pool_devices *pool, struct pool_device_domain *domain,
                       uint64_t packed, uint64_t bytes, uint64_t *unready)
{
    uint64_t ended = pool_devices_ready_below(pool, packed);
    uint32_t first = pool_device_class(bytes), block = 0;
    *unready = NONE;
    for (uint32_t size_class = first;
         !block && size_class < POOL_DEVICE_CLASSES && size_class < first + 2;
         size_class++)
        block = pool_device_bin_claim(&domain->bins[size_class], &pool->blocks,
                                      &domain->lock, bytes, ended, unready);
    return block;
}

/* An event may show that what is not known to be ready is. */
static uint32_t search_again(struct pool_devices *pool, struct pool_device_domain *domain,
                             uint64_t packed, uint64_t bytes, uint64_t *unready)
{
    bool everywhere = is_within_reach_of_all(pool, packed);
    pool_epochs_poll(&pool->epochs, everywhere ? 0 : pool_device_key_context(packed),
                     *unready);
    return search(pool, domain, packed, bytes, unready);
}

static uint32_t hand_out(struct pool_devices *pool, uint32_t block, uint64_t bytes)
{
    must(POOL_GET(&pool->blocks.records[block], state) == POOL_IDLE);
    pool_device_account_use(account_of(pool, block), held_bytes(pool, block));
    POOL_SET(at(pool, block), requested, bytes);
    POOL_SET(&pool->blocks.records[block], state, POOL_LIVE); /* A */
    return block;
}

uint32_t pool_devices_claim(struct pool_devices *pool, const struct pool_device_key *key,
                            uint64_t bytes)
{
    uint64_t packed = pool_device_key_pack(key);
    uint64_t unready = NONE;
    uint32_t block = 0;
    if (is_closed(pool) || packed == 0)
        return 0;
    struct pool_device_domain *domain = pool_device_domain_find(&pool->domains, packed);
    if (domain)
        block = search(pool, domain, packed, bytes, &unready);
    if (!block && unready != NONE && pool->source->event_record)
        block = search_again(pool, domain, packed, bytes, &unready);
    if (block)
        return hand_out(pool, block, bytes);
    struct pool_device_counts *counts = &pool->counts[key->kind];
    count(unready != NONE ? &counts->missed_unready : &counts->missed_size);
    return 0;
}

/* One thread begins the next window; others go on. */
static void look_at_clock(struct pool_devices *pool)
{
    if (!pool->source->now_ms)
        return;
    uint64_t now = pool->source->now_ms();
    uint64_t began = atomic_load_explicit(&pool->aged_ms, memory_order_relaxed); /* B */
    if (now < began || now - began < pool->tuning.decay_ms ||
        !atomic_compare_exchange_strong_explicit(&pool->aged_ms, &began, now,
                                                 memory_order_relaxed, /* B */
                                                 memory_order_relaxed))
        return;
    for (uint32_t place = 0; place <= POOL_DEVICES_MOST; place++)
        if (pool_device_account_is_open(&pool->accounts[place])) {
            pool_device_account_age(&pool->accounts[place]);
            pool_devices_note_debt(pool, place);
        }
}

/* Until a context is seen to synchronise, nothing of it could be handed out again. */
static bool may_keep(struct pool_devices *pool, uint32_t block,
                     const struct pool_device_domain *domain)
{
    uint64_t packed = POOL_GET(at(pool, block), key);
    return !is_closed(pool) && !POOL_GET(at(pool, block), exposed) &&
           pool_device_domain_key(domain) == packed &&
           (pool->source->event_record ||
            pool_epochs_has_waited(&pool->epochs, is_within_reach_of_all(pool, packed)
                                                      ? 0
                                                      : pool_device_key_context(packed)));
}

/* The block is IDLE already: who finds it in the bin may hand it out at once. */
static bool keep(struct pool_devices *pool, uint32_t block)
{
    struct pool_device_domain *domain = domain_of(pool, block);
    uint64_t bytes = POOL_GET(at(pool, block), bytes);
    if (!may_keep(pool, block, domain) ||
        !pool_device_account_keep(account_of(pool, block), held_bytes(pool, block)))
        return false;
    struct pool_device_bin *bin =
        pool_device_domain_bin(domain, pool_device_class(bytes));
    POOL_SET(at(pool, block), stamp, pool_epochs_stamp(&pool->epochs));
    bool due;
    if (!pool_device_bin_return(bin, &pool->blocks, block, &due)) {
        pool_device_account_unkeep(account_of(pool, block), held_bytes(pool, block));
        return false;
    }
    if (!POOL_GET(pool, kept))
        POOL_SET(pool, kept, true); /* B */
    if (due)
        look_at_clock(pool);
    return true;
}

enum pool_device_return pool_devices_return(struct pool_devices *pool, uint32_t block)
{
    _Atomic uint16_t *state = &pool->blocks.records[block].state;
    uint16_t expected = POOL_LIVE;
    if (!atomic_compare_exchange_strong_explicit(state, &expected, POOL_IDLE,
                                                 memory_order_relaxed, /* A */
                                                 memory_order_relaxed))
        return POOL_DEVICE_NOT_LIVE;
    if (keep(pool, block))
        return POOL_DEVICE_KEPT;
    atomic_store_explicit(state, POOL_LIVE, memory_order_relaxed); /* A */
    return POOL_DEVICE_REFUSED;
}

void pool_devices_expose(struct pool_devices *pool, uint32_t block)
{
    POOL_SET(at(pool, block), exposed, 1);
}

/* A domain stays while blocks of it are on their way to the driver. */
static void end_release(struct pool_device_domain *domain)
{
    if (!pool_lock_take(&domain->lock))
        return;
    domain->releasing--;
    pool_lock_give(&domain->lock);
}

void pool_devices_forget(struct pool_devices *pool, uint32_t block)
{
    switch ((enum pool_state)POOL_GET(&pool->blocks.records[block], state)) {
    case POOL_LIVE:
        pool_device_account_drop(account_of(pool, block), held_bytes(pool, block));
        break;
    case POOL_GONE:
        end_release(domain_of(pool, block));
        break;
    case POOL_IDLE:
        pool_devices_expose(pool, block);
        return;
    case POOL_UNBORN:
    case POOL_WIPED:
    case POOL_CLEAN:
    case POOL_FREE:
        return;
    }
    pool_device_blocks_give(&pool->blocks, block);
}

#include "pool/device_domains.h"

/* Memory order
   [A] key. What else a domain consists of is written before the key is stored with release;
       whoever finds the key by an acquire load may use it. A domain is given up only when its
       context has ended: no program claims from it then, and a block that is returned late
       is compared with the key. A walk over all domains may meet the device and the account of
       the next domain in this place; it looks again under the lock of the domain, which a domain
       that is given up needs, too.

   [B] used. Set before the class's first block is pushed, never cleared. Who does not see a
       bit yet misses a block that came at the same moment. */

#define ENDING (UINT64_C(1) << 63)

enum { BINS_BYTES = POOL_DEVICE_CLASSES * sizeof(struct pool_device_bin) };

void pool_device_domains_open(struct pool_device_domains *domains,
                              const struct pool_source *source)
{
    domains->source = source;
    pool_lock_open(&domains->lock);
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++)
        pool_lock_open(&domains->domains[index].lock);
}

static uint64_t key_of(const struct pool_device_domain *domain)
{
    return atomic_load_explicit(&domain->key, memory_order_acquire); /* A */
}

static uint32_t probe_of(uint64_t packed, uint32_t probe)
{
    uint32_t mixed = (uint32_t)(packed * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return (mixed + probe) % POOL_DEVICE_DOMAINS;
}

struct pool_device_domain *pool_device_domain_find(struct pool_device_domains *domains,
                                                   uint64_t packed)
{
    for (uint32_t probe = 0; packed && probe < POOL_DEVICE_DOMAINS; probe++) {
        struct pool_device_domain *domain = &domains->domains[probe_of(packed, probe)];
        if (key_of(domain) == packed)
            return domain;
    }
    return NULL;
}

/* Bins stay with the place when a domain is given up. */
static bool has_bins(struct pool_device_domains *domains,
                     struct pool_device_domain *domain)
{
    if (domain->bins)
        return true;
    void *bins = domains->source->reserve(BINS_BYTES);
    if (!bins)
        return false;
    if (!domains->source->enable(bins, BINS_BYTES)) {
        domains->source->release(bins, BINS_BYTES);
        return false;
    }
    domain->bins = bins;
    return true;
}

/* Under the lock. */
static struct pool_device_domain *add(struct pool_device_domains *domains,
                                      uint64_t packed, uint32_t device, uint32_t account)
{
    for (uint32_t probe = 0; probe < POOL_DEVICE_DOMAINS; probe++) {
        struct pool_device_domain *domain = &domains->domains[probe_of(packed, probe)];
        if (key_of(domain) != 0 || !has_bins(domains, domain))
            continue;
        POOL_SET(domain, device, device);                                  /* A */
        POOL_SET(domain, account, account);                                /* A */
        atomic_store_explicit(&domain->key, packed, memory_order_release); /* A */
        return domain;
    }
    return NULL;
}

struct pool_device_domain *pool_device_domain_add(struct pool_device_domains *domains,
                                                  uint64_t packed, uint32_t device,
                                                  uint32_t account)
{
    struct pool_device_domain *domain = pool_device_domain_find(domains, packed);
    if (domain || packed == 0 || !pool_lock_take(&domains->lock))
        return domain;
    domain = pool_device_domain_find(domains, packed);
    if (!domain)
        domain = add(domains, packed, device, account);
    pool_lock_give(&domains->lock);
    return domain;
}

uint64_t pool_device_domain_key(const struct pool_device_domain *domain)
{
    uint64_t packed = key_of(domain);
    return packed & ENDING ? 0 : packed;
}

enum pool_block_kind pool_device_domain_kind(const struct pool_device_domain *domain)
{
    return pool_device_key_kind(key_of(domain) & ~ENDING);
}

bool pool_device_domain_is_of(const struct pool_device_domain *domain, uint32_t context)
{
    uint64_t packed = key_of(domain);
    return packed != 0 && pool_device_key_context(packed & ~ENDING) == context;
}

void pool_device_domain_hide(struct pool_device_domain *domain, bool hide)
{
    uint64_t packed = key_of(domain) & ~ENDING;
    atomic_store_explicit(&domain->key, hide ? packed | ENDING : packed,
                          memory_order_release); /* A */
}

static void reset_bin(void *context, struct pool_device_bin *bin, uint32_t size_class)
{
    (void)context;
    (void)size_class;
    atomic_store_explicit(&bin->sifted, 0,
                          memory_order_relaxed); /* pool/device_bins.c, A */
}

void pool_device_domain_drop(struct pool_device_domain *domain)
{
    domain->served_before += pool_device_domain_served(domain);
    pool_device_domain_walk(domain, reset_bin, NULL);
    atomic_store_explicit(&domain->key, 0, memory_order_release); /* A */
}

struct pool_device_bin *pool_device_domain_bin(struct pool_device_domain *domain,
                                               uint32_t size_class)
{
    _Atomic uint64_t *word = &domain->used[size_class / 64];
    uint64_t bit = UINT64_C(1) << size_class % 64;
    if (!(atomic_load_explicit(word, memory_order_relaxed) & bit)) /* B */
        atomic_fetch_or_explicit(word, bit, memory_order_relaxed); /* B */
    return &domain->bins[size_class];
}

void pool_device_domain_walk(struct pool_device_domain *domain,
                             void (*visit)(void *context, struct pool_device_bin *bin,
                                           uint32_t size_class),
                             void *context)
{
    for (uint32_t word = 0; word < POOL_DEVICE_USED_WORDS; word++) {
        uint64_t bits =
            atomic_load_explicit(&domain->used[word], memory_order_relaxed); /* B */
        for (; bits; bits &= bits - 1) {
            uint32_t size_class = 64 * word + (uint32_t)__builtin_ctzll(bits);
            visit(context, &domain->bins[size_class], size_class);
        }
    }
}

static void count_served(void *context, struct pool_device_bin *bin, uint32_t size_class)
{
    (void)size_class;
    *(uint64_t *)context += pool_device_bin_served(bin);
}

uint64_t pool_device_domain_served(struct pool_device_domain *domain)
{
    uint64_t served = 0;
    pool_device_domain_walk(domain, count_served, &served);
    return served - domain->served_before;
}

/* Where idle blocks wait: a domain for all blocks of one context, kind and flags, and in it a
   bin for each size. Domains are few; they are found without a lock and come and go under
   one. */
#ifndef POOL_DEVICE_DOMAINS_H
#define POOL_DEVICE_DOMAINS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool/device_bins.h"
#include "pool/device_class.h"
#include "pool/lock.h"
#include "pool/source.h"

enum {
    POOL_DEVICE_DOMAINS = 64,   /* in use at once; memory of one more is not retained */
    POOL_DEVICE_FLAG_BITS = 24, /* memory of larger flags is not retained */
    POOL_DEVICE_USED_WORDS = (POOL_DEVICE_CLASSES + 63) / 64,
};

enum pool_block_kind {
    POOL_BLOCK_DEVICE, /* memory of a device */
    POOL_BLOCK_PINNED, /* page-locked, within reach of every context */
    POOL_BLOCK_KINDS,
};

/* Which requests a block may serve. */
struct pool_device_key {
    uint32_t context; /* a number above 0 that is never used twice */
    enum pool_block_kind kind;
    uint32_t flags;  /* the exact word; 0 as well where a call has none */
    uint32_t device; /* ordinal of the context's device, which is no part of the key */
};

struct pool_device_domain {
    _Atomic uint64_t
        key; /* packed; 0: nobody's; with the top bit: its context is ending */
    /* Written before the key; whoever walks over all domains may read them while the place is
       taken by another. */
    _Atomic uint32_t device;
    _Atomic uint32_t account;     /* where its bytes count */
    struct pool_device_bin *bins; /* POOL_DEVICE_CLASSES of them */
    uint64_t served_before;       /* by its bins, for domains before this one */
    struct pool_lock lock;        /* guards sifts and takes of the bins */
    uint32_t releasing;           /* blocks taken and not forgotten yet; under the lock */
    _Atomic uint64_t
        used[POOL_DEVICE_USED_WORDS]; /* classes that ever had an idle block */
};

struct pool_device_domains {
    const struct pool_source *source;
    struct pool_lock lock; /* guards which domains there are */
    struct pool_device_domain domains[POOL_DEVICE_DOMAINS];
};

/* The key in one word; 0: memory with this one is not retained. */
static inline uint64_t pool_device_key_pack(const struct pool_device_key *key)
{
    if (key->context == 0 || key->flags >> POOL_DEVICE_FLAG_BITS != 0)
        return 0;
    return ((uint64_t)key->context << 2 | (uint64_t)key->kind) << POOL_DEVICE_FLAG_BITS |
           key->flags;
}

static inline uint32_t pool_device_key_context(uint64_t packed)
{
    return (uint32_t)(packed >> (POOL_DEVICE_FLAG_BITS + 2));
}

static inline enum pool_block_kind pool_device_key_kind(uint64_t packed)
{
    return (enum pool_block_kind)(packed >> POOL_DEVICE_FLAG_BITS & 3);
}

static inline uint32_t pool_device_key_flags(uint64_t packed)
{
    return (uint32_t)packed & ((1u << POOL_DEVICE_FLAG_BITS) - 1);
}

void pool_device_domains_open(struct pool_device_domains *domains,
                              const struct pool_source *source);

/* The domain of a key; NULL: there is none yet, or its context is ending. */
struct pool_device_domain *pool_device_domain_find(struct pool_device_domains *domains,
                                                   uint64_t packed);

/* The same, made where there is none; NULL when there is no room. */
struct pool_device_domain *pool_device_domain_add(struct pool_device_domains *domains,
                                                  uint64_t packed, uint32_t device,
                                                  uint32_t account);

/* The packed key of a domain in use; 0: it is not, or it is ending. */
uint64_t pool_device_domain_key(const struct pool_device_domain *domain);

/* The kind of a domain that is anybody's. */
enum pool_block_kind pool_device_domain_kind(const struct pool_device_domain *domain);

/* Whether it belongs to a context that is ending, and is to be hidden or dropped. */
bool pool_device_domain_is_of(const struct pool_device_domain *domain, uint32_t context);

/* Hides it from finds, or shows it again. The caller holds the domain's lock. */
void pool_device_domain_hide(struct pool_device_domain *domain, bool hide);

/* Gives it up; its bins are empty. The caller holds the domain's lock. */
void pool_device_domain_drop(struct pool_device_domain *domain);

/* The bin of a class, marked as used. */
struct pool_device_bin *pool_device_domain_bin(struct pool_device_domain *domain,
                                               uint32_t size_class);

/* Calls `visit` for each bin that ever had an idle block. */
void pool_device_domain_walk(struct pool_device_domain *domain,
                             void (*visit)(void *context, struct pool_device_bin *bin,
                                           uint32_t size_class),
                             void *context);

/* How many claims the domain served. The caller holds the domain's lock. */
uint64_t pool_device_domain_served(struct pool_device_domain *domain);

#endif

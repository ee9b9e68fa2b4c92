/* Retained whole blocks: device and page-locked memory that a driver allocated and the program
   freed, kept to be handed out again by compare-exchange. A block is never split, never
   joined and never serves a request of another context, kind or flags. Nothing here calls a
   driver: what is to go is handed to the caller in small batches, outside every lock.

   An idle block serves a request that it exceeds by an eighth at most, and only once no device
   can be using it any more (pool/epochs.h). A claim never waits: the alternative to an idle
   block is the driver.

                   claim  return  adopt, forget  take  ending, end
     claim           -      -          -          -         X    (- : may run at the same time;
     return          -      -          -          -         X     X : not of one context, but by
     adopt, forget   -      -          -          -         X     a program that ends a context
     take            -      -          -          -         -     which it uses)

   The locks of this room are taken in this order: a lease's shard, of which the pool knows
   nothing; a domain; an account, the records, the pool, the epochs. */
#ifndef POOL_DEVICES_H
#define POOL_DEVICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/device_accounts.h"
#include "pool/device_blocks.h"
#include "pool/device_domains.h"
#include "pool/epochs.h"
#include "pool/lock.h"
#include "pool/source.h"

enum {
    POOL_DEVICES_MOST = 64, /* ordinals; memory of one above is not retained */
    POOL_DEVICE_BATCH = 16, /* blocks that are taken at once */
};

/* How much is kept, and how long. */
struct pool_device_tuning {
    uint64_t decay_ms; /* a window of need; UINT64_MAX: need is never forgotten */
    /* Most idle bytes of a kind, for device memory on one device; asked once for each. NULL:
       no limit. */
    uint64_t (*retain_bytes)(enum pool_block_kind kind, uint32_t device);
};

/* What was done with blocks of one kind: figures. */
struct pool_device_counts {
    _Atomic uint64_t missed_size;    /* claims: nothing idle was of the size */
    _Atomic uint64_t missed_unready; /* something was, but may still be in use */
    _Atomic uint64_t released;       /* idle blocks that were taken */
    _Atomic uint64_t released_bytes;
    _Atomic uint64_t hits_before; /* claims served in domains that are gone */
};

struct pool_devices {
    const struct pool_source *source;
    struct pool_device_tuning tuning;
    _Atomic bool closed;      /* nothing is handed out or kept any more */
    _Atomic bool kept;        /* some block was ever idle */
    _Atomic bool owing;       /* more may be held somewhere than was needed */
    _Atomic bool shared;      /* contexts reach each other's device memory */
    _Atomic uint64_t aged_ms; /* when the current window began */
    struct pool_lock lock;    /* guards which accounts are open */
    struct pool_epochs epochs;
    struct pool_device_blocks blocks;
    struct pool_device_domains domains;
    struct pool_device_account
        accounts[POOL_DEVICES_MOST + 1]; /* the last: page-locked */
    struct pool_device_counts counts[POOL_BLOCK_KINDS];
};

/* What becomes of a block that the program frees. */
enum pool_device_return {
    POOL_DEVICE_KEPT,     /* it is idle now: the driver must not be told */
    POOL_DEVICE_REFUSED,  /* it is live as before: the driver is to free it */
    POOL_DEVICE_NOT_LIVE, /* it was freed before */
};

/* A block to be freed by the driver, and then to be forgotten. */
struct pool_device_taken {
    uint64_t address;
    uint64_t bytes;
    uint32_t block;
    struct pool_device_key key;
};

/* Which idle blocks are to be taken. */
struct pool_device_choice {
    unsigned kinds;   /* 1 << kind of each */
    int device;       /* device memory of this one alone; -1: of all */
    uint32_t context; /* 0: all */
    bool owed_only;   /* only while more is held than was needed */
    uint64_t bytes;   /* only until so many are taken; 0: all */
};

struct pool_device_figures {
    uint64_t claims; /* requests that asked for an idle block */
    uint64_t reused; /* of these, served by one */
    uint64_t missed_unready;
    uint64_t missed_size;
    uint64_t released; /* idle blocks given back to the driver */
    uint64_t released_bytes;
    uint64_t idle_bytes;
    uint64_t largest_idle_bytes;
    uint64_t
        high_water_bytes; /* most held at once, live and idle, of each place: the sum */
};

/* Opens the pool, which is zeroed. False when the source has no room: nothing is kept. */
bool pool_devices_open(struct pool_devices *pool, const struct pool_source *source,
                       const struct pool_device_tuning *tuning);

/* The driver has given a block to the program: its record. 0: it cannot be kept. */
uint32_t pool_devices_adopt(struct pool_devices *pool, const struct pool_device_key *key,
                            uint64_t address, uint64_t bytes);

/* An idle block for `bytes`, live again: its record. 0: ask the driver. */
uint32_t pool_devices_claim(struct pool_devices *pool, const struct pool_device_key *key,
                            uint64_t bytes);

/* The program frees a block. */
enum pool_device_return pool_devices_return(struct pool_devices *pool, uint32_t block);

/* A live block has come within reach of others: it will not be kept. */
void pool_devices_expose(struct pool_devices *pool, uint32_t block);

/* The driver has a live or taken block back, or its context took it along. Of an idle one only
   the latter can be: it is not handed out any more, and dropped when it is met. */
void pool_devices_forget(struct pool_devices *pool, uint32_t block);

/* Whether more may be held somewhere than was needed. */
static inline bool pool_devices_owes(const struct pool_devices *pool)
{
    return POOL_GET(pool, owing);
}

/* How much more would be held than was needed, of the key's kind and place, with `bytes` that no
   idle block serves. */
uint64_t pool_devices_excess(struct pool_devices *pool, const struct pool_device_key *key,
                             uint64_t bytes);

/* Takes idle blocks out for good, at most POOL_DEVICE_BATCH; how many. The caller has the
   driver free each and forgets it. */
size_t pool_devices_take(struct pool_devices *pool,
                         const struct pool_device_choice *choice,
                         struct pool_device_taken taken[POOL_DEVICE_BATCH]);

/* The driver, or a ceiling, had no room for so many bytes: less is kept for a while. */
void pool_devices_refused(struct pool_devices *pool, enum pool_block_kind kind,
                          uint32_t device, uint64_t bytes);

/* Around the end of a context: hides its blocks, and waits for those on their way to the
   driver; then drops what is idle, if it has ended, or goes on as before. */
void pool_devices_ending(struct pool_devices *pool, uint32_t context);
void pool_devices_end(struct pool_devices *pool, uint32_t context, bool ended);

/* From now on a context may use device memory of another, which is then ready like what is
   page-locked. */
void pool_devices_share(struct pool_devices *pool);

/* Ends retention for good; what is idle stays where it is. */
void pool_devices_close(struct pool_devices *pool);

/* Stamps below are ready, of blocks with this key. For devices*.c. */
uint64_t pool_devices_ready_below(const struct pool_devices *pool, uint64_t packed);

/* Looks whether an account owes. For devices.c. */
void pool_devices_note_debt(struct pool_devices *pool, uint32_t account);

/* How many idle bytes of an account may still be in a device's use. For devices.c. */
uint64_t pool_devices_unready(struct pool_devices *pool, uint32_t account);

/* Takes stock: walks all records. */
struct pool_device_figures pool_devices_read(struct pool_devices *pool,
                                             enum pool_block_kind kind);

/* Idle bytes of device memory on one device. */
uint64_t pool_devices_idle_bytes(const struct pool_devices *pool, uint32_t device);

static inline uint64_t pool_devices_address(const struct pool_devices *pool,
                                            uint32_t block)
{
    return POOL_GET(&pool->blocks.blocks[block], address);
}

/* What the driver was asked for. */
static inline uint64_t pool_devices_bytes(const struct pool_devices *pool, uint32_t block)
{
    return POOL_GET(&pool->blocks.blocks[block], bytes);
}

/* What the program asked for. */
static inline uint64_t pool_devices_requested(const struct pool_devices *pool,
                                              uint32_t block)
{
    return POOL_GET(&pool->blocks.blocks[block], requested);
}

/* Whether the program holds it. */
static inline bool pool_devices_is_live(const struct pool_devices *pool, uint32_t block)
{
    return POOL_GET(&pool->blocks.records[block], state) == POOL_LIVE;
}

#endif

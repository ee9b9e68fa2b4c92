/* Retained whole blocks over the fake source, and what a driver would do: it hands out
   addresses, is synchronised, and records events when a test lets it. */
#ifndef TESTS_DEVICES_FIXTURE_H
#define TESTS_DEVICES_FIXTURE_H

#include <stdatomic.h>
#include <string.h>

#include "pool/devices.h"
#include "tests/fake_source.h"
#include "tests/suite.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static struct pool_devices pool;
static struct pool_source source; /* the fake one, with or without events */
static struct pool_device_tuning tuning;
static _Atomic uint64_t next_address;

/* The driver's events, one for each context. */
static struct {
    unsigned records, looks;
    enum pool_event answer;
    bool refuses;
} events;

static inline bool record_event(uint32_t context)
{
    (void)context;
    events.records++;
    return !events.refuses;
}

static inline enum pool_event look_at_event(uint32_t context)
{
    (void)context;
    events.looks++;
    return events.answer;
}

static inline void open_pool(void)
{
    memset(&pool, 0, sizeof(pool));
    ck_assert(pool_devices_open(&pool, &source, &tuning));
}

static inline void setup(void)
{
    fake_reset();
    memset(&events, 0, sizeof(events));
    source = fake_source;
    tuning = (struct pool_device_tuning){.decay_ms = 1000};
    atomic_store_explicit(&next_address, 0x200000000, memory_order_relaxed);
    open_pool();
}

static inline void with_events(void)
{
    source.event_record = record_event;
    source.event_state = look_at_event;
}

static inline struct pool_device_key device_key(uint32_t context)
{
    return (struct pool_device_key){.context = context, .kind = POOL_BLOCK_DEVICE};
}

static inline struct pool_device_key pinned_key(uint32_t context, uint32_t flags)
{
    return (struct pool_device_key){
        .context = context, .kind = POOL_BLOCK_PINNED, .flags = flags};
}

/* What a driver's allocation adds: a new block. */
static inline uint32_t adopt(struct pool_device_key key, uint64_t bytes)
{
    uint64_t address = atomic_fetch_add_explicit(&next_address, (bytes | 0x1ff) + 1,
                                                 memory_order_relaxed);
    uint32_t block = pool_devices_adopt(&pool, &key, address, bytes);
    ck_assert_uint_ne(block, 0);
    return block;
}

static inline uint32_t claim(struct pool_device_key key, uint64_t bytes)
{
    return pool_devices_claim(&pool, &key, bytes);
}

static inline void give(uint32_t block)
{
    ck_assert_int_eq(pool_devices_return(&pool, block), POOL_DEVICE_KEPT);
}

static inline void refuses(uint32_t block)
{
    ck_assert_int_eq(pool_devices_return(&pool, block), POOL_DEVICE_REFUSED);
}

static inline void synchronise(uint32_t context)
{
    pool_epochs_end(&pool.epochs, context, pool_epochs_begin(&pool.epochs));
}

/* A context that lives and has been synchronised once, so that its blocks are kept. */
static inline struct pool_device_key used_context(uint32_t context)
{
    pool_epochs_add(&pool.epochs, context, false);
    synchronise(context);
    return device_key(context);
}

static inline uint64_t idle_bytes(enum pool_block_kind kind)
{
    return pool_devices_read(&pool, kind).idle_bytes;
}

#endif

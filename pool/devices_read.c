/* What the retained device and page-locked blocks have done, and what is idle of them. */
#include "pool/devices.h"

/* Memory order: all are figures, read while others go on. */

static uint64_t served(struct pool_devices *pool, enum pool_block_kind kind)
{
    uint64_t total = POOL_GET(&pool->counts[kind], hits_before);
    for (uint32_t index = 0; index < POOL_DEVICE_DOMAINS; index++) {
        struct pool_device_domain *domain = &pool->domains.domains[index];
        uint64_t packed = pool_device_domain_key(domain);
        if (packed == 0 || pool_device_key_kind(packed) != kind ||
            !pool_lock_take(&domain->lock))
            continue;
        total += pool_device_domain_served(domain);
        pool_lock_give(&domain->lock);
    }
    return total;
}

static void add_idle(struct pool_devices *pool, enum pool_block_kind kind,
                     struct pool_device_figures *figures)
{
    uint32_t top = pool_device_blocks_top(&pool->blocks);
    for (uint32_t index = 1; index < top; index++) {
        const struct pool_device_block *block = &pool->blocks.blocks[index];
        if (POOL_GET(&pool->blocks.records[index], state) != POOL_IDLE ||
            pool_device_key_kind(POOL_GET(block, key)) != kind)
            continue;
        uint64_t bytes = POOL_GET(block, bytes);
        figures->idle_bytes += pool_device_held_bytes(bytes);
        if (bytes > figures->largest_idle_bytes)
            figures->largest_idle_bytes = bytes;
    }
}

static uint64_t most_held(const struct pool_devices *pool, enum pool_block_kind kind)
{
    if (kind == POOL_BLOCK_PINNED)
        return POOL_GET(&pool->accounts[POOL_DEVICES_MOST], most_bytes);
    uint64_t most = 0;
    for (uint32_t place = 0; place < POOL_DEVICES_MOST; place++)
        most += POOL_GET(&pool->accounts[place], most_bytes);
    return most;
}

struct pool_device_figures pool_devices_read(struct pool_devices *pool,
                                             enum pool_block_kind kind)
{
    const struct pool_device_counts *counts = &pool->counts[kind];
    struct pool_device_figures figures = {
        .missed_unready = POOL_GET(counts, missed_unready),
        .missed_size = POOL_GET(counts, missed_size),
        .released = POOL_GET(counts, released),
        .released_bytes = POOL_GET(counts, released_bytes),
        .high_water_bytes = most_held(pool, kind),
    };
    if (pool->blocks.records)
        add_idle(pool, kind, &figures);
    figures.reused = served(pool, kind);
    figures.claims = figures.reused + figures.missed_unready + figures.missed_size;
    return figures;
}

uint64_t pool_devices_idle_bytes(const struct pool_devices *pool, uint32_t device)
{
    return device < POOL_DEVICES_MOST ? POOL_GET(&pool->accounts[device], idle_bytes) : 0;
}

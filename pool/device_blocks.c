#include "pool/device_blocks.h"

/* Memory order
   [A] top. Records below it are readable: enabled before the release store. What stands in
       them belongs to whoever has the block. */

enum {
    RECORD_BYTES = POOL_DEVICE_BLOCKS_MOST * sizeof(struct pool_record),
    BLOCK_BYTES = POOL_DEVICE_BLOCKS_MOST * sizeof(struct pool_device_block),
};

_Static_assert(POOL_DEVICE_BLOCKS_MOST <= 1 << POOL_INDEX_BITS,
               "a bin can name them all");
_Static_assert(sizeof(struct pool_device_block) == 64, "a block's record is one line");
_Static_assert(POOL_DEVICE_BLOCKS_STEP * sizeof(struct pool_record) % 4096 == 0,
               "a step is whole pages");

bool pool_device_blocks_open(struct pool_device_blocks *blocks,
                             const struct pool_source *source)
{
    pool_lock_open(&blocks->lock);
    blocks->source = source;
    blocks->records = source->reserve(RECORD_BYTES);
    blocks->blocks = source->reserve(BLOCK_BYTES);
    if (blocks->records && blocks->blocks) {
        atomic_store_explicit(&blocks->top, 1, memory_order_release); /* A */
        return true;
    }
    if (blocks->records)
        source->release(blocks->records, RECORD_BYTES);
    if (blocks->blocks)
        source->release(blocks->blocks, BLOCK_BYTES);
    blocks->records = NULL;
    blocks->blocks = NULL;
    return false;
}

/* Under the lock. A half that was enabled alone is enabled again with the next try. */
static bool enable_step(struct pool_device_blocks *blocks)
{
    uint32_t first = blocks->enabled, count = POOL_DEVICE_BLOCKS_STEP;
    if (first == POOL_DEVICE_BLOCKS_MOST ||
        !blocks->source->enable(&blocks->records[first],
                                count * sizeof(struct pool_record)) ||
        !blocks->source->enable(&blocks->blocks[first],
                                count * sizeof(struct pool_device_block)))
        return false;
    blocks->enabled += count;
    return true;
}

/* Under the lock. */
static uint32_t take_new(struct pool_device_blocks *blocks)
{
    uint32_t top = atomic_load_explicit(&blocks->top, memory_order_relaxed); /* A */
    if (top == 0 || (top >= blocks->enabled && !enable_step(blocks)))
        return 0;
    atomic_store_explicit(&blocks->top, top + 1, memory_order_release); /* A */
    return top;
}

uint32_t pool_device_blocks_take(struct pool_device_blocks *blocks)
{
    if (!pool_lock_take(&blocks->lock))
        return 0;
    uint32_t index = blocks->free;
    if (index)
        blocks->free = POOL_GET(&blocks->records[index], next);
    else
        index = take_new(blocks);
    if (index)
        POOL_SET(&blocks->records[index], state, POOL_LIVE);
    pool_lock_give(&blocks->lock);
    return index;
}

/* Behind a lost lock the record is lost with it. */
void pool_device_blocks_give(struct pool_device_blocks *blocks, uint32_t index)
{
    POOL_SET(&blocks->records[index], state, POOL_UNBORN);
    if (!pool_lock_take(&blocks->lock))
        return;
    POOL_SET(&blocks->records[index], next, blocks->free);
    blocks->free = index;
    pool_lock_give(&blocks->lock);
}

#include "pool/device_bins.h"

#include <sched.h>

#include "pool/device_class.h"

/* Memory order
   [A] sifting, sifted. Hints: a thread that finds nothing, and sees that another is sorting
       or that something has ended since, takes the lock and looks again; the lock orders what
       it then finds. One that sees an older value asks the driver instead.

   [B] unserved is a figure.

   A block's stamp and size are read before it is popped only as a hint, and again by whoever
   owns it then; the bins hand ownership on (pool/bins.c). */

static uint64_t stamp_of(const struct pool_device_blocks *blocks, uint32_t block)
{
    return POOL_GET(&blocks->blocks[block], stamp);
}

static uint64_t bytes_of(const struct pool_device_blocks *blocks, uint32_t block)
{
    return POOL_GET(&blocks->blocks[block], bytes);
}

/* Puts back what was taken for a look. There is room in one of the two, soon at the latest. */
static void put_back(struct pool_device_bin *bin, struct pool_bin *from,
                     const struct pool_device_blocks *blocks, uint32_t block)
{
    struct pool_bin *other = from == &bin->fresh ? &bin->ready : &bin->fresh;
    /* What is not ready must not come to lie where everything is. */
    bool anywhere = other == &bin->fresh;
    while (!pool_bin_push(from, blocks->records, block) &&
           !(anywhere && pool_bin_push(other, blocks->records, block)))
        sched_yield();
}

struct wanted {
    uint64_t bytes, ended;
};

static bool serves(const struct pool_device_blocks *blocks, uint32_t block,
                   const struct wanted *wanted)
{
    return stamp_of(blocks, block) < wanted->ended &&
           pool_device_fits(bytes_of(blocks, block), wanted->bytes) &&
           !POOL_GET(&blocks->blocks[block], exposed);
}

/* Looks at the first few blocks; those that do not serve go back in their order. */
static uint32_t pop_serving(struct pool_device_bin *bin, struct pool_bin *from,
                            const struct pool_device_blocks *blocks,
                            const struct wanted *wanted)
{
    uint32_t hand[POOL_DEVICE_LOOK], count = 0, found = 0;
    while (count < POOL_DEVICE_LOOK && !found) {
        uint32_t block = pool_bin_pop(from, blocks->records);
        if (!block)
            break;
        if (serves(blocks, block, wanted))
            found = block;
        else
            hand[count++] = block;
    }
    if (__builtin_expect(count > 0, 0))
        atomic_fetch_add_explicit(&bin->unserved, count, memory_order_relaxed); /* B */
    while (count > 0)
        put_back(bin, from, blocks, hand[--count]);
    return found;
}

void pool_device_bin_sift(struct pool_device_bin *bin,
                          const struct pool_device_blocks *blocks, uint64_t ended)
{
    if (atomic_load_explicit(&bin->sifted, memory_order_relaxed) == ended) /* A */
        return;
    atomic_store_explicit(&bin->sifting, true, memory_order_relaxed); /* A */
    uint32_t ready = 0, fresh = 0, block = pool_bin_drain(&bin->fresh);
    while (block) {
        uint32_t next = POOL_GET(&blocks->records[block], next);
        uint32_t *list = stamp_of(blocks, block) < ended ? &ready : &fresh;
        POOL_SET(&blocks->records[block], next, *list);
        *list = block;
        block = next;
    }
    /* Turned round: they go back in their order. */
    for (block = ready; block; block = ready) {
        ready = POOL_GET(&blocks->records[block], next);
        put_back(bin, &bin->ready, blocks, block);
    }
    for (block = fresh; block; block = fresh) {
        fresh = POOL_GET(&blocks->records[block], next);
        put_back(bin, &bin->fresh, blocks, block);
    }
    atomic_store_explicit(&bin->sifted, ended, memory_order_relaxed);  /* A */
    atomic_store_explicit(&bin->sifting, false, memory_order_relaxed); /* A */
}

/* Whether a block that would serve may lie beneath others, or be in another thread's hand. */
static bool may_hide(const struct pool_device_bin *bin, uint64_t ended)
{
    return (pool_bin_peek(&bin->fresh) != 0 &&
            atomic_load_explicit(&bin->sifted, memory_order_relaxed) != ended) || /* A */
           atomic_load_explicit(&bin->sifting, memory_order_relaxed);             /* A */
}

uint32_t pool_device_bin_claim(struct pool_device_bin *bin,
                               const struct pool_device_blocks *blocks,
                               struct pool_lock *lock, uint64_t bytes, uint64_t ended,
                               uint64_t *unready)
{
    const struct wanted wanted = {bytes, ended};
    uint32_t found = 0, top = pool_bin_peek(&bin->fresh);
    bool is_ready = top && stamp_of(blocks, top) < ended;
    if (is_ready)
        found = pop_serving(bin, &bin->fresh, blocks, &wanted);
    if (!found)
        found = pop_serving(bin, &bin->ready, blocks, &wanted);
    if (!found && !is_ready && may_hide(bin, ended) && pool_lock_take(lock)) {
        pool_device_bin_sift(bin, blocks, ended);
        pool_lock_give(lock);
        found = pop_serving(bin, &bin->ready, blocks, &wanted);
    }
    if (!found && !is_ready && top)
        *unready = stamp_of(blocks, top);
    return found;
}

bool pool_device_bin_return(struct pool_device_bin *bin,
                            const struct pool_device_blocks *blocks, uint32_t block,
                            bool *due)
{
    uint64_t head;
    if (pool_bin_idle(&bin->fresh) >= POOL_DEVICE_BIN_MOST ||
        !pool_bin_push_head(&bin->fresh, blocks->records, block, &head))
        return false;
    *due = pool_bin_is_due(head, POOL_BIN_LOOK_SHIFT);
    return true;
}

/* The smallest of a few: it serves the fewest requests. */
static uint32_t take_small(struct pool_device_bin *bin, struct pool_bin *from,
                           const struct pool_device_blocks *blocks)
{
    uint32_t hand[POOL_DEVICE_LOOK], count = 0, least = 0;
    while (count < POOL_DEVICE_LOOK) {
        uint32_t block = pool_bin_pop(from, blocks->records);
        if (!block)
            break;
        hand[count] = block;
        if (bytes_of(blocks, block) <= bytes_of(blocks, hand[least]))
            least = count;
        count++;
    }
    atomic_fetch_add_explicit(&bin->unserved, count, memory_order_relaxed); /* B */
    uint32_t taken = count > 0 ? hand[least] : 0;
    while (count > 0)
        if (hand[--count] != taken)
            put_back(bin, from, blocks, hand[count]);
    return taken;
}

uint32_t pool_device_bin_take(struct pool_device_bin *bin,
                              const struct pool_device_blocks *blocks)
{
    uint32_t taken = take_small(bin, &bin->ready, blocks);
    return taken ? taken : take_small(bin, &bin->fresh, blocks);
}

uint64_t pool_device_bin_served(const struct pool_device_bin *bin)
{
    uint64_t popped = pool_bin_popped(&bin->fresh) + pool_bin_popped(&bin->ready);
    return popped - atomic_load_explicit(&bin->unserved, memory_order_relaxed); /* B */
}

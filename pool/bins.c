#include "pool/bins.h"

/* Memory order
   [A] Push publishes the block: its contents, its record and its `next` link are written
       before the release half of the exchange. Pop and drain acquire the head, so the new
       owner sees them. Pops in between are read-modify-writes and continue the release
       sequence, so the edge reaches whoever pops a block that was pushed several heads
       ago.

   [B] A pop reads `next` of a block that another thread may pop, reuse and push again at
       the same moment. The value is then stale, and the exchange fails because the tag
       has moved: 2^32 changes would have to fit between the load and the exchange.

   [C] low and laps are figures. Nothing is decided by their order.

   Every loop ends: a lost exchange means that another thread's succeeded, and after
   POOL_BIN_TRIES of them the caller is told so. */

#define INDEX_MASK ((UINT64_C(1) << POOL_INDEX_BITS) - 1)
#define COUNT_ONE  (UINT64_C(1) << POOL_INDEX_BITS)
#define COUNT_MASK ((uint64_t)POOL_BIN_MOST << POOL_INDEX_BITS)
#define TAG_SHIFT  POOL_BIN_TAG_SHIFT
#define TAG_ONE    (UINT64_C(1) << TAG_SHIFT)
#define TAG_TOP    (UINT64_C(1) << 63)

_Static_assert(TAG_SHIFT == 32, "the tag keeps at least 32 bits");

static uint32_t head_count(uint64_t head)
{
    return (uint32_t)((head & COUNT_MASK) >> POOL_INDEX_BITS);
}

static uint64_t head_tag(uint64_t head)
{
    return head >> TAG_SHIFT;
}

/* Exactly one change moves the tag into its upper half on each lap, since none moves it
   by half a lap. */
static void count_lap(struct pool_bin *bin, uint64_t before, uint64_t after)
{
    if (__builtin_expect(!(before & TAG_TOP) && (after & TAG_TOP), 0))
        atomic_fetch_add_explicit(&bin->laps, 1, memory_order_relaxed); /* C */
}

uint32_t pool_bin_pop_head(struct pool_bin *bin, struct pool_record *records,
                           uint64_t *left_head)
{
    uint64_t head = atomic_load_explicit(&bin->head, memory_order_acquire); /* A */
    for (int tries = 0; tries < POOL_BIN_TRIES; tries++) {
        uint32_t index = pool_bin_first(head);
        if (index == 0)
            return 0;
        uint32_t next = POOL_GET(&records[index], next); /* B */
        uint64_t rest = ((head & ~INDEX_MASK) | next) - COUNT_ONE + TAG_ONE;
        if (!atomic_compare_exchange_weak_explicit(&bin->head, &head, rest,
                                                   memory_order_acq_rel, /* A */
                                                   memory_order_acquire))
            continue;
        count_lap(bin, head, rest);
        *left_head = rest;
        uint32_t left = head_count(rest);
        if (left < atomic_load_explicit(&bin->low, memory_order_relaxed)) /* C */
            atomic_store_explicit(&bin->low, left, memory_order_relaxed); /* C */
        return index;
    }
    return 0;
}

bool pool_bin_push_head(struct pool_bin *bin, struct pool_record *records, uint32_t index,
                        uint64_t *left_head)
{
    uint64_t head = atomic_load_explicit(&bin->head, memory_order_relaxed); /* A */
    for (int tries = 0; tries < POOL_BIN_TRIES; tries++) {
        if (head_count(head) == POOL_BIN_MOST || pool_bin_first(head) == index)
            break;
        POOL_SET(&records[index], next, pool_bin_first(head)); /* A */
        uint64_t more = ((head & ~INDEX_MASK) | index) + COUNT_ONE + TAG_ONE;
        if (!atomic_compare_exchange_weak_explicit(&bin->head, &head, more,
                                                   memory_order_release, /* A */
                                                   memory_order_relaxed))
            continue;
        count_lap(bin, head, more);
        *left_head = more;
        return true;
    }
    *left_head = head;
    return false;
}

uint32_t pool_bin_drain(struct pool_bin *bin)
{
    uint64_t head = atomic_load_explicit(&bin->head, memory_order_relaxed); /* A */
    for (int tries = 0; tries < POOL_BIN_TRIES; tries++) {
        if (pool_bin_first(head) == 0)
            return 0;
        /* Counts as so many pops, which `drained` takes off again. */
        uint64_t empty = (head_tag(head) + head_count(head)) << TAG_SHIFT;
        if (!atomic_compare_exchange_weak_explicit(&bin->head, &head, empty,
                                                   memory_order_acq_rel, /* A */
                                                   memory_order_relaxed))
            continue;
        count_lap(bin, head, empty);
        bin->drained += head_count(head);
        atomic_store_explicit(&bin->low, 0, memory_order_relaxed); /* C */
        return pool_bin_first(head);
    }
    return 0;
}

uint64_t pool_bin_popped(const struct pool_bin *bin)
{
    uint64_t head = atomic_load_explicit(&bin->head, memory_order_relaxed); /* C */
    uint64_t laps = atomic_load_explicit(&bin->laps, memory_order_relaxed); /* C */
    uint64_t tag = head_tag(head);
    /* A lap is counted when its upper half begins, a full turn when the next one does. */
    uint64_t turns = laps > 0 && tag >> 31 ? laps - 1 : laps;
    uint64_t changes = (turns << 32) + tag;
    uint64_t taken = (changes - head_count(head)) / 2;
    return taken - bin->drained;
}

uint32_t pool_bin_unneeded(struct pool_bin *bin)
{
    uint32_t low = atomic_load_explicit(&bin->low, memory_order_relaxed); /* C */
    uint32_t idle = pool_bin_idle(bin);
    atomic_store_explicit(&bin->low, idle, memory_order_relaxed); /* C */
    return low < idle ? low : idle;
}

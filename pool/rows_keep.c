/* How long rows keep memory: given back when asked, when nobody needed it for a window, and
   spared to children of fork. A block is taken out of its bin first, and is then ours. */
#include "pool/rows.h"

#define POOL_ROW_STEP ((size_t)1 << POOL_ROW_STEP_SHIFT)

static struct pool_record *at(struct pool_rows *rows, uint32_t index)
{
    return &rows->records[index];
}

static size_t bytes_of(const struct pool_rows *rows, uint32_t index)
{
    return (size_t)POOL_GET(&rows->records[index], granules) << POOL_GRANULE_SHIFT;
}

/* Gives a block's memory back and makes it idle again. */
static size_t discard(struct pool_rows *rows, uint32_t index)
{
    size_t bytes = bytes_of(rows, index);
    enum pool_state state = POOL_GET(at(rows, index), state);
    bool done = state == POOL_IDLE &&
                rows->source->discard(pool_rows_address(rows, index), bytes);
    pool_rows_make_idle(rows, index, done ? POOL_CLEAN : state);
    return done ? bytes : 0;
}

/* Gives the memory of a row's coldest idle blocks back, all but `kept`, until that were POOL_ROW_STEP
   bytes; how many. Under the lock. The blocks kept go back last, in their order: what was used
   last is claimed first. */
static size_t discard_step(struct pool_rows *rows, struct pool_bin *bin, uint32_t kept)
{
    uint32_t warm = 0, index = pool_bin_drain(bin);
    size_t bytes = 0;
    for (; index && kept > 0; kept--) {
        uint32_t next = POOL_GET(at(rows, index), next);
        POOL_SET(at(rows, index), next, warm);
        warm = index;
        index = next;
    }
    while (index) {
        uint32_t next = POOL_GET(at(rows, index), next);
        if (bytes < POOL_ROW_STEP)
            bytes += discard(rows, index);
        else
            pool_rows_make_idle(rows, index, POOL_GET(at(rows, index), state));
        index = next;
    }
    while (warm) {
        uint32_t next = POOL_GET(at(rows, warm), next);
        pool_rows_make_idle(rows, warm, POOL_GET(at(rows, warm), state));
        warm = next;
    }
    return bytes;
}

/* Step by step until all is done; adds to *bytes. False when the lock was lost in between. What
   others return meanwhile is theirs: there is an end. */
static bool discard_but(struct pool_rows *rows, struct pool_row *row, uint32_t kept,
                        size_t *bytes)
{
    for (uint32_t steps = 0; steps < row->strides; steps++) {
        size_t part = discard_step(rows, &row->bin, kept);
        *bytes += part;
        if (part < POOL_ROW_STEP)
            break;
        if (!pool_lock_make_way(&rows->lock))
            return false;
    }
    return true;
}

size_t pool_rows_trim(struct pool_rows *rows)
{
    size_t bytes = 0;
    if (!pool_lock_take(&rows->lock))
        return 0;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        if (!discard_but(rows, &rows->rows[row], 0, &bytes))
            return bytes;
    pool_lock_give(&rows->lock);
    return bytes;
}

static bool age_row(struct pool_rows *rows, struct pool_row *row, size_t *bytes)
{
    uint32_t unneeded = pool_bin_unneeded(&row->bin), idle = pool_bin_idle(&row->bin);
    if (unneeded == 0)
        return true;
    if (!discard_but(rows, row, idle > unneeded ? idle - unneeded : 0, bytes))
        return false;
    (void)pool_bin_unneeded(&row->bin); /* the next window begins with what is idle now */
    return true;
}

size_t pool_rows_age(struct pool_rows *rows)
{
    size_t bytes = 0;
    if (!pool_lock_take(&rows->lock))
        return 0;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        if (!age_row(rows, &rows->rows[row], &bytes))
            return bytes;
    pool_lock_give(&rows->lock);
    return bytes;
}

size_t pool_rows_idle_bytes(const struct pool_rows *rows)
{
    size_t bytes = 0;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        for (uint32_t stride = 0; stride < POOL_GET(&rows->rows[row], born); stride++) {
            uint32_t index = rows->rows[row].first + stride;
            if (POOL_GET(&rows->records[index], state) == POOL_IDLE)
                bytes += bytes_of(rows, index);
        }
    return bytes;
}

/* As in the packed area (spans_keep.c): idle memory is wiped in the child, by marks that never
   outlive the fork. A block whose mark cannot be taken back is given up. */
static void mark_row(struct pool_rows *rows, struct pool_row *row)
{
    row->low = POOL_GET(&row->bin, low);
    uint32_t index = pool_bin_drain(&row->bin);
    while (index) {
        uint32_t next = POOL_GET(at(rows, index), next);
        if (POOL_GET(at(rows, index), state) == POOL_IDLE &&
            rows->source->wipe_on_fork(pool_rows_address(rows, index),
                                       bytes_of(rows, index), true))
            POOL_SET(at(rows, index), state, POOL_WIPED);
        /* Turned round: they go back coldest first. */
        POOL_SET(at(rows, index), next, row->forking);
        row->forking = index;
        index = next;
    }
}

static void unmark_row(struct pool_rows *rows, struct pool_row *row, bool in_child)
{
    uint32_t index = row->forking;
    row->forking = 0;
    while (index) {
        uint32_t next = POOL_GET(at(rows, index), next);
        enum pool_state state = POOL_GET(at(rows, index), state);
        if (state == POOL_WIPED &&
            rows->source->wipe_on_fork(pool_rows_address(rows, index),
                                       bytes_of(rows, index), false)) {
            state = in_child ? POOL_CLEAN : POOL_IDLE;
            pool_source_refund(rows->source, in_child ? bytes_of(rows, index) : 0);
        }
        if (state != POOL_WIPED)
            pool_rows_make_idle(rows, index, state);
        else
            POOL_SET(at(rows, index), state, POOL_LIVE);
        index = next;
    }
    /* A fork is no need: the window goes on. */
    POOL_SET(&row->bin, low, row->low);
}

void pool_rows_fork_prepare(struct pool_rows *rows)
{
    if (!pool_lock_fork_prepare(&rows->lock) || !rows->source->wipe_on_fork)
        return;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        mark_row(rows, &rows->rows[row]);
}

void pool_rows_fork_done(struct pool_rows *rows, bool in_child)
{
    if (!pool_lock_fork_ends(&rows->lock))
        return;
    for (unsigned row = 0; row < POOL_ROW_COUNT && rows->source->wipe_on_fork; row++)
        unmark_row(rows, &rows->rows[row], in_child);
    pool_lock_fork_done(&rows->lock);
}

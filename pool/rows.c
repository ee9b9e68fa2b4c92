#include "pool/rows.h"

#include "policy/must.h"

/* Memory order
   [A] Of two threads that return one block at once, one finds it live. Nothing else is handed
       over here; the bin's head does that. */

static unsigned stride_shift(unsigned row)
{
    return POOL_ROW_FIRST_SHIFT + row;
}

static uint32_t strides_of(unsigned row, unsigned row_shift)
{
    return row_shift < stride_shift(row) ? 0
                                         : UINT32_C(1) << (row_shift - stride_shift(row));
}

uint32_t pool_rows_records(unsigned row_shift)
{
    uint32_t records = 1; /* index 0 means "none" */
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        records += strides_of(row, row_shift);
    return records;
}

void pool_rows_open(struct pool_rows *rows, char *base, unsigned row_shift,
                    struct pool_record *records, const struct pool_source *source)
{
    rows->base = base;
    rows->row_shift = row_shift;
    rows->records = records;
    rows->source = source;
    uint32_t first = 1;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++) {
        rows->rows[row].first = first;
        rows->rows[row].strides = strides_of(row, row_shift);
        must(rows->rows[row].strides <= POOL_BIN_MOST);
        first += rows->rows[row].strides;
    }
    pool_lock_open(&rows->lock);
}

static unsigned row_for(size_t bytes)
{
    unsigned shift = bytes <= 1 ? 0 : 64u - (unsigned)__builtin_clzl(bytes - 1);
    return shift < POOL_ROW_FIRST_SHIFT ? 0 : shift - POOL_ROW_FIRST_SHIFT;
}

static unsigned row_of(const struct pool_rows *rows, uint32_t index)
{
    unsigned row = 0;
    while (index >= rows->rows[row].first + rows->rows[row].strides)
        row++;
    return row;
}

char *pool_rows_address(const struct pool_rows *rows, uint32_t index)
{
    unsigned row = row_of(rows, index);
    size_t stride = index - rows->rows[row].first;
    return rows->base + ((size_t)row << rows->row_shift) + (stride << stride_shift(row));
}

/* Where an address lies. */
struct place {
    unsigned row;
    size_t stride;
    bool at_start;
};

static struct place place_of(const struct pool_rows *rows, const char *address)
{
    size_t offset = (size_t)(address - rows->base);
    unsigned row = (unsigned)(offset >> rows->row_shift);
    size_t inside = offset - ((size_t)row << rows->row_shift);
    size_t stride = inside >> stride_shift(row);
    return (struct place){row, stride, inside == stride << stride_shift(row)};
}

bool pool_rows_was_born(const struct pool_rows *rows, const char *address)
{
    struct place place = place_of(rows, address);
    return place.stride < POOL_GET(&rows->rows[place.row], born);
}

uint32_t pool_rows_index(const struct pool_rows *rows, const char *address)
{
    struct place place = place_of(rows, address);
    const struct pool_row *row = &rows->rows[place.row];
    if (!place.at_start || place.stride >= POOL_GET(row, born))
        return 0;
    return row->first + (uint32_t)place.stride;
}

/* Whole MiB, so that a block that grows step by step does not make every step a call. */
static size_t enabled_bytes(size_t bytes)
{
    size_t piece = (size_t)1 << POOL_ROW_ENABLE_SHIFT;
    return (bytes + piece - 1) & ~(piece - 1);
}

static void prefer_huge(struct pool_rows *rows, uint32_t index, size_t from, size_t end)
{
    size_t most = (size_t)1 << POOL_ROW_HUGE_SHIFT;
    if (rows->huge != POOL_HUGE_ALWAYS && end > most)
        end = most;
    if (rows->huge != POOL_HUGE_NEVER && rows->source->prefer_huge && from < end)
        rows->source->prefer_huge(pool_rows_address(rows, index) + from, end - from);
}

bool pool_rows_extend(struct pool_rows *rows, uint32_t index, size_t bytes)
{
    unsigned row = row_of(rows, index);
    if (bytes > (size_t)1 << stride_shift(row))
        return false;
    struct pool_record *record = &rows->records[index];
    size_t have = (size_t)POOL_GET(record, granules) << POOL_GRANULE_SHIFT;
    if (bytes <= have)
        return true;
    size_t want = enabled_bytes(bytes);
    if (!pool_source_charge(rows->source, want - have))
        return false;
    if (!rows->source->enable(pool_rows_address(rows, index) + have, want - have)) {
        pool_source_refund(rows->source, want - have);
        return false;
    }
    prefer_huge(rows, index, have, want);
    POOL_SET(record, granules, (uint32_t)(want >> POOL_GRANULE_SHIFT));
    return true;
}

static uint32_t bear(struct pool_rows *rows, struct pool_row *row, size_t bytes)
{
    uint32_t born = POOL_GET(row, born);
    if (rows->shed || born == row->strides)
        return 0;
    /* Written before it is read: a page of records that is read first faults twice. */
    POOL_SET(&rows->records[row->first + born], state, POOL_UNBORN);
    if (!pool_rows_extend(rows, row->first + born, bytes))
        return 0;
    POOL_SET(row, born, born + 1);
    return row->first + born;
}

static uint32_t claim_idle(struct pool_rows *rows, unsigned row)
{
    unsigned end = row + POOL_ROW_OCTAVES_UP + 1;
    if (end > POOL_ROW_COUNT)
        end = POOL_ROW_COUNT;
    for (; row < end; row++) {
        uint32_t index = pool_bin_pop(&rows->rows[row].bin, rows->records);
        if (index)
            return index;
    }
    return 0;
}

/* Idle blocks may have been out of their bins for a moment, to be aged or spared a fork:
   under the lock they are back. */
static uint32_t claim_locked(struct pool_rows *rows, unsigned row, size_t bytes)
{
    if (!pool_lock_take(&rows->lock))
        return 0;
    uint32_t index = claim_idle(rows, row);
    if (!index)
        index = bear(rows, &rows->rows[row], bytes);
    pool_lock_give(&rows->lock);
    return index;
}

/* A row holds fewer blocks than its bin can count, so only a race is ever lost: another
   thread has then won it and goes on to use its block. */
void pool_rows_make_idle(struct pool_rows *rows, uint32_t index, enum pool_state state)
{
    POOL_SET(&rows->records[index], state, state);
    struct pool_bin *bin = &rows->rows[row_of(rows, index)].bin;
    while (!pool_bin_push(bin, rows->records, index))
        continue;
}

static void put_back(struct pool_rows *rows, uint32_t index)
{
    if (pool_lock_take(&rows->lock)) {
        rows->put_back++;
        pool_lock_give(&rows->lock);
    }
    pool_rows_make_idle(rows, index, POOL_GET(&rows->records[index], state));
}

uint32_t pool_rows_claim(struct pool_rows *rows, size_t bytes, bool *fresh)
{
    *fresh = false;
    unsigned row = row_for(bytes);
    if (row >= POOL_ROW_COUNT)
        return 0;
    uint32_t index = claim_idle(rows, row);
    if (!index)
        index = claim_locked(rows, row, bytes);
    if (!index)
        return 0;
    /* What reads as zero holds nothing; it enters again as far as it is asked for now. */
    if (rows->source->charge && POOL_GET(&rows->records[index], state) == POOL_CLEAN)
        POOL_SET(&rows->records[index], granules, 0);
    if (!pool_rows_extend(rows, index, bytes)) {
        put_back(rows, index);
        return 0;
    }
    /* Else it was just born, or is POOL_CLEAN. */
    *fresh = POOL_GET(&rows->records[index], state) != POOL_IDLE;
    POOL_SET(&rows->records[index], state, POOL_LIVE);
    return index;
}

bool pool_rows_return(struct pool_rows *rows, uint32_t index)
{
    uint16_t live = POOL_LIVE;
    if (!atomic_compare_exchange_strong_explicit(&rows->records[index].state, &live,
                                                 POOL_IDLE, memory_order_relaxed, /* A */
                                                 memory_order_relaxed))
        return false;
    pool_rows_make_idle(rows, index, POOL_IDLE);
    return true;
}

static void shed_row(struct pool_rows *rows, unsigned row)
{
    char *base = rows->base + ((size_t)row << rows->row_shift);
    size_t row_bytes = (size_t)1 << rows->row_shift;
    size_t born_bytes = (size_t)POOL_GET(&rows->rows[row], born) << stride_shift(row);
    if (born_bytes < row_bytes)
        rows->source->release(base + born_bytes, row_bytes - born_bytes);
}

void pool_rows_shed(struct pool_rows *rows)
{
    if (!pool_lock_take(&rows->lock))
        return;
    for (unsigned row = 0; row < POOL_ROW_COUNT && !rows->shed; row++)
        shed_row(rows, row);
    rows->shed = true;
    pool_lock_give(&rows->lock);
}

bool pool_rows_due(const struct pool_rows *rows, uint32_t index)
{
    return pool_bin_due(&rows->rows[row_of(rows, index)].bin);
}

struct pool_row_figures pool_rows_figures(struct pool_rows *rows)
{
    struct pool_row_figures figures = {0};
    if (!pool_lock_take(&rows->lock))
        return figures;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++) {
        figures.reused += pool_bin_popped(&rows->rows[row].bin);
        figures.born += POOL_GET(&rows->rows[row], born);
    }
    figures.reused -= rows->put_back;
    pool_lock_give(&rows->lock);
    return figures;
}

void pool_rows_walk(struct pool_rows *rows,
                    void (*visit)(void *context, const struct pool_record *record),
                    void *context)
{
    if (!pool_lock_take(&rows->lock))
        return;
    for (unsigned row = 0; row < POOL_ROW_COUNT; row++)
        for (uint32_t stride = 0; stride < POOL_GET(&rows->rows[row], born); stride++)
            visit(context, &rows->records[rows->rows[row].first + stride]);
    pool_lock_give(&rows->lock);
}

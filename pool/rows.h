/* Rows of equal strides, one row an octave from 64 MiB up: blocks above 32 MiB, and
   blocks that grow. A block starts at its stride and is extended in place up to its end;
   what is not touched costs address space only. Strides never split or merge.

   claim, return and extend run in any number of threads at once, extend by the owner. */
#ifndef POOL_ROWS_H
#define POOL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/bins.h"
#include "pool/lock.h"
#include "pool/huge.h"
#include "pool/source.h"

enum {
    POOL_ROW_FIRST_SHIFT = 26, /* strides of the first row: 64 MiB */
    POOL_ROW_COUNT = 10,       /* up to 32 GiB; larger requests are not served */
    POOL_ROW_OCTAVES_UP =
        2, /* how many rows above its own a claim looks for idle blocks */
    POOL_ROW_ENABLE_SHIFT = 20, /* strides become writable in whole MiB */
    POOL_ROW_STEP_SHIFT =
        28, /* 256 MiB, or one block: what goes back in one hold of the lock */
    POOL_ROW_HUGE_SHIFT = 22, /* the part of a block where huge pages pay by themselves */
};

struct pool_row {
    struct pool_bin bin;
    uint32_t first;   /* record of stride 0 */
    uint32_t strides; /* how many the row has; 0 when its address space is too small */
    _Atomic uint32_t born; /* strides that hold a block; written under the lock */
    uint32_t forking;      /* idle blocks taken out around a fork, under the lock */
    uint32_t low;          /* and the bin's low mark before it */
};

struct pool_row_figures {
    uint64_t reused; /* claims served by an idle block */
    uint64_t born;   /* claims served by a new one */
};

struct pool_rows {
    char *base;
    unsigned row_shift; /* bytes of address space of each row, as a power of two */
    struct pool_record *records;
    const struct pool_source *source;
    enum pool_huge huge;
    struct pool_row rows[POOL_ROW_COUNT];
    struct pool_lock lock; /* guards births, which follow each other in address order */
    uint64_t put_back;     /* idle blocks that could not be extended, under the lock */
    bool shed;             /* what was never born is no longer ours; under the lock */
};

/* How many records rows of 2^row_shift bytes need, index 0 included. */
uint32_t pool_rows_records(unsigned row_shift);

/* Takes over POOL_ROW_COUNT << row_shift bytes of reserved address space at `base` and
   pool_rows_records() zeroed records; *rows is zeroed too. */
void pool_rows_open(struct pool_rows *rows, char *base, unsigned row_shift,
                    struct pool_record *records, const struct pool_source *source);

/* A block whose stride holds `bytes` and whose first `bytes` are writable, by its index;
   0 when there is none. *fresh: never handed out, or trimmed since: it reads as zero. */
uint32_t pool_rows_claim(struct pool_rows *rows, size_t bytes, bool *fresh);

/* Makes the first `bytes` of a live block writable, in place. False when its stride is
   smaller or the source refuses; the block is then as before. */
bool pool_rows_extend(struct pool_rows *rows, uint32_t index, size_t bytes);

/* Gives a block back; false when it is not live, and nothing has changed: of two threads that
   return it at once, one is told so. */
bool pool_rows_return(struct pool_rows *rows, uint32_t index);

/* Gives the address space back in which no block was born: none will be. */
void pool_rows_shed(struct pool_rows *rows);

/* Gives everything back that is not live, address space and all, and bears nothing more: what
   comes back later waits for the next call. The bytes of memory. */
size_t pool_rows_close(struct pool_rows *rows);

/* Whether the address lies in the stride of a block that was born. */
bool pool_rows_was_born(const struct pool_rows *rows, const char *address);

/* Whether it is time to look at the clock, as the bin of this block's row sees it. */
bool pool_rows_due(const struct pool_rows *rows, uint32_t index);

/* Gives the memory of every idle block back to the source; the bytes given. */
size_t pool_rows_trim(struct pool_rows *rows);

/* The same for what nobody needed since the last call. */
size_t pool_rows_age(struct pool_rows *rows);

/* Bytes of idle blocks, as far as they are writable; an estimate while others run. */
size_t pool_rows_idle_bytes(const struct pool_rows *rows);

/* Index of the block at `address` and back; 0 when no block begins there. */
uint32_t pool_rows_index(const struct pool_rows *rows, const char *address);
char *pool_rows_address(const struct pool_rows *rows, uint32_t index);

/* Around a fork: holds the lock, and spares the child the idle memory. */
void pool_rows_fork_prepare(struct pool_rows *rows);
void pool_rows_fork_done(struct pool_rows *rows, bool in_child);

/* Makes a block that is not live idle, in this state. For rows.c and rows_keep.c. */
void pool_rows_make_idle(struct pool_rows *rows, uint32_t index, enum pool_state state);

struct pool_row_figures pool_rows_figures(struct pool_rows *rows);

/* Calls `visit` for every block that was born, under the lock. */
void pool_rows_walk(struct pool_rows *rows,
                    void (*visit)(void *context, const struct pool_record *record),
                    void *context);

#endif

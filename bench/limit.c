/* The least that a malloc could cost, to measure others by: one block of memory of LIMIT_MB
   megabytes, written before main(), and a position in it that each request moves on. It
   goes back to the start when nothing is live, or when a request has no room before the
   end, which is right for programs that release first what they claimed first. Requests of
   ordinary size come from lists by size. Serves the workloads of this folder and no more:
   large blocks are never cleared, not even for calloc. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LINE_BYTES = 64, /* blocks begin at one and have their header in the one before */
    PAGE_BYTES = 4096,
    LARGE_BYTES = 64 << 10,
    SMALL_CLASSES = 18, /* by powers of two: up to LARGE_BYTES with the header */
    SMALL_LEAST_SHIFT = 5,
    SMALL_ARENA_BYTES = 32 << 20,
};

struct header {
    size_t capacity_bytes;
    struct header *next; /* of the same class, while the block is free */
};

_Static_assert(sizeof(struct header) == 16, "blocks keep the alignment of malloc");

/* Memory order
   [A] A block's contents pass from the thread that frees it to the one that is given it
       through `large_state`, which every claim and release changes.
   [S] The lists and the arena are changed under `small_lock`. */

/* Lines up to the position in the upper half, live blocks in the lower. */
static _Atomic uint64_t large_state;
static char *large_base;
static uint64_t large_lines;

static atomic_flag small_lock = ATOMIC_FLAG_INIT;
static struct header *small_free[SMALL_CLASSES];
static _Alignas(LINE_BYTES) char small_arena[SMALL_ARENA_BYTES];
static size_t small_used_bytes;

static void touch(char *from, size_t bytes)
{
    for (volatile char *page = from; page < from + bytes; page += PAGE_BYTES)
        *page = 1;
}

__attribute__((constructor)) static void open_limit(void)
{
    const char *megabytes = getenv("LIMIT_MB");
    size_t bytes = (megabytes ? strtoul(megabytes, NULL, 10) : 1) * 1000000;
    void *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        abort();
    /* Pages as the other allocators get them, where the kernel would choose huge ones. */
    (void)madvise(base, bytes, MADV_NOHUGEPAGE);
    touch(base, bytes);
    touch(small_arena, sizeof small_arena);
    large_base = base;
    large_lines = bytes / LINE_BYTES;
}

static struct header *header_of(void *block)
{
    return (struct header *)block - 1;
}

static bool is_large(const void *block)
{
    return (uintptr_t)block - (uintptr_t)large_base < large_lines * LINE_BYTES;
}

static uint64_t lines_of(size_t bytes)
{
    return (bytes + LINE_BYTES - 1) / LINE_BYTES;
}

static void *claim_large(size_t bytes)
{
    uint64_t need = 1 + lines_of(bytes);
    if (need > large_lines)
        return NULL;
    uint64_t state = atomic_load_explicit(&large_state, memory_order_relaxed);
    uint64_t start, next;
    do {
        start = (state >> 32) + need <= large_lines ? state >> 32 : 0;
        next = (start + need) << 32 | ((state & UINT32_MAX) + 1);
    } while (!atomic_compare_exchange_weak_explicit(&large_state, &state, next,
                                                    memory_order_acquire, /* A */
                                                    memory_order_relaxed));
    void *block = large_base + (start + 1) * LINE_BYTES;
    header_of(block)->capacity_bytes = (need - 1) * LINE_BYTES;
    return block;
}

static void release_large(void)
{
    uint64_t state = atomic_load_explicit(&large_state, memory_order_relaxed);
    uint64_t next;
    do
        next = (state & UINT32_MAX) == 1 ? 0 : state - 1;
    while (!atomic_compare_exchange_weak_explicit(&large_state, &state, next,
                                                  memory_order_release, /* A */
                                                  memory_order_relaxed));
}

/* Only the last block has room behind it. */
static bool extend_large(void *block, size_t bytes)
{
    struct header *header = header_of(block);
    uint64_t start = (uint64_t)((char *)block - large_base) / LINE_BYTES;
    uint64_t state = atomic_load_explicit(&large_state, memory_order_relaxed);
    if (state >> 32 != start + lines_of(header->capacity_bytes) ||
        start + lines_of(bytes) > large_lines)
        return false;
    uint64_t next = (start + lines_of(bytes)) << 32 | (state & UINT32_MAX);
    if (!atomic_compare_exchange_strong_explicit(&large_state, &state, next,
                                                 memory_order_relaxed, /* ours already */
                                                 memory_order_relaxed))
        return false;
    header->capacity_bytes = lines_of(bytes) * LINE_BYTES;
    return true;
}

static unsigned small_class(size_t bytes)
{
    unsigned size_class = SMALL_LEAST_SHIFT;
    while ((size_t)1 << size_class < bytes + sizeof(struct header))
        size_class++;
    return size_class;
}

static struct header *new_small(size_t bytes)
{
    if (bytes > sizeof small_arena - small_used_bytes)
        return NULL;
    struct header *header = (struct header *)(void *)(small_arena + small_used_bytes);
    small_used_bytes += bytes;
    return header;
}

static void lock_small(void)
{
    while (atomic_flag_test_and_set_explicit(&small_lock, memory_order_acquire)) /* S */
        continue;
}

static void unlock_small(void)
{
    atomic_flag_clear_explicit(&small_lock, memory_order_release); /* S */
}

static void *claim_small(size_t bytes)
{
    unsigned size_class = small_class(bytes);
    lock_small();
    struct header *header = small_free[size_class];
    if (header)
        small_free[size_class] = header->next;
    else
        header = new_small((size_t)1 << size_class);
    unlock_small();
    if (!header)
        return NULL;
    header->capacity_bytes = ((size_t)1 << size_class) - sizeof *header;
    return header + 1;
}

static void release_small(void *block)
{
    struct header *header = header_of(block);
    unsigned size_class = small_class(header->capacity_bytes);
    lock_small();
    header->next = small_free[size_class];
    small_free[size_class] = header;
    unlock_small();
}

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t bytes)
{
    return bytes < LARGE_BYTES ? claim_small(bytes) : claim_large(bytes);
}

EXPORTED void free(void *block)
{
    if (!block)
        return;
    if (is_large(block))
        release_large();
    else
        release_small(block);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        return NULL;
    void *block = malloc(total);
    if (block && total < LARGE_BYTES)
        memset(block, 0, total);
    return block;
}

EXPORTED void *realloc(void *block, size_t bytes)
{
    if (!block)
        return malloc(bytes);
    size_t held_bytes = header_of(block)->capacity_bytes;
    if (bytes <= held_bytes || (is_large(block) && extend_large(block, bytes)))
        return block;
    void *moved = malloc(bytes);
    if (!moved)
        return NULL;
    memcpy(moved, block, held_bytes);
    free(block);
    return moved;
}

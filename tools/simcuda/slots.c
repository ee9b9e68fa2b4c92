#include "tools/simcuda/slots.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum {
    UNIT_BYTES = SIM_BLOCK_UNIT_BYTES,
    PAGE_BYTES = 4096,
    CHUNK_SHIFT = 22,
    CHUNK_BYTES = 1 << CHUNK_SHIFT,
    ADDRESS_BITS = 47, /* of a program's half of the address space */
    LEAF_BITS = 13,
    ROOT_BITS = ADDRESS_BITS - CHUNK_SHIFT - LEAF_BITS,
    EXACT_UNITS = PAGE_BYTES / UNIT_BYTES, /* up to here a size has a class of its own */
    CLASS_COUNT = 72,
};

struct chunk {
    uint64_t address;
    uint64_t slot_bytes;
    uint64_t slot_count;
    uint64_t born_count; /* slots after these were never claimed */
    struct sim_block *records;
};

LIST_HEAD(idle_list, sim_block);

static struct {
    struct idle_list idle;
    struct chunk *newest; /* the one that slots are born in; NULL at first */
} classes[CLASS_COUNT];

struct leaf {
    struct chunk *chunks[1 << LEAF_BITS];
};

static struct leaf *roots[1 << ROOT_BITS]; /* every chunk, by its address */

static void *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* Whole units up to a page; after that four sizes an octave, of whole pages first. */
static unsigned class_of(uint64_t bytes, bool paged, uint64_t *slot_bytes)
{
    if (paged && bytes < PAGE_BYTES)
        bytes = PAGE_BYTES;
    uint64_t units = (bytes + UNIT_BYTES - 1) / UNIT_BYTES;
    if (units <= EXACT_UNITS) {
        *slot_bytes = units * UNIT_BYTES;
        return (unsigned)units;
    }
    unsigned octave = 63 - (unsigned)__builtin_clzll((bytes - 1) / PAGE_BYTES);
    uint64_t step = ((uint64_t)PAGE_BYTES << octave) / 4;
    if (step < PAGE_BYTES)
        step = PAGE_BYTES;
    uint64_t steps = (bytes + step - 1) / step;
    *slot_bytes = steps * step;
    return EXACT_UNITS + octave * 8 + (unsigned)(steps % 8) + 1;
}

static size_t root_of(uint64_t address)
{
    return address >> (CHUNK_SHIFT + LEAF_BITS);
}

static size_t leaf_of(uint64_t address)
{
    return address >> CHUNK_SHIFT & ((1 << LEAF_BITS) - 1);
}

/* Twice as much as is needed has an aligned chunk within it. */
static void *map_aligned(void)
{
    char *memory = map(2 * (uint64_t)CHUNK_BYTES);
    if (memory == NULL)
        return NULL;
    uint64_t before = -(uintptr_t)memory % CHUNK_BYTES;
    if (before > 0)
        munmap(memory, before);
    munmap(memory + before + CHUNK_BYTES, CHUNK_BYTES - before);
    return memory + before;
}

static bool enter(struct chunk *chunk)
{
    struct leaf **leaf = &roots[root_of(chunk->address)];
    if (*leaf == NULL)
        *leaf = map(sizeof **leaf);
    if (*leaf == NULL)
        return false;
    (*leaf)->chunks[leaf_of(chunk->address)] = chunk;
    return true;
}

/* The chunk's own description lies before its records. */
static struct chunk *create_chunk(uint64_t slot_bytes)
{
    uint64_t slot_count = CHUNK_BYTES / slot_bytes;
    uint64_t table_bytes = sizeof(struct chunk) + slot_count * sizeof(struct sim_block);
    struct chunk *chunk = map(table_bytes);
    void *memory = map_aligned();
    if (chunk == NULL || memory == NULL)
        goto unmap;
    *chunk = (struct chunk){.address = (uintptr_t)memory,
                            .slot_bytes = slot_bytes,
                            .slot_count = slot_count,
                            .records = (struct sim_block *)(chunk + 1)};
    if (enter(chunk))
        return chunk;

unmap:
    if (memory != NULL)
        munmap(memory, CHUNK_BYTES);
    if (chunk != NULL)
        munmap(chunk, table_bytes);
    return NULL;
}

struct sim_block *sim_slots_claim(uint64_t bytes, bool paged)
{
    uint64_t slot_bytes;
    unsigned class = class_of(bytes, paged, &slot_bytes);
    struct sim_block *block = LIST_FIRST(&classes[class].idle);
    if (block != NULL) {
        LIST_REMOVE(block, siblings);
        return block;
    }
    struct chunk *chunk = classes[class].newest;
    if (chunk == NULL || chunk->born_count == chunk->slot_count)
        chunk = classes[class].newest = create_chunk(slot_bytes);
    if (chunk == NULL)
        return NULL;
    block = &chunk->records[chunk->born_count];
    block->address = chunk->address + chunk->born_count++ * slot_bytes;
    block->slot_class = class;
    return block;
}

void sim_slots_return(struct sim_block *block)
{
    block->bytes = 0;
    LIST_INSERT_HEAD(&classes[block->slot_class].idle, block, siblings);
}

struct sim_block *sim_slots_find(uint64_t address)
{
    if (address >> ADDRESS_BITS != 0)
        return NULL;
    const struct leaf *leaf = roots[root_of(address)];
    const struct chunk *chunk = leaf != NULL ? leaf->chunks[leaf_of(address)] : NULL;
    if (chunk == NULL)
        return NULL;
    uint64_t index = (address - chunk->address) / chunk->slot_bytes;
    if (index >= chunk->born_count)
        return NULL;
    struct sim_block *block = &chunk->records[index];
    return address - block->address < block->bytes ? block : NULL;
}

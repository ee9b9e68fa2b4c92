#include "tools/simcuda/mappings.h"

#include <stddef.h>
#include <sys/mman.h>

#include "tools/simcuda/knobs.h"

enum {
    KEPT_COUNT = 8,
    KEPT_BYTES = 64 << 20, /* all together */
    PAGE_BYTES = 4096,
};

static struct {
    void *memory; /* NULL: none */
    uint64_t pages;
} kept[KEPT_COUNT];

static uint64_t kept_pages;

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
}

void *sim_mappings_claim(uint64_t bytes)
{
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        void *memory = kept[i].memory;
        if (memory == NULL || kept[i].pages != pages_of(bytes))
            continue;
        kept[i].memory = NULL;
        kept_pages -= kept[i].pages;
        return memory;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void sim_mappings_return(void *memory, uint64_t bytes)
{
    uint64_t pages = pages_of(bytes);
    size_t i = 0;
    while (i < KEPT_COUNT && kept[i].memory != NULL)
        i++;
    if (sim_knobs->unmap_freed || i == KEPT_COUNT ||
        pages + kept_pages > KEPT_BYTES / PAGE_BYTES) {
        munmap(memory, bytes);
        return;
    }
    kept[i].memory = memory;
    kept[i].pages = pages;
    kept_pages += pages;
}

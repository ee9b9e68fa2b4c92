/* A program linked to jemalloc that mixes its API with malloc, blocks of staging size
   included. Exit 0, or the number of the step that went wrong. */
#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                   \
    if (!(condition))                                                                      \
    exit(__LINE__ % 256)

static const size_t sizes[] = {1, 100, 5000, 70000, 1 << 20, 40 << 20};

int main(void)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = sizes[i];
        char *block = malloc(bytes);
        memset(block, 7, bytes);
        CHECK(sallocx(block, 0) >= bytes);
        CHECK(malloc_usable_size(block) == sallocx(block, 0));
        CHECK(xallocx(block, bytes, 0, 0) >= bytes);
        block = rallocx(block, 2 * bytes, MALLOCX_ZERO);
        CHECK(block && block[0] == 7 && block[bytes - 1] == 7);
        dallocx(block, 0);

        block = malloc(bytes);
        sdallocx(block, bytes, 0);

        block = mallocx(bytes, MALLOCX_ALIGN(256) | MALLOCX_ZERO);
        CHECK((uintptr_t)block % 256 == 0 && block[0] == 0 && block[bytes - 1] == 0);
        CHECK(nallocx(bytes, MALLOCX_ALIGN(256)) == sallocx(block, 0));
        block = realloc(block, 3 * bytes);
        CHECK(block && block[0] == 0);
        free(block);

        dallocx(aligned_alloc(64, bytes), MALLOCX_ALIGN(64));
    }
    size_t mib[4], mib_length = 4, value = 0, value_bytes = sizeof(value);
    uint64_t epoch = 1;
    size_t epoch_bytes = sizeof(epoch);
    CHECK(mallctl("epoch", &epoch, &epoch_bytes, &epoch, epoch_bytes) == 0);
    CHECK(mallctl("stats.allocated", &value, &value_bytes, NULL, 0) == 0 && value > 0);
    CHECK(mallctlnametomib("stats.active", mib, &mib_length) == 0);
    CHECK(mallctlbymib(mib, mib_length, &value, &value_bytes, NULL, 0) == 0 && value > 0);
    CHECK(mallctl("no.such.name", NULL, NULL, NULL, 0) != 0);
    return 0;
}

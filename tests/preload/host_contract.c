/* The malloc family keeps glibc's contract, whoever serves: these assertions hold in a plain
   run, under the preload and under TIDEMARK=off. Sizes cross every border inside: jemalloc's
   classes, the staging threshold, granules, the packed area and the rows. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>

#include "../suite.h"

static const size_t sizes[] = {0,         1,          7,           8,          9,
                               16,        24,         1000,        4095,       4096,
                               65535,     65536,      65537,       100000,     131072,
                               1 << 20,   5000000,    33554431,    33554432,   33554433,
                               (1 << 26), 67108865,   82460928};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

/* Compilers know malloc and would delete a pair whose block is not used. */
static void *opaque(void *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static size_t opaque_size(size_t bytes)
{
    __asm__ volatile("" : "+r"(bytes));
    return bytes;
}

static bool is_aligned(const void *block, size_t alignment)
{
    return (uintptr_t)block % alignment == 0;
}

/* Writes both ends and a word in each page: enough to fault and to find again. */
static void paint(char *block, size_t bytes, unsigned char seed)
{
    for (size_t at = 0; at < bytes; at += 4096)
        block[at] = (char)(seed + at / 4096);
    if (bytes > 0)
        block[bytes - 1] = (char)seed;
}

static bool is_painted(const char *block, size_t bytes, unsigned char seed)
{
    for (size_t at = 0; at < bytes; at += 4096)
        if (block[at] != (char)(seed + at / 4096) && at != bytes - 1)
            return false;
    return bytes == 0 || block[bytes - 1] == (char)seed;
}

static bool is_zero(const char *block, size_t bytes)
{
    return bytes == 0 || (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

START_TEST(every_size_gives_a_block_of_sixteen_byte_alignment)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        char *block = opaque(malloc(sizes[i]));
        ck_assert_ptr_nonnull(block);
        ck_assert(is_aligned(block, 16));
        ck_assert_uint_ge(malloc_usable_size(block), sizes[i]);
        paint(block, sizes[i], 7);
        ck_assert(is_painted(block, sizes[i], 7));
        free(block);
    }
    void *blocks[1024];
    for (size_t n = 0; n < 1024; n++) {
        blocks[n] = opaque(malloc(n));
        ck_assert(is_aligned(blocks[n], 16));
    }
    for (size_t n = 0; n < 1024; n++)
        free(blocks[n]);
}
END_TEST

START_TEST(usable_size_is_constant_and_every_byte_of_it_can_be_written)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        char *block = opaque(malloc(sizes[i]));
        size_t usable = malloc_usable_size(block);
        memset(block, 0xa5, usable);
        ck_assert_uint_eq(malloc_usable_size(block), usable);
        free(block);
    }
    ck_assert_uint_eq(malloc_usable_size(NULL), 0);
}
END_TEST

START_TEST(calloc_clears_memory_that_was_dirty)
{
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < SIZE_COUNT; i++) {
            char *dirty = opaque(malloc(sizes[i]));
            memset(dirty, 0xff, sizes[i]);
            free(dirty);
            char *clean = opaque(calloc(1, sizes[i]));
            ck_assert_ptr_nonnull(clean);
            ck_assert(is_aligned(clean, 16));
            ck_assert(is_zero(clean, sizes[i]));
            memset(clean, 0xff, sizes[i]);
            free(clean);
        }
}
END_TEST

START_TEST(realloc_keeps_contents_between_every_pair_of_sizes)
{
    for (size_t i = 0; i < SIZE_COUNT; i++)
        for (size_t j = 0; j < SIZE_COUNT; j++) {
            size_t kept = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
            if (kept == 0)
                continue;
            char *block = opaque(malloc(sizes[i]));
            paint(block, kept, (unsigned char)(i + j));
            block = opaque(realloc(block, sizes[j]));
            ck_assert_ptr_nonnull(block);
            ck_assert(is_aligned(block, 16));
            ck_assert(is_painted(block, kept, (unsigned char)(i + j)));
            ck_assert_uint_ge(malloc_usable_size(block), sizes[j]);
            free(block);
        }
}
END_TEST

START_TEST(growth_step_by_step_keeps_contents)
{
    char *block = NULL;
    size_t held = 0;
    for (size_t bytes = 4096; bytes < 100000000; bytes += bytes / 2) {
        block = opaque(realloc(block, bytes));
        ck_assert_ptr_nonnull(block);
        if (held)
            ck_assert(is_painted(block, held, 3));
        paint(block, bytes, 3);
        held = bytes;
    }
    free(block);
}
END_TEST

START_TEST(realloc_to_nothing_frees_and_of_nothing_allocates)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *block = opaque(realloc(NULL, sizes[i]));
        ck_assert_ptr_nonnull(block);
        ck_assert_ptr_null(opaque(realloc(block, opaque_size(0))));
    }
    void *block = opaque(realloc(NULL, opaque_size(0)));
    ck_assert_ptr_nonnull(block);
    free(block);
}
END_TEST

START_TEST(requests_that_cannot_be_served_fail_with_enomem_and_change_nothing)
{
    const size_t hopeless[] = {SIZE_MAX, SIZE_MAX - 10, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX};
    for (size_t i = 0; i < 4; i++) {
        size_t bytes = opaque_size(hopeless[i]);
        char *block = opaque(malloc(100000));
        paint(block, 100000, 9);
#define FAILS(call)                                                                        \
    do {                                                                                   \
        errno = 0;                                                                         \
        ck_assert_ptr_null(opaque(call));                                                  \
        ck_assert_int_eq(errno, ENOMEM);                                                   \
    } while (0)
        FAILS(malloc(bytes));
        FAILS(calloc(1, bytes));
        FAILS(calloc(bytes, 2));
        FAILS(realloc(NULL, bytes));
        FAILS(realloc(block, bytes));
        FAILS(reallocarray(block, bytes, 3));
        FAILS(memalign(64, bytes));
        FAILS(aligned_alloc(64, bytes));
        FAILS(valloc(bytes));
        FAILS(pvalloc(bytes));
        char *small = opaque(malloc(10));
        FAILS(realloc(small, bytes));
        free(small);
        ck_assert(is_painted(block, 100000, 9));
        free(block);
    }
}
END_TEST

START_TEST(posix_memalign_refuses_bad_alignments_without_touching_anything)
{
    const size_t bad[] = {0, 1, 2, 3, 4, 6, 12, 24, 48};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        void *out = (void *)0x1234;
        errno = 77;
        ck_assert_int_eq(posix_memalign(&out, opaque_size(bad[i]), 100), EINVAL);
        ck_assert_ptr_eq(out, (void *)0x1234);
        ck_assert_int_eq(errno, 77);
    }
    void *out = (void *)0x1234;
    errno = 77;
    ck_assert_int_eq(posix_memalign(&out, 64, opaque_size(PTRDIFF_MAX)), ENOMEM);
    ck_assert_ptr_eq(out, (void *)0x1234);
}
END_TEST

START_TEST(every_power_of_two_is_an_alignment)
{
    for (size_t alignment = 8; alignment <= (size_t)1 << 24; alignment *= 2)
        for (size_t i = 0; i < SIZE_COUNT; i += 2) {
            void *block = NULL;
            ck_assert_int_eq(posix_memalign(&block, alignment, sizes[i]), 0);
            ck_assert(is_aligned(block, alignment));
            paint(block, sizes[i], 1);
            free(block);
            block = opaque(memalign(alignment, sizes[i]));
            ck_assert(is_aligned(block, alignment));
            paint(block, sizes[i], 1);
            free(opaque(block));
            block = opaque(aligned_alloc(alignment, sizes[i]));
            ck_assert(is_aligned(block, alignment));
            free(block);
        }
}
END_TEST

START_TEST(memalign_rounds_odd_alignments_up_and_refuses_the_impossible)
{
    const size_t odd[] = {0, 3, 24, 48, 1000};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        void *block = opaque(memalign(opaque_size(odd[i]), 100));
        ck_assert_ptr_nonnull(block);
        ck_assert(is_aligned(block, 16));
        free(block);
        block = opaque(aligned_alloc(opaque_size(odd[i]), 100000));
        ck_assert_ptr_nonnull(block);
        free(block);
    }
    errno = 0;
    ck_assert_ptr_null(opaque(memalign(opaque_size(SIZE_MAX / 2 + 2), 10)));
    ck_assert_int_eq(errno, EINVAL);
}
END_TEST

START_TEST(valloc_and_pvalloc_give_pages)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *block = opaque(valloc(sizes[i]));
        ck_assert(is_aligned(block, 4096));
        free(block);
        block = opaque(pvalloc(sizes[i]));
        ck_assert(is_aligned(block, 4096));
        ck_assert_uint_ge(malloc_usable_size(block), (sizes[i] + 4095) / 4096 * 4096);
        free(block);
    }
}
END_TEST

START_TEST(free_preserves_errno)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *block = opaque(malloc(sizes[i]));
        errno = 4242;
        free(block);
        ck_assert_int_eq(errno, 4242);
    }
    errno = 4242;
    free(NULL);
    ck_assert_int_eq(errno, 4242);
}
END_TEST

static void churn(unsigned index, void *shared)
{
    (void)shared;
    char *held[8] = {NULL};
    size_t bytes[8] = {0};
    uint64_t random = index + 1;
    for (int step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        unsigned slot = (unsigned)(random >> 60) & 7;
        if (held[slot] && !is_painted(held[slot], bytes[slot], (unsigned char)slot))
            abort();
        free(held[slot]);
        bytes[slot] = (size_t)(random >> 20) % ((size_t)1 << (8 + (random >> 50) % 14)) + 1;
        held[slot] = opaque(malloc(bytes[slot]));
        paint(held[slot], bytes[slot], (unsigned char)slot);
    }
    for (int slot = 0; slot < 8; slot++)
        free(held[slot]);
}

START_TEST(threads_never_share_a_block)
{
    suite_run_threads(4, churn, NULL);
}
END_TEST

START_TEST(a_child_of_a_busy_process_can_allocate)
{
    for (int round = 0; round < 20; round++) {
        char *before = opaque(malloc(1 << 20));
        paint(before, 1 << 20, 5);
        pid_t child = fork();
        if (child == 0) {
            char *inside = opaque(malloc(3 << 20));
            paint(inside, 3 << 20, 6);
            bool good = is_painted(before, 1 << 20, 5) && is_painted(inside, 3 << 20, 6);
            free(before);
            free(inside);
            _exit(good ? 0 : 1);
        }
        int status = -1;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        ck_assert(is_painted(before, 1 << 20, 5));
        free(before);
    }
}
END_TEST

SUITE_MAIN("host contract", every_size_gives_a_block_of_sixteen_byte_alignment,
           usable_size_is_constant_and_every_byte_of_it_can_be_written,
           calloc_clears_memory_that_was_dirty,
           realloc_keeps_contents_between_every_pair_of_sizes,
           growth_step_by_step_keeps_contents,
           realloc_to_nothing_frees_and_of_nothing_allocates,
           requests_that_cannot_be_served_fail_with_enomem_and_change_nothing,
           posix_memalign_refuses_bad_alignments_without_touching_anything,
           every_power_of_two_is_an_alignment,
           memalign_rounds_odd_alignments_up_and_refuses_the_impossible,
           valloc_and_pvalloc_give_pages, free_preserves_errno, threads_never_share_a_block,
           a_child_of_a_busy_process_can_allocate)

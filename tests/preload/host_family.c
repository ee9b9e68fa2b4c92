/* What surrounds malloc: its other names, its numbers, its tuning, and processes and threads
   that come and go meanwhile. Everything here holds under the preload, and all but what
   speaks of retained memory in a plain run too. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../suite.h"

/* glibc exports these without declaring them; C23 has the sized ones. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);
void *__libc_memalign(size_t alignment, size_t bytes);
void *__libc_valloc(size_t bytes);
void *__libc_pvalloc(size_t bytes);
void free_sized(void *block, size_t bytes) __attribute__((weak));
void free_aligned_sized(void *block, size_t alignment, size_t bytes) __attribute__((weak));

static bool preloaded(void)
{
    return getenv("LD_PRELOAD") && !getenv("TIDEMARK");
}

static void *opaque(void *block)
{
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static const size_t sizes[] = {1, 100, 70000, 1 << 20, 5000000, 40000000};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]), STAGING = 8 << 20 };

START_TEST(every_name_of_the_family_meets_the_same_allocator)
{
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *blocks[] = {malloc(sizes[i]),          __libc_malloc(sizes[i]),
                          calloc(1, sizes[i]),       __libc_calloc(1, sizes[i]),
                          memalign(64, sizes[i]),    __libc_memalign(64, sizes[i]),
                          __libc_valloc(sizes[i]),   __libc_pvalloc(sizes[i]),
                          __libc_realloc(NULL, sizes[i]), valloc(sizes[i])};
        for (size_t j = 0; j < sizeof(blocks) / sizeof(blocks[0]); j++) {
            void *block = opaque(blocks[j]);
            ck_assert_ptr_nonnull(block);
            ck_assert_uint_ge(malloc_usable_size(block), sizes[i]);
            memset(block, 1, sizes[i]);
            switch (j % 4) {
            case 0:
                free(block);
                break;
            case 1:
                __libc_free(block);
                break;
            case 2:
                block = opaque(realloc(block, 2 * sizes[i]));
                free(block);
                break;
            default:
                block = opaque(__libc_realloc(block, sizes[i] / 2 + 1));
                free(block);
            }
        }
    }
}
END_TEST

START_TEST(sized_frees_free)
{
    if (!preloaded())
        return; /* newer than this C library */
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        void *block = opaque(malloc(sizes[i]));
        errno = 99;
        free_sized(block, sizes[i]);
        block = opaque(aligned_alloc(64, sizes[i]));
        free_aligned_sized(block, 64, sizes[i]);
        ck_assert_int_eq(errno, 99);
    }
    free_sized(NULL, 0);
    free_aligned_sized(NULL, 64, 0);
}
END_TEST

START_TEST(mallinfo_counts_what_is_in_use)
{
    struct mallinfo2 before = mallinfo2();
    enum { COUNT = 1000, BYTES = 1000 };
    char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = opaque(malloc(BYTES));
    struct mallinfo2 during = mallinfo2();
    ck_assert_uint_ge(during.uordblks, before.uordblks + COUNT * BYTES);
    ck_assert_uint_le(during.uordblks, before.uordblks + 3 * COUNT * BYTES);
    ck_assert_uint_ge(during.arena + during.hblkhd, during.uordblks);
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
    ck_assert_int_gt(narrow.arena, 0);
}
END_TEST

/* In a plain run the mapped bytes fall back to their value before the bind: nothing is
   retained. Under the preload they stay, until malloc_trim. */
START_TEST(mapped_bytes_fall_back_exactly_when_nothing_is_retained)
{
    enum { BYTES = 64 << 20 };
    (void)malloc_trim(0);
    size_t before = mallinfo2().hblkhd;
    char *block = opaque(malloc(BYTES));
    memset(block, 1, BYTES);
    size_t during = mallinfo2().hblkhd;
    ck_assert_uint_ge(during, before + BYTES);
    free(block);
    size_t after = mallinfo2().hblkhd;
    ck_assert_uint_eq(after, preloaded() ? during : before);
    ck_assert_int_eq(malloc_trim(0), preloaded());
    ck_assert_uint_eq(mallinfo2().hblkhd, before);
}
END_TEST

static size_t resident_bytes(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_int_eq(fscanf(file, "%lu %lu", &total, &resident), 2);
    fclose(file);
    return resident * 4096;
}

START_TEST(malloc_trim_gives_idle_memory_back_and_it_reads_as_zero_again)
{
    char *block = opaque(malloc(STAGING));
    char *neighbour = opaque(malloc(STAGING));
    char *large = opaque(malloc(8 * STAGING));
    memset(block, 1, STAGING);
    memset(neighbour, 2, STAGING);
    memset(large, 3, 8 * STAGING);
    free(block);
    free(large);
    size_t held = resident_bytes();
    (void)malloc_trim(0);
    if (preloaded())
        ck_assert_uint_le(resident_bytes(), held - 9 * STAGING + (1 << 20));
    for (int i = 0; i < STAGING; i++)
        ck_assert_int_eq(neighbour[i], 2);
    for (int round = 0; round < 2; round++) {
        block = opaque(calloc(1, STAGING));
        large = opaque(calloc(1, 8 * STAGING));
        for (int i = 0; i < STAGING; i += 512)
            ck_assert_int_eq(block[i] | large[8 * i], 0);
        memset(block, 4, STAGING);
        memset(large, 4, 8 * STAGING);
        free(block);
        free(large);
    }
    free(neighbour);
}
END_TEST

START_TEST(malloc_info_is_well_formed)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    ck_assert_int_eq(malloc_info(0, file), 0);
    fclose(file);
    ck_assert_ptr_nonnull(strstr(text, "<malloc version=\"1\">"));
    ck_assert_ptr_nonnull(strstr(text, "</malloc>"));
    free(text);
    ck_assert_int_eq(malloc_info(1, stderr), EINVAL);
}
END_TEST

START_TEST(mallopt_accepts_what_glibc_accepts)
{
    ck_assert_int_eq(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
    ck_assert_int_eq(mallopt(M_ARENA_MAX, 2), 1);
}
END_TEST

/* Kernel calls on locked memory fail, and a free that tries one must not show it. */
START_TEST(free_preserves_errno_when_memory_is_locked)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return; /* not permitted here: nothing is locked, as in the contract test */
    for (size_t bytes = 1 << 10; bytes <= (size_t)20 << 20; bytes *= 2) {
        void *block = opaque(malloc(bytes));
        errno = 4242;
        free(block);
        ck_assert_int_eq(errno, 4242);
        block = opaque(malloc(bytes));
        block = opaque(realloc(block, bytes / 2));
        errno = 4242;
        free(block);
        ck_assert_int_eq(errno, 4242);
    }
    munlockall();
}
END_TEST

static pthread_key_t keys[3];

/* Allocates in the destructor and arms another key, as long as destructors are run. */
static void rearm(void *value)
{
    int left = *(int *)value;
    free(value);
    if (left > 0) {
        int *next = opaque(malloc(sizeof(*next)));
        *next = left - 1;
        pthread_setspecific(keys[left % 3], next);
        free(opaque(malloc(100000)));
    }
}

static void *short_life(void *argument)
{
    int *value = opaque(malloc(sizeof(*value)));
    *value = 3;
    pthread_setspecific(keys[0], value);
    free(opaque(malloc(200)));
    return argument;
}

START_TEST(threads_may_allocate_until_their_very_end)
{
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_key_create(&keys[i], rearm), 0);
    size_t after_warmup = 0;
    for (int i = 0; i < 1500; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, short_life, NULL), 0);
        pthread_join(thread, NULL);
        if (i == 500)
            after_warmup = resident_bytes();
    }
    ck_assert_uint_le(resident_bytes(), after_warmup + (2 << 20));
}
END_TEST

static _Atomic bool stop_churning;

static void *churn(void *argument)
{
    uint64_t random = (uintptr_t)argument;
    while (!stop_churning) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        char *block = opaque(malloc((size_t)(random >> 44)));
        block[0] = 1;
        free(block);
    }
    return NULL;
}

static bool child_can_allocate(void)
{
    for (int i = 0; i < 50; i++) {
        char *small = opaque(malloc(100));
        char *large = opaque(malloc(100000 + (size_t)i * 70000));
        if (!small || !large)
            return false;
        large[0] = small[0] = 1;
        free(large);
        free(small);
    }
    return true;
}

static void fork_among_churning_threads(pid_t (*make_child)(void), int rounds)
{
    pthread_t threads[3];
    stop_churning = false;
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int round = 0; round < rounds; round++) {
        pid_t child = make_child();
        if (child == 0)
            _exit(child_can_allocate() ? 0 : 1);
        int status = -1;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    stop_churning = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

START_TEST(a_child_forked_among_allocating_threads_can_allocate)
{
    fork_among_churning_threads(fork, 60);
}
END_TEST

/* clone(2) itself runs no fork handlers: locks stay as another thread left them. */
static pid_t raw_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Ordinary sizes depend on the allocator beneath here; staging sizes may not. */
static bool child_can_stage(void)
{
    for (int i = 0; i < 50; i++) {
        char *block = opaque(malloc(100000 + (size_t)i * 70000));
        if (!block)
            return false;
        block[0] = 1;
        free(block);
    }
    return true;
}

START_TEST(a_raw_clone_among_staging_threads_can_stage)
{
    if (!preloaded())
        return; /* undefined for glibc's own malloc */
    pthread_t threads[3];
    stop_churning = false;
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int round = 0; round < 60; round++) {
        pid_t child = raw_clone();
        if (child == 0)
            _exit(child_can_stage() ? 0 : 1);
        int status = -1;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    stop_churning = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

SUITE_MAIN("host family", every_name_of_the_family_meets_the_same_allocator,
           sized_frees_free, mallinfo_counts_what_is_in_use,
           mapped_bytes_fall_back_exactly_when_nothing_is_retained,
           malloc_trim_gives_idle_memory_back_and_it_reads_as_zero_again,
           malloc_info_is_well_formed, mallopt_accepts_what_glibc_accepts,
           free_preserves_errno_when_memory_is_locked,
           threads_may_allocate_until_their_very_end,
           a_child_forked_among_allocating_threads_can_allocate,
           a_raw_clone_among_staging_threads_can_stage)

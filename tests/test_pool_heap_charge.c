/* Defends: what is charged is exactly the capacity that holds memory, handed out or idle,
   whatever was done; and a charge that is refused leaves everything as it was. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/must.h"
#include "tests/heap_fixture.h"

static _Atomic size_t charged, limit;

static bool charge(size_t bytes)
{
    size_t held = atomic_load_explicit(&charged, memory_order_relaxed);
    size_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    do {
        if (held > most || bytes > most - held)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &charged, &held, held + bytes, memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void refund(size_t bytes)
{
    must(atomic_fetch_sub_explicit(&charged, bytes, memory_order_relaxed) >= bytes);
}

static bool discard_and_refund(void *address, size_t bytes)
{
    if (!fake_discard(address, bytes))
        return false;
    refund(bytes);
    return true;
}

static size_t charged_now(void)
{
    return atomic_load_explicit(&charged, memory_order_relaxed);
}

static size_t limit_now(void)
{
    return atomic_load_explicit(&limit, memory_order_relaxed);
}

static void limit_to(size_t bytes)
{
    atomic_store_explicit(&limit, bytes, memory_order_relaxed);
}

static struct pool_source source;

static void open_charged(void)
{
    open_scaled(AREA);
    source = fake_source;
    source.charge = charge;
    source.refund = refund;
    source.discard = discard_and_refund;
    heap.rows.source = &source;
    for (unsigned area = 0; area < POOL_PACKED_AREAS; area++)
        heap.packed.areas[area].source = &source;
    atomic_store_explicit(&charged, 0, memory_order_relaxed);
    limit_to(SIZE_MAX);
}

static void charged_is(size_t bytes)
{
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(charged_now(), bytes);
    ck_assert_uint_eq(figures.live_bytes + figures.idle_bytes, bytes);
}

START_TEST(a_block_is_charged_when_it_is_born_and_not_when_it_is_used_again)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    charged_is(41 * MIB);
    give_back(packed);
    give_back(large);
    charged_is(41 * MIB);
    claim(MIB);
    claim(40 * MIB);
    charged_is(41 * MIB);
}
END_TEST

START_TEST(what_is_given_back_is_refunded_and_charged_when_it_enters_again)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    pool_heap_trim(&heap);
    charged_is(0);
    ck_assert_ptr_eq(claim(MIB), packed);
    charged_is(MIB);
    ck_assert_ptr_eq(claim(35 * MIB), large);
    charged_is(36 * MIB);
    ck_assert(pool_heap_resize(&heap, large, 50 * MIB));
    charged_is(51 * MIB);
}
END_TEST

START_TEST(a_block_over_memory_of_both_kinds_is_charged_for_what_enters)
{
    char *first = claim(MIB), *second = claim(MIB);
    give_back(first);
    give_back(second);
    pool_heap_trim(&heap);
    give_back(claim(MIB));
    charged_is(MIB);
    /* One MiB that holds memory, one that holds none, one that was never born. */
    ck_assert_ptr_eq(claim(3 * MIB), first);
    charged_is(3 * MIB);
}
END_TEST

START_TEST(a_refused_birth_leaves_everything_as_it_was)
{
    bool fresh;
    limit_to(10 * MIB);
    for (int step = 0; step < 10; step++)
        claim(MIB);
    charged_is(10 * MIB);
    is_refused(64 * KIB);
    is_refused(40 * MIB);
    ck_assert_ptr_null(pool_heap_claim_growing(&heap, MIB));
    charged_is(10 * MIB);
    limit_to(10 * MIB + 64 * KIB);
    ck_assert_ptr_nonnull(pool_heap_claim(&heap, 64 * KIB, &fresh));
    charged_is(10 * MIB + 64 * KIB);
}
END_TEST

START_TEST(a_refused_reuse_leaves_everything_as_it_was)
{
    char *packed = claim(2 * MIB), *large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    pool_heap_trim(&heap);
    limit_to(2 * MIB - 1);
    is_refused(2 * MIB);
    is_refused(40 * MIB);
    charged_is(0);
    limit_to(42 * MIB);
    ck_assert_ptr_eq(claim(2 * MIB), packed);
    ck_assert_ptr_eq(claim(40 * MIB), large);
    charged_is(42 * MIB);
}
END_TEST

START_TEST(where_a_reuse_is_refused_the_area_may_grow_over_what_holds_memory)
{
    char *hole = claim(2 * MIB);
    claim(64 * KIB);
    char *last = claim(MIB);
    give_back(hole);
    pool_heap_trim(&heap);
    give_back(last);
    charged_is(MIB + 64 * KIB);
    limit_to(2 * MIB + 64 * KIB);
    ck_assert_ptr_eq(claim(2 * MIB), last);
    charged_is(2 * MIB + 64 * KIB);
    is_refused(2 * MIB);
}
END_TEST

START_TEST(where_all_that_is_free_is_refused_the_area_does_not_grow)
{
    char *clean = claim(MIB), *last = claim(2 * MIB);
    give_back(clean);
    pool_heap_trim(&heap);
    give_back(last);
    limit_to(2 * MIB + 512 * KIB);
    is_refused(2 * MIB + 512 * KIB);
    charged_is(2 * MIB);
    ck_assert(pool_heap_owns(&heap, last + 2 * MIB - 1));
    ck_assert(!pool_heap_owns(&heap, last + 2 * MIB));
    ck_assert_ptr_eq(claim(2 * MIB), last);
}
END_TEST

START_TEST(a_refused_growth_leaves_the_block_where_it_is)
{
    char *block = claim(33 * MIB);
    block[33 * MIB - 1] = 1;
    limit_to(34 * MIB);
    ck_assert(!pool_heap_resize(&heap, block, 40 * MIB));
    ck_assert_ptr_null(pool_heap_grow(&heap, block, 100 * MIB));
    charged_is(33 * MIB);
    ck_assert_uint_eq(pool_heap_usable(&heap, block), 33 * MIB);
    ck_assert_int_eq(block[33 * MIB - 1], 1);
    ck_assert(pool_heap_resize(&heap, block, 34 * MIB));
    charged_is(34 * MIB);
}
END_TEST

START_TEST(what_the_kernel_refuses_is_not_charged)
{
    bool fresh;
    fake_refuse_next_enable();
    is_refused(MIB);
    fake_refuse_next_enable();
    is_refused(40 * MIB);
    charged_is(0);
    give_back(claim(MIB));
    fake_refuse_next_discard();
    ck_assert_uint_eq(pool_heap_trim(&heap), 0);
    charged_is(MIB);
    ck_assert_ptr_nonnull(pool_heap_claim(&heap, MIB, &fresh));
    charged_is(MIB);
}
END_TEST

START_TEST(a_closed_heap_keeps_the_charge_of_live_blocks_only)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    give_back(claim(3 * MIB));
    give_back(claim(50 * MIB));
    pool_heap_close(&heap);
    charged_is(41 * MIB);
    give_back(packed);
    charged_is(40 * MIB);
    give_back(large);
    charged_is(0);
}
END_TEST

START_TEST(a_child_is_refunded_what_it_is_spared)
{
    claim(MIB);
    claim(40 * MIB);
    give_back(claim(2 * MIB));
    give_back(claim(50 * MIB));
    charged_is(93 * MIB);
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    pool_heap_fork_done(&heap, child == 0);
    struct pool_heap_figures figures = pool_heap_read(&heap);
    if (child == 0)
        _exit(charged_now() == 41 * MIB && figures.live_bytes == charged_now() &&
                      figures.idle_bytes == 0
                  ? 0
                  : 1);
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    charged_is(93 * MIB);
}
END_TEST

enum { HELD = 24, ROUNDS = 20000 };

static size_t some_size(void)
{
    static const size_t most[] = {64 << 10, 1 << 20, 32 << 20, 200 << 20};
    return 1 + (size_t)random() % most[random() % 4];
}

/* One step of a program; *held is one of its blocks. */
static void step(char **held)
{
    switch (random() % 8) {
    case 0:
        (void)pool_heap_trim(&heap);
        break;
    case 1:
        fake_wait_ms(600);
        break;
    case 2:
        if (*held)
            (void)pool_heap_resize(&heap, *held, some_size());
        break;
    case 3: {
        size_t bytes = some_size();
        char *grown = *held && bytes > pool_heap_usable(&heap, *held)
                          ? pool_heap_grow(&heap, *held, bytes)
                          : NULL;
        *held = grown ? grown : *held;
        break;
    }
    default:
        if (*held) {
            give_back(*held);
            *held = NULL;
        } else {
            bool fresh;
            *held = pool_heap_claim(&heap, some_size(), &fresh);
        }
    }
}

START_TEST(the_charge_is_exact_and_within_the_limit_after_every_step)
{
    char *held[HELD] = {NULL};
    const struct pool_heap_tuning tuning = {.decay_ms = 1000};
    pool_heap_tune(&heap, &tuning);
    srandom(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (round % 100 == 0)
            limit_to(random() % 2 ? SIZE_MAX : 400 * MIB);
        size_t before = charged_now();
        step(&held[random() % HELD]);
        struct pool_heap_figures figures = pool_heap_read(&heap);
        ck_assert_msg(figures.live_bytes + figures.idle_bytes == charged_now(),
                      "round %u: charged %zu, held %ju", round, charged_now(),
                      (uintmax_t)(figures.live_bytes + figures.idle_bytes));
        ck_assert(charged_now() <= limit_now() || charged_now() <= before);
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            give_back(held[i]);
    pool_heap_trim(&heap);
    charged_is(0);
}
END_TEST

enum { THREADS = 4, THREAD_ROUNDS = 4000 };

static void race(unsigned index, void *shared)
{
    static const size_t sizes[] = {64 << 10, 300 << 10, 1 << 20, 5 << 20, 33 << 20};
    (void)shared;
    for (unsigned round = 0; round < THREAD_ROUNDS; round++) {
        bool fresh;
        char *block = pool_heap_claim(&heap, sizes[(round + index) % 5], &fresh);
        if (round % 64 == 0)
            (void)pool_heap_trim(&heap);
        must(charged_now() <= limit_now());
        if (block)
            must(pool_heap_return(&heap, block));
    }
}

START_TEST(racing_threads_never_pass_the_limit_and_leave_an_exact_charge)
{
    limit_to(40 * MIB);
    suite_run_threads(THREADS, race, NULL);
    struct pool_heap_figures figures = pool_heap_read(&heap);
    ck_assert_uint_eq(figures.live_bytes, 0);
    charged_is(figures.idle_bytes);
    pool_heap_trim(&heap);
    charged_is(0);
}
END_TEST

SUITE_MAIN_WITH("pool/heap, charged", open_charged, teardown,
                a_block_is_charged_when_it_is_born_and_not_when_it_is_used_again,
                what_is_given_back_is_refunded_and_charged_when_it_enters_again,
                a_block_over_memory_of_both_kinds_is_charged_for_what_enters,
                a_refused_birth_leaves_everything_as_it_was,
                a_refused_reuse_leaves_everything_as_it_was,
                where_a_reuse_is_refused_the_area_may_grow_over_what_holds_memory,
                where_all_that_is_free_is_refused_the_area_does_not_grow,
                a_refused_growth_leaves_the_block_where_it_is,
                what_the_kernel_refuses_is_not_charged,
                a_closed_heap_keeps_the_charge_of_live_blocks_only,
                a_child_is_refunded_what_it_is_spared,
                the_charge_is_exact_and_within_the_limit_after_every_step,
                racing_threads_never_pass_the_limit_and_leave_an_exact_charge)

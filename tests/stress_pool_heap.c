/* Defends: whatever threads claim, fill, grow, hand to each other and return at once, while
   idle memory ages, is trimmed and spared to children that are forked meanwhile, a block keeps
   what was written to it until it is returned, there and here, memory said to be fresh is
   zero, and at the end nothing is live and every request was counted once. */
#include "pool/heap.h"

#include <string.h>

#include "tests/fake_source.h"
#include "tests/stress.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum {
    THREADS = 4,
    HAND = 8,     /* blocks a thread holds at most */
    EXCHANGE = 8, /* blocks that wait for whoever takes them */
    PAGE = 4096,
    STEPS_BETWEEN_LOOKS = 32, /* at the end of the test */
    DECAY_MS = 100,
    FORK_MS = 50, /* from the end of a child to the next */
    CHILD_CLAIMS = 30,
};

/* A block as its owner knows it. */
struct held {
    char *block;
    size_t bytes;  /* requested */
    uint64_t seed; /* of what was written to it */
    size_t stride; /* bytes from one page written to the next; 0: nothing was written */
};

struct heap_stress {
    struct pool_heap heap;
    pthread_mutex_t exchanging;
    struct held exchange[EXCHANGE];
    _Atomic uint64_t served, spilled, handed, grown, moved, trimmed, forked;
};

struct hand {
    struct heap_stress *stress;
    struct held held[HAND];
    uint64_t random;
    uint64_t served, spilled, handed, grown, moved, trimmed;
};

/* The word that belongs at an offset that is a multiple of 8. */
static uint64_t word_at(uint64_t seed, size_t offset)
{
    return (seed ^ offset) * UINT64_C(0x9e3779b97f4a7c15);
}

/* How many bytes of the word at `offset` the block has. */
static size_t part_at(const struct held *held, size_t offset)
{
    return held->bytes - offset < 8 ? held->bytes - offset : 8;
}

static void write_word(const struct held *held, size_t offset)
{
    uint64_t word = word_at(held->seed, offset);
    memcpy(held->block + offset, &word, part_at(held, offset));
}

static void check_word(const struct held *held, size_t offset)
{
    uint64_t word = word_at(held->seed, offset);
    if (memcmp(held->block + offset, &word, part_at(held, offset)) != 0)
        ck_abort_msg("block %p of %zu bytes changed at %zu", (void *)held->block,
                     held->bytes, offset);
}

static void check_zero(const struct held *held, size_t offset)
{
    static const char zero[8];
    if (memcmp(held->block + offset, zero, part_at(held, offset)) != 0)
        ck_abort_msg("fresh block %p of %zu bytes is not zero at %zu",
                     (void *)held->block, held->bytes, offset);
}

/* Visits the ends of a block and some words of a page every `stride` bytes, all at
   multiples of 8. */
static void visit_words(const struct held *held, size_t stride,
                        void (*visit)(const struct held *held, size_t offset))
{
    static const size_t offsets[] = {0, 8, 2040, PAGE - 8};
    for (size_t page = 0; page < held->bytes; page += stride)
        for (unsigned i = 0; i < 4; i++)
            if (page + offsets[i] < held->bytes)
                visit(held, page + offsets[i]);
    visit(held, (held->bytes - 1) & ~(size_t)7);
}

static void fill(const struct held *held)
{
    if (held->stride > 0)
        visit_words(held, held->stride, write_word);
}

static void check(const struct held *held)
{
    if (held->stride > 0)
        visit_words(held, held->stride, check_word);
}

/* Mostly 64 KiB to 4 MiB, one in eight smaller, one in sixteen up to 40 MiB. */
static size_t random_bytes(uint64_t *random)
{
    uint64_t dice = stress_random(random), size = stress_random(random);
    if (dice % 16 == 0)
        return 4 * MIB + size % (36 * MIB + 1);
    if (dice % 8 == 1)
        return 1 + size % (64 * KIB);
    return 64 * KIB + size % (64 * KIB << (dice >> 32) % 6) * 63 / 32;
}

static void claim(struct hand *hand, struct held *held)
{
    static const size_t strides[] = {0, PAGE, 16 * PAGE, 64 * PAGE};
    bool fresh;
    *held = (struct held){.bytes = random_bytes(&hand->random),
                          .seed = stress_random(&hand->random),
                          .stride = strides[stress_random(&hand->random) % 4]};
    held->block = pool_heap_claim(&hand->stress->heap, held->bytes, &fresh);
    hand->served += held->block != NULL;
    hand->spilled += held->block == NULL;
    if (!held->block)
        return;
    if (fresh)
        visit_words(held, PAGE, check_zero);
    fill(held);
}

static void give_back(struct hand *hand, struct held *held)
{
    check(held);
    if (!pool_heap_return(&hand->stress->heap, held->block))
        ck_abort_msg("block %p of %zu bytes is not live", (void *)held->block,
                     held->bytes);
    held->block = NULL;
}

static void grow(struct hand *hand, struct held *held)
{
    struct pool_heap *heap = &hand->stress->heap;
    size_t bytes = held->bytes + 1 + stress_random(&hand->random) % held->bytes;
    check(held);
    if (pool_heap_resize(heap, held->block, bytes)) {
        hand->grown++;
    } else {
        char *moved = pool_heap_grow(heap, held->block, bytes);
        hand->served += moved != NULL;
        hand->spilled += moved == NULL;
        if (!moved)
            return;
        hand->moved++;
        held->block = moved;
    }
    check(held);
    if (pool_heap_usable(heap, held->block) - bytes >= PAGE)
        ck_abort_msg("block %p has %zu usable bytes, not %zu", (void *)held->block,
                     pool_heap_usable(heap, held->block), bytes);
    held->bytes = bytes;
    fill(held);
}

/* Puts a block, or none, where another thread finds it, and takes what is there. */
static void hand_over(struct hand *hand, struct held *held)
{
    struct heap_stress *stress = hand->stress;
    struct held *place = &stress->exchange[stress_random(&hand->random) % EXCHANGE];
    pthread_mutex_lock(&stress->exchanging);
    struct held taken = *place;
    *place = *held;
    pthread_mutex_unlock(&stress->exchanging);
    *held = taken;
    if (held->block) {
        hand->handed++;
        check(held);
    }
}

/* All that a fork does but the fork. */
static void mark_for_fork(struct pool_heap *heap)
{
    pool_heap_fork_prepare(heap);
    pool_heap_fork_done(heap, false);
}

static void step(struct hand *hand)
{
    uint64_t dice = stress_random(&hand->random);
    struct held *held = &hand->held[(dice >> 32) % HAND];
    if (dice % 8192 == 0)
        hand->trimmed += pool_heap_trim(&hand->stress->heap) > 0;
    else if (dice % 8192 == 2)
        mark_for_fork(&hand->stress->heap);
    else if (dice % 8 == 1)
        hand_over(hand, held);
    else if (!held->block)
        claim(hand, held);
    else if (dice % 8 == 2 && held->bytes <= 20 * MIB)
        grow(hand, held);
    else
        give_back(hand, held);
}

/* What a child does: it has the parent's live blocks, of which it knows this one, and a heap of
   its own with every lock free. */
static void live_in_child(struct hand *hand, const struct held *kept)
{
    check(kept);
    for (unsigned i = 0; i < CHILD_CLAIMS; i++) {
        struct held *held = &hand->held[i % HAND];
        if (held->block)
            give_back(hand, held);
        claim(hand, held);
    }
    check(kept);
    if (!pool_packed_valid(&hand->stress->heap.packed))
        ck_abort_msg("blocks of a child do not tile its area");
    _exit(EXIT_SUCCESS);
}

static void fork_once(struct hand *hand, const struct held *kept)
{
    int status = 0;
    pool_heap_fork_prepare(&hand->stress->heap);
    pid_t child = fork();
    pool_heap_fork_done(&hand->stress->heap, child == 0);
    if (child == 0)
        live_in_child(hand, kept);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        ck_abort_msg("child %d ended with status %#x", (int)child, (unsigned)status);
    atomic_fetch_add_explicit(&hand->stress->forked, 1, memory_order_relaxed);
}

static void fork_body(struct heap_stress *stress, uint64_t random)
{
    struct hand hand = {.stress = stress, .random = random};
    struct held kept = {.bytes = 3 * MIB, .seed = random, .stride = PAGE};
    bool fresh;
    kept.block = pool_heap_claim(&stress->heap, kept.bytes, &fresh);
    ck_assert_ptr_nonnull(kept.block);
    fill(&kept);
    while (!stress_is_over()) {
        fork_once(&hand, &kept);
        usleep(FORK_MS * 1000);
    }
    give_back(&hand, &kept);
    atomic_fetch_add_explicit(&stress->served, 1, memory_order_relaxed);
}

static void add(_Atomic uint64_t *total, uint64_t part)
{
    atomic_fetch_add_explicit(total, part, memory_order_relaxed);
}

static void stress_body(unsigned index, void *shared)
{
    struct hand hand = {.stress = shared, .random = stress_start(index)};
    if (index == THREADS) {
        fork_body(shared, hand.random);
        return;
    }
    while (!stress_is_over())
        for (unsigned i = 0; i < STEPS_BETWEEN_LOOKS; i++)
            step(&hand);
    for (unsigned i = 0; i < HAND; i++)
        if (hand.held[i].block)
            give_back(&hand, &hand.held[i]);
    add(&hand.stress->served, hand.served);
    add(&hand.stress->spilled, hand.spilled);
    add(&hand.stress->handed, hand.handed);
    add(&hand.stress->grown, hand.grown);
    add(&hand.stress->moved, hand.moved);
    add(&hand.stress->trimmed, hand.trimmed);
}

static uint64_t total(_Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static void settle(struct heap_stress *stress)
{
    struct pool_heap_figures figures = pool_heap_read(&stress->heap);
    printf("  %" PRIu64 " served (%" PRIu64 " new), %" PRIu64 " spilled, %" PRIu64
           " handed over, %" PRIu64 " grown in place, %" PRIu64 " moved, %" PRIu64
           " times trimmed, %" PRIu64 " MiB given back, %" PRIu64 " children\n",
           figures.claims, figures.born, figures.spilled, total(&stress->handed),
           total(&stress->grown), total(&stress->moved), total(&stress->trimmed),
           figures.returned_bytes >> 20, total(&stress->forked));
    ck_assert(pool_packed_valid(&stress->heap.packed));
    ck_assert_uint_eq(figures.live_bytes, 0);
    ck_assert_uint_eq(figures.claims, total(&stress->served));
    ck_assert_uint_eq(figures.claims, figures.reused + figures.born);
    ck_assert_uint_eq(figures.spilled, total(&stress->spilled));
    ck_assert_uint_gt(figures.reused, figures.born);
    ck_assert_uint_ge(pool_heap_trim(&stress->heap), figures.idle_bytes);
    ck_assert_uint_eq(pool_heap_read(&stress->heap).idle_bytes, 0);
}

static uint64_t clock_ms(void)
{
    return stress_clock() / 1000000;
}

START_TEST(every_block_keeps_its_contents_until_it_is_returned)
{
    static struct heap_stress stress;
    static struct pool_source source;
    struct hand last = {.stress = &stress};
    source = fake_source;
    source.now_ms = clock_ms;
    ck_assert(pool_heap_open(&stress.heap, &source));
    pool_heap_tune(&stress.heap, &(struct pool_heap_tuning){.decay_ms = DECAY_MS});
    pthread_mutex_init(&stress.exchanging, NULL);
    suite_run_threads(THREADS + 1, stress_body, &stress);
    for (unsigned i = 0; i < EXCHANGE; i++)
        if (stress.exchange[i].block)
            give_back(&last, &stress.exchange[i]);
    settle(&stress);
}
END_TEST

STRESS_MAIN("pool/heap under stress", every_block_keeps_its_contents_until_it_is_returned)

/* Defends: however threads allocate, use, free, synchronise, trim and end contexts, a block has
   one owner at a time, what its owner wrote is there for the next, and no device has work left
   that uses it when it is handed out again. */
#include "tests/devices_fixture.h"
#include "tests/stress.h"

enum {
    THREADS_MOST = 4,
    SHARED = 2,                     /* contexts that all threads use */
    PLACES = SHARED + THREADS_MOST, /* and one of each thread's own */
    HAND = 12,                      /* blocks that a thread holds at most */
    BURST = 256,
};

/* What a driver knows of a context: how much was submitted, and how much of it is done. */
struct device_queue {
    pthread_mutex_t lock;
    uint64_t submitted;
    _Atomic uint64_t done;
    _Atomic uint32_t number;
};

/* What is known of a block from outside. */
struct body {
    _Atomic unsigned owner;    /* a thread's number from 1; 0: nobody */
    uint64_t last_use[PLACES]; /* of each context's work */
    uint64_t written;          /* by the owner alone */
};

static struct device_queue queues[PLACES];
static struct body bodies[POOL_DEVICE_BLOCKS_MOST];
static _Atomic uint32_t context_count;
static _Atomic uint64_t reused, born;
static unsigned thread_count;

struct hand {
    unsigned thread;
    unsigned count;
    uint64_t random;
    struct {
        uint32_t block;
        unsigned place;
        bool pinned;
    } held[HAND];
};

static uint64_t dice(struct hand *hand, uint64_t sides)
{
    return (stress_random(&hand->random) >> 16) % sides;
}

static uint32_t number_of(unsigned place)
{
    return atomic_load_explicit(&queues[place].number, memory_order_relaxed);
}

static void begin_context(unsigned place)
{
    uint32_t number =
        1 + atomic_fetch_add_explicit(&context_count, 1, memory_order_relaxed);
    pool_epochs_add(&pool.epochs, number, true);
    atomic_store_explicit(&queues[place].number, number, memory_order_relaxed);
}

static void submit(unsigned place, uint32_t block)
{
    pthread_mutex_lock(&queues[place].lock);
    bodies[block].last_use[place] = ++queues[place].submitted;
    pthread_mutex_unlock(&queues[place].lock);
}

/* As a driver does: what was submitted before is done when it returns. */
static void synchronise_place(unsigned place)
{
    struct device_queue *queue = &queues[place];
    uint32_t number = number_of(place);
    uint64_t ticket = pool_epochs_begin(&pool.epochs);
    pthread_mutex_lock(&queue->lock);
    uint64_t submitted = queue->submitted;
    pthread_mutex_unlock(&queue->lock);
    sched_yield();
    uint64_t done = atomic_load_explicit(&queue->done, memory_order_relaxed);
    while (done < submitted && !atomic_compare_exchange_weak_explicit(
                                   &queue->done, &done, submitted, memory_order_release,
                                   memory_order_relaxed))
        ;
    pool_epochs_end(&pool.epochs, number, ticket);
}

static void own(struct hand *hand, uint32_t block)
{
    unsigned before = atomic_exchange_explicit(&bodies[block].owner, hand->thread,
                                               memory_order_relaxed);
    if (before != 0)
        ck_abort_msg("thread %u got block %u, which thread %u owns", hand->thread, block,
                     before);
    bodies[block].written++;
}

static void is_out_of_use(uint32_t block)
{
    for (unsigned place = 0; place < PLACES; place++)
        if (bodies[block].last_use[place] >
            atomic_load_explicit(&queues[place].done, memory_order_relaxed))
            ck_abort_msg("block %u was handed out while context %u uses it", block,
                         place);
}

static void disown(struct hand *hand, uint32_t block)
{
    bodies[block].written++;
    unsigned before =
        atomic_exchange_explicit(&bodies[block].owner, 0, memory_order_relaxed);
    if (before != hand->thread)
        ck_abort_msg("thread %u returned block %u, which thread %u owns", hand->thread,
                     block, before);
}

static unsigned random_place(struct hand *hand)
{
    unsigned place = (unsigned)dice(hand, SHARED + 1);
    return place == SHARED ? SHARED + hand->thread - 1 : place;
}

static void allocate(struct hand *hand)
{
    static const uint64_t sizes[] = {4096, 4200, 4500, 70000};
    unsigned place = random_place(hand);
    bool pinned = dice(hand, 4) == 0;
    struct pool_device_key key =
        pinned ? pinned_key(number_of(place), 0) : device_key(number_of(place));
    uint64_t bytes = sizes[dice(hand, 4)];
    uint32_t block = claim(key, bytes);
    if (block) {
        is_out_of_use(block);
        atomic_fetch_add_explicit(&reused, 1, memory_order_relaxed);
    } else {
        block = adopt(key, bytes);
        atomic_fetch_add_explicit(&born, 1, memory_order_relaxed);
        memset(bodies[block].last_use, 0, sizeof(bodies[block].last_use));
    }
    own(hand, block);
    hand->held[hand->count].block = block;
    hand->held[hand->count].place = place;
    hand->held[hand->count++].pinned = pinned;
}

static void free_held(struct hand *hand, unsigned which)
{
    uint32_t block = hand->held[which].block;
    hand->held[which] = hand->held[--hand->count];
    disown(hand, block);
    if (pool_devices_return(&pool, block) == POOL_DEVICE_REFUSED)
        pool_devices_forget(&pool, block);
}

static void use_one(struct hand *hand)
{
    if (hand->count == 0)
        return;
    unsigned which = (unsigned)dice(hand, hand->count);
    unsigned place =
        hand->held[which].pinned ? random_place(hand) : hand->held[which].place;
    submit(place, hand->held[which].block);
}

/* The driver waits before it frees. */
static void trim(struct hand *hand)
{
    struct pool_device_taken taken[POOL_DEVICE_BATCH];
    struct pool_device_choice choice = {
        .kinds = 3, .device = -1, .owed_only = dice(hand, 4) > 0};
    size_t count = pool_devices_take(&pool, &choice, taken);
    for (size_t i = 0; i < count; i++) {
        own(hand, taken[i].block);
        disown(hand, taken[i].block);
        pool_devices_forget(&pool, taken[i].block);
    }
}

/* The thread's own context ends, with all that was allocated in it. */
static void end_context(struct hand *hand)
{
    unsigned place = SHARED + hand->thread - 1;
    uint32_t number = number_of(place);
    pool_devices_ending(&pool, number);
    synchronise_place(place);
    for (unsigned which = hand->count; which-- > 0;) {
        if (hand->held[which].place != place)
            continue;
        disown(hand, hand->held[which].block);
        pool_devices_forget(&pool, hand->held[which].block);
        hand->held[which] = hand->held[--hand->count];
    }
    pool_devices_end(&pool, number, true);
    begin_context(place);
}

static void step(struct hand *hand)
{
    uint64_t what = dice(hand, 1000);
    if (what < 350 && hand->count < HAND)
        allocate(hand);
    else if (what < 600 && hand->count > 0)
        free_held(hand, (unsigned)dice(hand, hand->count));
    else if (what < 900)
        use_one(hand);
    else if (what < 990)
        synchronise_place(random_place(hand));
    else if (what < 998)
        trim(hand);
    else
        end_context(hand);
}

static void body(unsigned index, void *shared)
{
    (void)shared;
    struct hand hand = {.thread = index + 1, .random = stress_start(index)};
    while (!stress_is_over())
        for (unsigned burst = 0; burst < BURST; burst++)
            step(&hand);
    while (hand.count > 0)
        free_held(&hand, 0);
}

/* Everything is back and counted. */
static void settle(void)
{
    struct pool_device_figures device = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    struct pool_device_figures pinned = pool_devices_read(&pool, POOL_BLOCK_PINNED);
    uint64_t was_reused = atomic_load_explicit(&reused, memory_order_relaxed);
    uint64_t was_born = atomic_load_explicit(&born, memory_order_relaxed);
    printf("  %u threads: %" PRIu64 " reused, %" PRIu64 " born, %" PRIu64
           " not ready, %" PRIu64 " released\n",
           thread_count, was_reused, was_born,
           device.missed_unready + pinned.missed_unready,
           device.released + pinned.released);
    ck_assert_uint_eq(device.reused + pinned.reused, was_reused);
    ck_assert_uint_eq(device.claims + pinned.claims, was_reused + was_born);
    ck_assert_uint_eq(device.idle_bytes, POOL_GET(&pool.accounts[0], idle_bytes));
    ck_assert_uint_eq(device.idle_bytes, POOL_GET(&pool.accounts[0], held_bytes));
    ck_assert_uint_eq(pinned.idle_bytes,
                      POOL_GET(&pool.accounts[POOL_DEVICES_MOST], held_bytes));
    ck_assert_uint_gt(was_reused, was_born);
}

START_TEST(no_block_is_handed_out_while_anything_uses_it)
{
    uint64_t share = (stress_end - stress_clock()) / (THREADS_MOST - 1);
    for (thread_count = 2; thread_count <= THREADS_MOST; thread_count++) {
        setup();
        memset(bodies, 0, sizeof(bodies));
        atomic_store_explicit(&reused, 0, memory_order_relaxed);
        atomic_store_explicit(&born, 0, memory_order_relaxed);
        for (unsigned place = 0; place < SHARED + thread_count; place++) {
            pthread_mutex_init(&queues[place].lock, NULL);
            begin_context(place);
        }
        stress_end = stress_clock() + share;
        suite_run_threads(thread_count, body, NULL);
        settle();
    }
}
END_TEST

STRESS_MAIN("pool/devices under stress", no_block_is_handed_out_while_anything_uses_it)

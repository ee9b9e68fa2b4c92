/* Defends: whatever is allocated, freed, synchronised, trimmed and ended in whatever order, a
   claim gives an idle block of the same key that fits and that a synchronisation has proved
   ready, gives one whenever there is one among the few of a bin, and every byte is counted
   once. */
#include "tests/devices_fixture.h"

#include <inttypes.h>
#include <stdio.h>

enum { BLOCKS = 24, CONTEXTS = 3, SYNCS = 3, STEPS = 300000 };

/* A block as a plain list has it. Times count steps. */
struct plain {
    uint32_t block; /* 0: not held from the driver */
    bool live, exposed;
    struct pool_device_key key;
    uint64_t address, bytes, requested, freed;
};

/* A synchronisation that is going on. */
struct under_way {
    uint32_t context; /* 0: none */
    uint64_t ticket, began;
};

static struct plain plain[BLOCKS];
static struct under_way under_way[SYNCS];
static uint64_t now,
    proved[CONTEXTS + 1];              /* by context: latest begin of one that ended */
static uint32_t numbers[CONTEXTS + 1]; /* of the contexts that live now */
static uint32_t next_number;
static uint64_t random_state = 1;

static uint64_t dice(uint64_t sides)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 20) % sides;
}

static unsigned place_of(uint32_t number)
{
    for (unsigned place = 1; place <= CONTEXTS; place++)
        if (numbers[place] == number)
            return place;
    ck_abort_msg("no context %u", number);
}

static bool is_ready(const struct plain *at)
{
    if (at->key.kind == POOL_BLOCK_DEVICE)
        return proved[place_of(at->key.context)] > at->freed;
    for (unsigned place = 1; place <= CONTEXTS; place++)
        if (proved[place] <= at->freed)
            return false;
    return true;
}

static bool same_key(const struct pool_device_key *a, const struct pool_device_key *b)
{
    return a->context == b->context && a->kind == b->kind && a->flags == b->flags;
}

static bool would_serve(const struct plain *at, const struct pool_device_key *key,
                        uint64_t bytes)
{
    return at->block && !at->live && same_key(&at->key, key) &&
           pool_device_fits(at->bytes, bytes) &&
           pool_device_class(at->bytes) - pool_device_class(bytes) < 2 && is_ready(at);
}

static struct pool_device_key random_key(void)
{
    uint32_t context = numbers[1 + dice(CONTEXTS)];
    return dice(2) ? device_key(context) : pinned_key(context, (uint32_t)dice(2));
}

/* Few sizes that are near each other, so that each bin has blocks of several. */
static uint64_t random_bytes(void)
{
    static const uint64_t bytes[] = {511,  512,  544,  576,   577,   600,  640,
                                     4096, 4300, 4600, 65536, 70000, 74000};
    return bytes[dice(sizeof(bytes) / sizeof(*bytes))];
}

static struct plain *find_plain(uint32_t block)
{
    for (unsigned i = 0; i < BLOCKS; i++)
        if (plain[i].block == block)
            return &plain[i];
    ck_abort_msg("no block %u", block);
}

static void allocate(void)
{
    struct pool_device_key key = random_key();
    uint64_t bytes = random_bytes();
    unsigned serving = 0;
    struct plain *empty = NULL;
    for (unsigned i = 0; i < BLOCKS; i++) {
        serving += would_serve(&plain[i], &key, bytes);
        empty = plain[i].block == 0 ? &plain[i] : empty;
    }
    uint32_t block = claim(key, bytes);
    if ((block != 0) != (serving > 0))
        ck_abort_msg("step %" PRIu64 ": %u serve, and block %u was given", now, serving,
                     block);
    if (block) {
        struct plain *at = find_plain(block);
        if (!would_serve(at, &key, bytes) ||
            at->address != pool_devices_address(&pool, block))
            ck_abort_msg("step %" PRIu64 ": block %u does not serve", now, block);
        at->live = true;
        at->requested = bytes;
    } else if (empty) {
        *empty = (struct plain){.block = adopt(key, bytes),
                                .live = true,
                                .key = key,
                                .bytes = bytes,
                                .requested = bytes};
        empty->address = pool_devices_address(&pool, empty->block);
    }
}

static void free_one(void)
{
    struct plain *at = &plain[dice(BLOCKS)];
    if (!at->block)
        return;
    if (at->live && dice(20) == 0) {
        at->exposed = true;
        pool_devices_expose(&pool, at->block);
    }
    enum pool_device_return what = pool_devices_return(&pool, at->block);
    if (!at->live) {
        ck_assert_int_eq(what, POOL_DEVICE_NOT_LIVE);
    } else if (what == POOL_DEVICE_KEPT) {
        ck_assert(!at->exposed);
        at->live = false;
        at->freed = now;
    } else {
        ck_assert_int_eq(what, POOL_DEVICE_REFUSED);
        pool_devices_forget(&pool, at->block);
        at->block = 0;
    }
}

static void begin_or_end(void)
{
    struct under_way *at = &under_way[dice(SYNCS)];
    if (at->context == 0) {
        at->context = numbers[1 + dice(CONTEXTS)];
        at->ticket = pool_epochs_begin(&pool.epochs);
        at->began = now;
        return;
    }
    unsigned place = place_of(at->context);
    if (dice(8) > 0) { /* else it failed */
        pool_epochs_end(&pool.epochs, at->context, at->ticket);
        proved[place] = at->began > proved[place] ? at->began : proved[place];
    }
    at->context = 0;
}

static void trim(void)
{
    struct pool_device_taken taken[POOL_DEVICE_BATCH];
    struct pool_device_choice choice = {
        .kinds = 1 + (unsigned)dice(3),
        .device = -1,
        .context = dice(2) ? numbers[1 + dice(CONTEXTS)] : 0,
        .owed_only = dice(2),
    };
    size_t count = pool_devices_take(&pool, &choice, taken);
    for (size_t i = 0; i < count; i++) {
        struct plain *at = find_plain(taken[i].block);
        ck_assert(!at->live && taken[i].address == at->address &&
                  taken[i].bytes == at->bytes && same_key(&taken[i].key, &at->key));
        ck_assert(choice.kinds & 1u << at->key.kind);
        ck_assert(choice.context == 0 || choice.context == at->key.context);
        pool_devices_forget(&pool, taken[i].block);
        at->block = 0;
    }
}

static void begin_context(unsigned place, bool is_new)
{
    numbers[place] = ++next_number;
    pool_epochs_add(&pool.epochs, numbers[place], is_new);
    proved[place] = is_new ? now : 0;
}

static void end_context(void)
{
    unsigned place = 1 + (unsigned)dice(CONTEXTS);
    bool ended = dice(4) > 0;
    pool_devices_ending(&pool, numbers[place]);
    for (unsigned i = 0; ended && i < BLOCKS; i++)
        if (plain[i].block && plain[i].key.context == numbers[place]) {
            pool_devices_forget(&pool, plain[i].block);
            plain[i].block = 0;
        }
    pool_devices_end(&pool, numbers[place], ended);
    for (unsigned i = 0; ended && i < SYNCS; i++)
        if (under_way[i].context == numbers[place])
            under_way[i].context = 0;
    if (ended)
        begin_context(place, dice(2));
}

static void compare_bytes(void)
{
    uint64_t idle[POOL_BLOCK_KINDS] = {0}, held[POOL_BLOCK_KINDS] = {0};
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (!plain[i].block)
            continue;
        held[plain[i].key.kind] += pool_device_held_bytes(plain[i].bytes);
        idle[plain[i].key.kind] +=
            plain[i].live ? 0 : pool_device_held_bytes(plain[i].bytes);
        if (plain[i].live)
            ck_assert_uint_eq(pool_devices_requested(&pool, plain[i].block),
                              plain[i].requested);
    }
    ck_assert_uint_eq(POOL_GET(&pool.accounts[0], held_bytes), held[0]);
    ck_assert_uint_eq(POOL_GET(&pool.accounts[0], idle_bytes), idle[0]);
    ck_assert_uint_eq(POOL_GET(&pool.accounts[POOL_DEVICES_MOST], held_bytes), held[1]);
    ck_assert_uint_eq(POOL_GET(&pool.accounts[POOL_DEVICES_MOST], idle_bytes), idle[1]);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_DEVICE), idle[0]);
    ck_assert_uint_eq(idle_bytes(POOL_BLOCK_PINNED), idle[1]);
}

START_TEST(random_use_agrees_with_a_plain_list)
{
    for (unsigned place = 1; place <= CONTEXTS; place++)
        begin_context(place, true);
    for (now = 1; now <= STEPS; now++) {
        uint64_t what = dice(1000);
        if (what < 400)
            allocate();
        else if (what < 800)
            free_one();
        else if (what < 980)
            begin_or_end();
        else if (what < 995)
            trim();
        else
            end_context();
        if (now % 64 == 0)
            compare_bytes();
    }
    struct pool_device_figures device = pool_devices_read(&pool, POOL_BLOCK_DEVICE);
    struct pool_device_figures pinned = pool_devices_read(&pool, POOL_BLOCK_PINNED);
    printf("  device: %" PRIu64 " of %" PRIu64 " reused, page-locked: %" PRIu64
           " of %" PRIu64 "\n",
           device.reused, device.claims, pinned.reused, pinned.claims);
    ck_assert_uint_gt(device.reused, STEPS / 100);
    ck_assert_uint_gt(pinned.reused, STEPS / 100);
    ck_assert_uint_gt(device.missed_unready, STEPS / 100);
}
END_TEST

SUITE_MAIN_WITH("pool/devices against a model", setup, NULL,
                random_use_agrees_with_a_plain_list)

/* Defends: memory that nobody needs goes back, by age, by limit or on request, and live
   memory never does; contents outlast whatever is done around them; memory said to be fresh
   is zero; and every request and every byte given back is counted once. */
#include "tests/heap_fixture.h"

START_TEST(trimming_leaves_what_is_live_and_makes_the_rest_fresh)
{
    bool fresh = false;
    char *kept = claim(MIB), *packed = claim(2 * MIB), *large = claim(40 * MIB);
    claim(1);
    memset(kept, 1, MIB);
    memset(packed, 1, 2 * MIB);
    large[0] = large[40 * MIB - 1] = 1;
    give_back(packed);
    give_back(large);
    ck_assert_uint_eq(pool_heap_trim(&heap), 42 * MIB);
    bytes_are(MIB + 64 * KIB, 0);
    ck_assert_uint_eq(pool_heap_trim(&heap), 0);
    ck_assert(all_are(kept, 1, MIB));
    ck_assert_ptr_eq(pool_heap_claim(&heap, 2 * MIB, &fresh), packed);
    ck_assert(fresh && packed[0] == 0 && packed[2 * MIB - 1] == 0);
    ck_assert_ptr_eq(pool_heap_claim(&heap, 40 * MIB, &fresh), large);
    ck_assert(fresh && large[0] == 0 && large[40 * MIB - 1] == 0);
    counts_are(2, 4, 0);
}
END_TEST

START_TEST(a_heap_that_was_shed_lives_on_what_it_has)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    pool_heap_shed(&heap);
    /* The records, 2 MiB that align the base, 4 MiB packed and granule 0 of the other areas, one
       stride. */
    size_t record_bytes = 16 * (AREA / (64 * KIB) + pool_rows_records(30));
    ck_assert_uint_eq(fake_reserved(), record_bytes + 2 * MIB + 4 * MIB +
                                           (POOL_PACKED_AREAS - 1) * 64 * KIB + 64 * MIB);
    ck_assert(!pool_heap_owns(&heap, large + 64 * MIB));
    is_refused(4 * MIB);
    is_refused(40 * MIB);
    ck_assert_ptr_eq(claim(2 * MIB), packed + MIB);
    ck_assert(pool_heap_resize(&heap, large, 64 * MIB));
    large[64 * MIB - 1] = 1;
    give_back(packed);
    give_back(large);
    ck_assert_ptr_eq(claim(MIB), packed);
    ck_assert_ptr_eq(claim(64 * MIB), large);
    counts_are(2, 3, 2);
}
END_TEST

START_TEST(the_high_water_is_the_most_that_was_held_before_or_since_a_trim)
{
    char *large = claim(40 * MIB);
    give_back(claim(MIB));
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 41 * MIB);
    give_back(large);
    (void)pool_heap_trim(&heap);
    bytes_are(0, 0);
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 41 * MIB);
    claim(2 * MIB);
    (void)pool_heap_trim(&heap);
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 41 * MIB);
    claim(40 * MIB);
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 42 * MIB);
}
END_TEST

START_TEST(both_sides_of_a_fork_claim_and_return)
{
    char *packed = claim(MIB), *large = claim(40 * MIB);
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    pool_heap_fork_done(&heap, child == 0);
    char *second = claim(MIB), *second_large = claim(40 * MIB);
    give_back(packed);
    give_back(large);
    if (child == 0)
        _exit(second == packed + MIB && second_large == large + 64 * MIB ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* A window of one second. */
static void age_in_seconds(void)
{
    const struct pool_heap_tuning tuning = {.decay_ms = 1000};
    pool_heap_tune(&heap, &tuning);
}

/* Claims and returns one granule, so often that the clock is looked at. */
static void go_on(void)
{
    for (unsigned i = 0; i < 2 << POOL_BIN_LOOK_SHIFT; i++)
        give_back(claim(1));
}

static void returned_are(uint64_t bytes)
{
    ck_assert_uint_eq(pool_heap_read(&heap).returned_bytes, bytes);
}

START_TEST(what_nobody_needs_for_a_window_goes_back_while_the_program_goes_on)
{
    age_in_seconds();
    char *packed = claim(2 * MIB), *large = claim(40 * MIB), *small = claim(1);
    claim(1);
    give_back(packed);
    give_back(large);
    give_back(small);
    fake_wait_ms(1000);
    go_on(); /* the first window that these were idle in begins */
    returned_are(0);
    fake_wait_ms(999);
    go_on();
    returned_are(0);
    fake_wait_ms(1);
    go_on();
    returned_are(42 * MIB);
    ck_assert_uint_eq(fake_discarded(), 42 * MIB);
    bytes_are(64 * KIB, 64 * KIB);
    ck_assert_uint_eq(pool_heap_read(&heap).high_water_bytes, 42 * MIB + 128 * KIB);
}
END_TEST

START_TEST(the_clock_is_looked_at_whether_the_idle_blocks_of_a_class_are_odd_or_even)
{
    for (unsigned idle = 0; idle < 4; idle++) {
        char *blocks[4];
        setup();
        age_in_seconds();
        char *large = claim(40 * MIB);
        for (unsigned i = 0; i <= idle; i++)
            blocks[i] = claim(1);
        for (unsigned i = 0; i <= idle; i++)
            give_back(blocks[i]);
        give_back(large);
        for (unsigned window = 0; window < 3; window++) {
            fake_wait_ms(1000);
            go_on();
        }
        ck_assert_uint_ge(fake_discarded(), 40 * MIB);
    }
}
END_TEST

START_TEST(rows_alone_look_at_the_clock_too)
{
    age_in_seconds();
    char *first = claim(40 * MIB), *second = claim(40 * MIB);
    give_back(first);
    give_back(second);
    for (unsigned window = 0; window < 3; window++) {
        fake_wait_ms(1000);
        for (unsigned i = 0; i < 2 << POOL_BIN_LOOK_SHIFT; i++)
            give_back(claim(40 * MIB));
    }
    returned_are(40 * MIB);
}
END_TEST

START_TEST(a_clock_that_another_thread_read_later_ends_no_window)
{
    age_in_seconds();
    give_back(claim(40 * MIB));
    fake_wait_ms(5000);
    go_on();
    fake_wait_ms(1000);
    atomic_store_explicit(&heap.aged_ms, 6001, memory_order_relaxed);
    go_on();
    ck_assert_uint_eq(atomic_load_explicit(&heap.aged_ms, memory_order_relaxed), 6001);
    returned_are(0);
}
END_TEST

START_TEST(without_tuning_nothing_ages)
{
    give_back(claim(40 * MIB));
    for (unsigned window = 0; window < 5; window++) {
        fake_wait_ms(UINT32_MAX);
        go_on();
    }
    returned_are(0);
    bytes_are(0, 40 * MIB + 64 * KIB);
}
END_TEST

static uint64_t ten_mib(void)
{
    return 10 * MIB;
}

START_TEST(more_idle_memory_than_the_limit_goes_back)
{
    const struct pool_heap_tuning tuning = {.decay_ms = UINT64_MAX,
                                            .retain_bytes = ten_mib};
    pool_heap_tune(&heap, &tuning);
    char *first = claim(4 * MIB), *second = claim(6 * MIB), *large = claim(40 * MIB);
    claim(1);
    give_back(first);
    give_back(second);
    returned_are(0);
    give_back(large);
    returned_are(50 * MIB);
    bytes_are(64 * KIB, 0);
}
END_TEST

static bool child_claims_fresh(char *block, size_t bytes)
{
    bool fresh;
    return pool_heap_claim(&heap, bytes, &fresh) == block && fresh &&
           all_are(block, 0, bytes);
}

START_TEST(a_forked_child_has_what_is_live_and_no_idle_memory)
{
    char *live = claim(MIB), *packed = claim(2 * MIB), *large = claim(40 * MIB);
    claim(1);
    memset(live, 1, MIB);
    memset(packed, 1, 2 * MIB);
    large[0] = large[40 * MIB - 1] = 1;
    give_back(packed);
    give_back(large);
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    pool_heap_fork_done(&heap, child == 0);
    if (child == 0)
        _exit(all_are(live, 1, MIB) && child_claims_fresh(packed, 2 * MIB) &&
                      child_claims_fresh(large, 40 * MIB)
                  ? 0
                  : 1);
    int status;
    ck_assert_int_ge(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_ptr_eq(claim(2 * MIB), packed);
    ck_assert_ptr_eq(claim(40 * MIB), large);
    ck_assert(all_are(packed, 1, 2 * MIB) && large[0] == 1 && large[40 * MIB - 1] == 1);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { MODEL_BLOCKS = 40 };

/* What a test that knows every block says of the heap. */
struct model {
    char *blocks[MODEL_BLOCKS];
    size_t bytes[MODEL_BLOCKS]; /* requested */
    uint64_t served, spilled;
};

static bool overlap(const struct model *model, unsigned a, unsigned b)
{
    return model->blocks[a] && model->blocks[b] &&
           model->blocks[a] < model->blocks[b] + model->bytes[b] &&
           model->blocks[b] < model->blocks[a] + model->bytes[a];
}

/* The pages that the model reads and writes: the first and the last of a block. */
static void model_fill(const struct model *model, unsigned slot)
{
    size_t part = model->bytes[slot] < 4 * KIB ? model->bytes[slot] : 4 * KIB;
    memset(model->blocks[slot], (int)slot + 1, part);
    memset(model->blocks[slot] + model->bytes[slot] - part, (int)slot + 1, part);
}

static void model_check(const struct model *model, unsigned slot, char expected)
{
    size_t part = model->bytes[slot] < 4 * KIB ? model->bytes[slot] : 4 * KIB;
    const char *block = model->blocks[slot];
    ck_assert(all_are(block, expected, part));
    ck_assert(all_are(block + model->bytes[slot] - part, expected, part));
}

static void model_claim(struct model *model, unsigned slot, size_t bytes, bool growing)
{
    bool fresh = false;
    char *block = growing ? pool_heap_claim_growing(&heap, bytes)
                          : pool_heap_claim(&heap, bytes, &fresh);
    model->served += block != NULL;
    model->spilled += block == NULL;
    model->blocks[slot] = block;
    model->bytes[slot] = bytes;
    if (!block)
        return;
    ck_assert_uint_eq(pool_heap_usable(&heap, block), (bytes + 4095) & ~(size_t)4095);
    for (unsigned other = 0; other < MODEL_BLOCKS; other++)
        if (other != slot && overlap(model, slot, other))
            ck_abort_msg("a block of %zu bytes is part of a live one", bytes);
    if (fresh)
        model_check(model, slot, 0);
    model_fill(model, slot);
}

static void model_step(struct model *model, uint64_t dice)
{
    unsigned slot = (unsigned)(dice % MODEL_BLOCKS);
    size_t bytes = 1 + (dice >> 8) % (KIB << (dice >> 48) % 18);
    if (dice >> 57 == 0)
        (void)pool_heap_trim(&heap);
    fake_wait_ms(dice >> 50 & 1);
    if (dice >> 57 == 1)
        fake_refuse_next_enable();
    if (!model->blocks[slot]) {
        model_claim(model, slot, bytes, dice >> 56 & 1);
        return;
    }
    model_check(model, slot, (char)(slot + 1));
    if (dice >> 55 & 1 && pool_heap_resize(&heap, model->blocks[slot], bytes)) {
        model->bytes[slot] = bytes;
        model_fill(model, slot);
        return;
    }
    give_back(model->blocks[slot]);
    model->blocks[slot] = NULL;
}

START_TEST(random_use_keeps_contents_and_every_request_is_counted_once)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct model model = {0};
        uint64_t random = seed;
        setup();
        pool_heap_tune(&heap, &(struct pool_heap_tuning){.decay_ms = 100});
        for (unsigned step = 0; step < 4000; step++)
            model_step(&model, next_random(&random));
        struct pool_heap_figures figures = pool_heap_read(&heap);
        ck_assert_uint_eq(figures.claims, model.served);
        ck_assert_uint_eq(figures.claims, figures.reused + figures.born);
        ck_assert_uint_eq(figures.spilled, model.spilled);
        ck_assert_uint_gt(figures.spilled, 0);
        for (unsigned slot = 0; slot < MODEL_BLOCKS; slot++)
            if (model.blocks[slot])
                give_back(model.blocks[slot]);
        figures = pool_heap_read(&heap);
        ck_assert_uint_eq(figures.live_bytes, 0);
        /* Blocks that merge with trimmed ones are given back together with them. */
        ck_assert_uint_ge(pool_heap_trim(&heap), figures.idle_bytes);
        bytes_are(0, 0);
        ck_assert(pool_packed_valid(&heap.packed));
    }
}
END_TEST

SUITE_MAIN_WITH("pool/heap_keep", setup, teardown,
                trimming_leaves_what_is_live_and_makes_the_rest_fresh,
                a_heap_that_was_shed_lives_on_what_it_has,
                the_high_water_is_the_most_that_was_held_before_or_since_a_trim,
                both_sides_of_a_fork_claim_and_return,
                what_nobody_needs_for_a_window_goes_back_while_the_program_goes_on,
                the_clock_is_looked_at_whether_the_idle_blocks_of_a_class_are_odd_or_even,
                rows_alone_look_at_the_clock_too,
                a_clock_that_another_thread_read_later_ends_no_window,
                without_tuning_nothing_ages, more_idle_memory_than_the_limit_goes_back,
                a_forked_child_has_what_is_live_and_no_idle_memory,
                random_use_keeps_contents_and_every_request_is_counted_once)

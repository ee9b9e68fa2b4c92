/* Defends: threads share one packed area until they are in each other's way; then they part, and
   every block goes back to where it came from. An area that is exhausted is followed by the next,
   a source that refuses is not asked again. */
#include "pool/packed.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_source.h"
#include "tests/suite.h"

/* Areas of 256 granules, 16 MiB. */
enum {
    GRANULE_SHIFT = 10,
    GRANULES = 1 << GRANULE_SHIFT,
    AREA = GRANULES / POOL_PACKED_AREAS
};

static struct pool_packed packed;
static struct pool_record records[GRANULES];
static char *base;

static void setup(void)
{
    fake_reset();
    memset(&packed, 0, sizeof(packed));
    memset(records, 0, sizeof(records));
    base = fake_source.reserve((size_t)GRANULES << POOL_GRANULE_SHIFT);
    ck_assert_ptr_nonnull(base);
    pool_packed_open(&packed, base, GRANULE_SHIFT, records, &fake_source);
}

static void teardown(void)
{
    ck_assert(pool_packed_valid(&packed));
}

static uint32_t claim(uint32_t granules)
{
    bool fresh, due;
    return pool_packed_claim(&packed, granules, &fresh, &due);
}

static bool is_returned(uint32_t index)
{
    bool due;
    return pool_packed_return(&packed, index, &due);
}

/* A claim that must be served at this granule of this area. */
static uint32_t claim_gives(uint32_t granules, uint32_t area, uint32_t inside)
{
    uint32_t index = claim(granules);
    ck_assert_uint_eq(index, area * AREA + inside);
    return index;
}

static void in_thread(void *(*act)(void *))
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, act, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

static void is_asked(unsigned times)
{
    while (times-- > 0)
        pool_packed_move_on(&packed);
}

static void *move_on(void *context)
{
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    return context;
}

static void *claim_in_first_area(void *context)
{
    ck_assert_uint_lt(claim(1), AREA);
    return context;
}

START_TEST(threads_that_do_not_wait_share_the_first_area)
{
    claim_gives(4, 0, 1);
    is_asked(1000);
    claim_gives(4, 0, 5);
    in_thread(claim_in_first_area);
    ck_assert(!pool_packed_was_born(&packed, AREA + 1));
}
END_TEST

START_TEST(a_thread_that_has_waited_often_enough_moves_on_alone)
{
    claim_gives(4, 0, 1);
    pool_spans_waits = POOL_PACKED_PATIENCE - 1;
    is_asked(1);
    claim_gives(4, 0, 5);
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    ck_assert_uint_eq(pool_spans_waits, 0);
    claim_gives(4, 1, 1);
    in_thread(claim_in_first_area);
    is_asked(1000);
    claim_gives(4, 1, 5);
}
END_TEST

START_TEST(waits_that_are_seldom_are_forgotten)
{
    for (unsigned i = 0; i < 10 * POOL_PACKED_PATIENCE; i++) {
        pool_spans_waits++;
        is_asked(1);
    }
    claim_gives(4, 0, 1);
}
END_TEST

START_TEST(threads_that_move_on_part_and_none_goes_where_threads_begin)
{
    for (uint32_t area = 1; area < POOL_PACKED_AREAS; area++) {
        pool_spans_waits = POOL_PACKED_PATIENCE;
        is_asked(1);
        claim_gives(4, area, 1);
    }
    in_thread(move_on);
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    claim_gives(4, 2, 5);
}
END_TEST

/* Holds the first area's lock until somebody waits for it, and for some time more. */
static void *hold_lock(void *context)
{
    ck_assert(pool_lock_take(&packed.areas[0].lock));
    pthread_barrier_wait(context);
    usleep(20000);
    pool_lock_give(&packed.areas[0].lock);
    return NULL;
}

START_TEST(a_claim_that_finds_the_lock_taken_has_waited_and_no_other)
{
    pthread_t holder;
    pthread_barrier_t held;
    uint32_t idle = claim(4);
    ck_assert_uint_eq(pool_spans_waits, 0);
    ck_assert_int_eq(pthread_barrier_init(&held, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&holder, NULL, hold_lock, &held), 0);
    pthread_barrier_wait(&held);
    ck_assert(is_returned(idle));
    claim_gives(4, 0, idle);
    ck_assert_uint_eq(pool_spans_waits, 0);
    claim_gives(4, 0, 5);
    ck_assert_uint_eq(pool_spans_waits, 1);
    ck_assert_int_eq(pthread_join(holder, NULL), 0);
    claim_gives(4, 0, 9);
    ck_assert_uint_eq(pool_spans_waits, 1);
}
END_TEST

START_TEST(a_block_goes_back_to_the_area_that_it_came_from)
{
    uint32_t first = claim_gives(4, 0, 1);
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    uint32_t second = claim_gives(4, 1, 1);
    ck_assert(is_returned(first));
    ck_assert(!is_returned(first));
    claim_gives(4, 1, 5);
    ck_assert(is_returned(second));
    ck_assert(!is_returned(second));
    claim_gives(4, 1, 1);
    in_thread(claim_in_first_area);
    ck_assert(!is_returned(3 * AREA + 1));
}
END_TEST

START_TEST(an_exhausted_area_is_followed_by_the_next)
{
    uint32_t last = 0;
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        for (uint32_t block = 0; block < 3; block++)
            last = claim_gives(64, area, 1 + 64 * block);
    ck_assert_uint_eq(claim(64), 0);
    claim_gives(63, 0, 193);
    ck_assert(is_returned(last));
    ck_assert_uint_eq(claim(64), last);
    ck_assert(is_returned(1));
    claim_gives(64, 0, 1);
}
END_TEST

START_TEST(a_source_that_refuses_is_not_asked_for_another_area)
{
    fake_refuse_next_enable();
    ck_assert_uint_eq(claim(4), 0);
    ck_assert_uint_eq(fake_enables(), 1);
    claim_gives(4, 0, 1);
}
END_TEST

START_TEST(figures_and_memory_are_those_of_all_areas)
{
    uint32_t first = claim(4);
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    uint32_t second = claim(8);
    ck_assert(is_returned(first));
    ck_assert(is_returned(second));
    ck_assert_uint_eq(claim(8), second);
    ck_assert(is_returned(second));
    struct pool_span_figures figures = pool_packed_figures(&packed);
    ck_assert_uint_eq(figures.born, 2);
    ck_assert_uint_eq(figures.popped, 1);
    ck_assert_uint_eq(figures.fitted, 0);
    ck_assert_uint_eq(pool_packed_idle_bytes(&packed), 12 << POOL_GRANULE_SHIFT);
    (void)pool_packed_age(&packed);
    ck_assert_uint_eq(pool_packed_age(&packed), 12 << POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(pool_packed_idle_bytes(&packed), 0);
    ck_assert_uint_eq(claim(8), second);
    ck_assert(is_returned(second));
    ck_assert_uint_eq(pool_packed_trim(&packed), 8 << POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(fake_discarded(), 20 << POOL_GRANULE_SHIFT);
}
END_TEST

START_TEST(what_was_shed_or_closed_is_so_in_all_areas)
{
    uint32_t live = claim(4);
    pool_packed_shed(&packed);
    /* What is enabled of the first area, and granule 0 of the others. */
    ck_assert_uint_eq(fake_reserved(),
                      (size_t)(POOL_SPAN_ENABLE_GRANULES + POOL_PACKED_AREAS - 1)
                          << POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(claim(64), 0);
    claim_gives(4, 0, 5);
    (void)pool_packed_close(&packed);
    ck_assert_uint_eq(fake_reserved(), (size_t)(8 + POOL_PACKED_AREAS)
                                           << POOL_GRANULE_SHIFT);
    ck_assert(is_returned(live));
    ck_assert_uint_eq(pool_packed_close(&packed), 4 << POOL_GRANULE_SHIFT);
}
END_TEST

START_TEST(a_fork_holds_every_area_still)
{
    pool_packed_fork_prepare(&packed);
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++)
        ck_assert(pool_lock_is_forking(&packed.areas[area].lock));
    pool_packed_fork_done(&packed, false);
    for (uint32_t area = 0; area < POOL_PACKED_AREAS; area++) {
        ck_assert(pool_lock_try(&packed.areas[area].lock));
        pool_lock_give(&packed.areas[area].lock);
    }
}
END_TEST

static unsigned visited;

static void visit(void *context, const struct pool_record *record)
{
    (void)context;
    visited += POOL_GET(record, granules);
}

START_TEST(a_walk_meets_the_blocks_of_every_area)
{
    claim_gives(4, 0, 1);
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    claim_gives(8, 1, 1);
    pool_packed_walk(&packed, visit, NULL);
    ck_assert_uint_eq(visited, 12);
}
END_TEST

static void move_on_and_claim(void)
{
    pool_spans_waits = POOL_PACKED_PATIENCE;
    is_asked(1);
    claim_gives(4, 1, 1);
}

START_TEST(what_is_idle_in_any_area_goes_when_all_are_closed)
{
    move_on_and_claim();
    ck_assert(pool_packed_was_born(&packed, AREA + 4));
    ck_assert(!pool_packed_was_born(&packed, AREA + 5));
    ck_assert(!pool_packed_was_born(&packed, 1));
    ck_assert(is_returned(AREA + 1));
    ck_assert_uint_eq(pool_packed_close(&packed), 4 << POOL_GRANULE_SHIFT);
    ck_assert_uint_eq(fake_reserved(), (size_t)POOL_PACKED_AREAS << POOL_GRANULE_SHIFT);
}
END_TEST

START_TEST(huge_pages_are_asked_for_alike_in_all_areas)
{
    pool_packed_prefer(&packed, POOL_HUGE_NEVER);
    move_on_and_claim();
    ck_assert_uint_eq(fake_huge(), 0);
}
END_TEST

START_TEST(a_process_that_stages_in_earnest_does_so_in_all_areas)
{
    const size_t enabled = (size_t)POOL_SPAN_ENABLE_GRANULES << POOL_GRANULE_SHIFT;
    pool_packed_set_dense(&packed);
    move_on_and_claim();
    ck_assert_uint_eq(fake_huge(), enabled);
}
END_TEST

SUITE_MAIN_WITH("pool/packed", setup, teardown,
                threads_that_do_not_wait_share_the_first_area,
                a_thread_that_has_waited_often_enough_moves_on_alone,
                waits_that_are_seldom_are_forgotten,
                threads_that_move_on_part_and_none_goes_where_threads_begin,
                a_claim_that_finds_the_lock_taken_has_waited_and_no_other,
                a_block_goes_back_to_the_area_that_it_came_from,
                an_exhausted_area_is_followed_by_the_next,
                a_source_that_refuses_is_not_asked_for_another_area,
                figures_and_memory_are_those_of_all_areas,
                what_was_shed_or_closed_is_so_in_all_areas, a_fork_holds_every_area_still,
                a_walk_meets_the_blocks_of_every_area,
                what_is_idle_in_any_area_goes_when_all_are_closed,
                huge_pages_are_asked_for_alike_in_all_areas,
                a_process_that_stages_in_earnest_does_so_in_all_areas)

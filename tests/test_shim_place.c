/* Defends: an incarnation of a context ends when one of the calls that may end it has ended it,
   whatever the others say, and what was met since does not end with it. */
#include "shim/place.h"

#include "shim/lease.h"
#include "shim/retain.h"
#include "tests/suite.h"

static struct shim_driver driver;
static struct shim_device device;
static uint32_t ended[8];
static unsigned ended_count, kept_count;

#define CONTEXT ((CUcontext)(uintptr_t)0xc0)

/* --- What place.c stands on --- */

struct shim_device *shim_device_get(const struct shim_driver *asked, CUdevice ordinal)
{
    (void)asked;
    (void)ordinal;
    return &device;
}

void shim_lease_end_owner(uint32_t owner)
{
    ended[ended_count++] = owner;
}

void shim_retain_met(uint32_t owner, bool is_new)
{
    (void)owner;
    (void)is_new;
}

void shim_retain_ending(uint32_t owner)
{
    (void)owner;
}

void shim_retain_ended(uint32_t owner, bool is_over)
{
    (void)owner;
    kept_count += !is_over;
}

static CUresult get_current(CUcontext *context)
{
    *context = CONTEXT;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *ordinal)
{
    *ordinal = 0;
    return CUDA_SUCCESS;
}

static uint32_t here(void)
{
    struct shim_place place = {.owner = 0};
    driver.call.cuCtxGetCurrent = get_current;
    driver.call.cuCtxGetDevice = get_device;
    ck_assert(shim_place_current(&driver, &place));
    return place.owner;
}

/* Two threads release a primary context that both have retained. */
START_TEST(the_release_that_was_not_the_last_does_not_undo_the_one_that_was)
{
    uint32_t owner = here();
    uint32_t first = shim_place_ending(CONTEXT), second = shim_place_ending(CONTEXT);
    shim_place_ended(CONTEXT, first, false);
    ck_assert_uint_eq(ended_count, 0);
    ck_assert_uint_eq(kept_count, 0);
    ck_assert_uint_ne(here(), owner);
    shim_place_ended(CONTEXT, second, true);
    ck_assert_uint_eq(ended_count, 1);
    ck_assert_uint_eq(ended[0], owner);
}
END_TEST

START_TEST(nor_does_it_matter_which_returns_first)
{
    uint32_t owner = here();
    uint32_t first = shim_place_ending(CONTEXT), second = shim_place_ending(CONTEXT);
    shim_place_ended(CONTEXT, second, true);
    ck_assert_uint_eq(ended_count, 1);
    ck_assert_uint_eq(ended[0], owner);
    /* Its next life, which somebody is about to end, too. */
    uint32_t next = here(), third = shim_place_ending(CONTEXT);
    shim_place_ended(CONTEXT, first, false);
    ck_assert_uint_eq(kept_count, 0);
    shim_place_ended(CONTEXT, third, true);
    ck_assert_uint_eq(ended_count, 2);
    ck_assert_uint_eq(ended[1], next);
}
END_TEST

START_TEST(a_late_end_takes_nothing_of_the_next_life)
{
    uint32_t owner = here();
    uint32_t first = shim_place_ending(CONTEXT);
    uint32_t next = here(), second = shim_place_ending(CONTEXT);
    shim_place_ended(CONTEXT, first, true);
    ck_assert_uint_eq(ended_count, 1);
    ck_assert_uint_eq(ended[0], owner);
    shim_place_ended(CONTEXT, second, false);
    ck_assert_uint_eq(kept_count, 1);
    ck_assert_uint_eq(here(), next);
}
END_TEST

START_TEST(what_is_kept_is_one_context_and_ends_as_one)
{
    uint32_t owner = here();
    uint32_t first = shim_place_ending(CONTEXT);
    uint32_t next = here();
    shim_place_ended(CONTEXT, first, false);
    shim_place_ended(CONTEXT, shim_place_ending(CONTEXT), true);
    ck_assert_uint_eq(ended_count, 2);
    ck_assert_uint_eq(ended[0] + ended[1], owner + next);
}
END_TEST

SUITE_MAIN("shim/place", the_release_that_was_not_the_last_does_not_undo_the_one_that_was,
           nor_does_it_matter_which_returns_first,
           a_late_end_takes_nothing_of_the_next_life,
           what_is_kept_is_one_context_and_ends_as_one)

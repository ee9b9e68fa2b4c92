/* Defends: while calls on one pool are under way at once nothing is charged twice, and once none
   is, exactly what the driver said last is charged. The driver here runs what another thread
   would do in the middle of a call. */
#include "shim/mempool.h"

#include "policy/admit.h"
#include "shim/driver_observe.h"
#include "shim/place.h"
#include "shim/room.h"
#include "tests/suite.h"

enum { CEILING = 1000 };

static struct shim_driver driver;
static struct shim_device device;
static uint64_t charged;
static uint64_t reserved; /* what the driver says */
static unsigned trims, refusals;
/* Once each: between a question to the driver and the answer, and before something is charged. */
static void (*meanwhile)(void), (*before_charge)(void);
static struct shim_mempool *pool;

#define POOL       ((CUmemoryPool)(uintptr_t)0x9000)
#define OTHER_POOL ((CUmemoryPool)(uintptr_t)0x9100)
#define NEXT_POOL  ((CUmemoryPool)(uintptr_t)0x9200)

/* --- What mempool.c stands on --- */

struct policy_verdict shim_room_try(struct shim_device *of, uint64_t bytes)
{
    (void)of;
    void (*now)(void) = before_charge;
    before_charge = NULL;
    if (now)
        now();
    struct policy_verdict verdict = policy_admit_bytes(charged, bytes, CEILING);
    charged += verdict.kind == POLICY_ADMITTED ? bytes : 0;
    return verdict;
}

void shim_room_refund(struct shim_device *of, uint64_t bytes)
{
    (void)of;
    ck_assert_uint_le(bytes, charged);
    charged -= bytes;
}

CUresult shim_room_refuse(const struct shim_driver *asked, const char *call,
                          struct shim_device *of, const struct policy_verdict *verdict)
{
    (void)asked;
    (void)call;
    (void)of;
    (void)verdict;
    refusals++;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void shim_room_driver_refused(const struct shim_driver *asked, const char *call,
                              struct shim_device *of, uint64_t bytes,
                              const struct shim_retain_trimmed *trimmed)
{
    (void)asked;
    (void)call;
    (void)of;
    (void)bytes;
    (void)trimmed;
}

void shim_room_make(const struct shim_driver *asked, struct shim_device *of,
                    uint64_t bytes)
{
    shim_mempool_trim(asked, of, bytes);
}

bool shim_observe_capturing(void)
{
    return false;
}

struct shim_device *shim_device_get(const struct shim_driver *asked, CUdevice ordinal)
{
    (void)asked;
    return ordinal == 0 ? &device : NULL;
}

/* --- The driver --- */

static CUresult get_attribute(CUmemoryPool of, CUmemPool_attribute attribute, void *value)
{
    ck_assert_ptr_eq(of, POOL);
    ck_assert_int_eq(attribute, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    *(cuuint64_t *)value = reserved;
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now)
        now();
    return CUDA_SUCCESS;
}

static CUresult trim_to(CUmemoryPool of, size_t kept_bytes)
{
    ck_assert_ptr_eq(of, POOL);
    (void)kept_bytes;
    trims++;
    return CUDA_SUCCESS;
}

static void setup(void)
{
    driver.call.cuMemPoolGetAttribute = get_attribute;
    driver.call.cuMemPoolTrimTo = trim_to;
    pool = shim_mempool_draw(POOL, &device, 0);
    ck_assert_ptr_nonnull(pool);
    shim_mempool_returned(shim_mempool_owner(pool), 0);
}

static struct shim_draw begin(uint64_t bytes)
{
    struct shim_draw draw;
    ck_assert_ptr_eq(shim_mempool_draw(POOL, &device, bytes), pool);
    ck_assert_int_eq(shim_mempool_begin(&driver, "call", pool, bytes, &draw),
                     CUDA_SUCCESS);
    return draw;
}

static void settle(const struct shim_draw *draw)
{
    ck_assert_int_eq(shim_mempool_settle(&driver, draw), CUDA_SUCCESS);
}

static void refresh(void)
{
    shim_mempool_refresh(&driver, shim_mempool_owner(pool));
}

START_TEST(what_another_call_is_about_to_take_is_not_charged_twice)
{
    struct shim_draw first = begin(100), second = begin(100);
    ck_assert_uint_eq(charged, 200);
    reserved = 200; /* both were served */
    settle(&second);
    ck_assert_uint_eq(charged, 200);
    settle(&first);
    ck_assert_uint_eq(charged, 200);
}
END_TEST

START_TEST(what_another_call_is_about_to_take_is_not_taken_off)
{
    struct shim_draw first = begin(100), second = begin(100);
    reserved = 100; /* the other is still to come */
    settle(&second);
    ck_assert_uint_eq(charged, 200);
    reserved = 200;
    settle(&first);
    ck_assert_uint_eq(charged, 200);
}
END_TEST

static void grow(void)
{
    reserved = 300;
    refresh();
    ck_assert_uint_eq(charged, 300);
}

START_TEST(the_answer_to_the_later_question_stands)
{
    reserved = 100;
    meanwhile = grow;
    refresh();
    ck_assert_uint_eq(charged, 300);
    refresh();
    ck_assert_uint_eq(charged, 300);
}
END_TEST

static void end_other(void)
{
    struct shim_draw other = begin(50);
    reserved = 150;
    settle(&other);
}

START_TEST(a_call_that_fails_takes_off_what_it_was_admitted_for_and_nothing_else)
{
    struct shim_draw draw = begin(100);
    meanwhile = end_other;
    reserved = 0;
    shim_mempool_cancel(&driver, &draw, CUDA_ERROR_UNKNOWN);
    ck_assert_uint_eq(charged, 150);
    reserved = 50;
    refresh();
    ck_assert_uint_eq(charged, 50);
}
END_TEST

START_TEST(of_two_that_find_the_same_idle_memory_one_admits_its_own)
{
    reserved = 120;
    struct shim_draw draw = begin(120);
    settle(&draw);
    shim_mempool_returned(shim_mempool_owner(pool), 120);
    ck_assert_uint_eq(charged, 120); /* idle */
    struct shim_draw first = begin(100), second = begin(100);
    ck_assert_uint_eq(first.admitted_bytes, 0);
    ck_assert_uint_eq(second.admitted_bytes, 80);
    ck_assert_uint_eq(charged, 200);
    reserved = 200;
    settle(&first);
    settle(&second);
    ck_assert_uint_eq(charged, 200);
}
END_TEST

static void begin_other(void)
{
    ck_assert_uint_eq(begin(100).admitted_bytes, 100);
}

START_TEST(what_another_is_about_to_admit_is_its_own)
{
    before_charge = begin_other;
    ck_assert_uint_eq(begin(100).admitted_bytes, 100);
    ck_assert_uint_eq(charged, 200);
}
END_TEST

START_TEST(growth_past_the_ceiling_is_refused_and_trimmed_whenever_it_is_seen)
{
    struct shim_draw draw = begin(100);
    reserved = CEILING + 1;
    ck_assert_int_eq(shim_mempool_settle(&driver, &draw), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(refusals, 1);
    ck_assert_uint_gt(trims, 0);
    draw.admitted_bytes = 0;
    shim_mempool_cancel(&driver, &draw, CUDA_SUCCESS);
    ck_assert_uint_le(charged, CEILING);
    unsigned before = trims;
    refresh();
    ck_assert_uint_gt(trims, before);
    reserved = 0;
    refresh();
    ck_assert_uint_eq(charged, 0);
    before = trims;
    refresh();
    ck_assert_uint_eq(trims, before);
}
END_TEST

START_TEST(a_pool_that_ends_before_a_call_takes_from_it_leaves_its_entry_to_that_call)
{
    struct shim_draw draw;
    ck_assert_ptr_eq(shim_mempool_draw(POOL, &device, 100), pool);
    shim_mempool_ended(shim_mempool_ending(POOL), true);
    struct shim_mempool *other = shim_mempool_draw(OTHER_POOL, &device, 0);
    ck_assert_ptr_ne(other, pool);
    ck_assert_int_eq(shim_mempool_begin(&driver, "call", pool, 100, &draw), CUDA_SUCCESS);
    ck_assert_uint_eq(charged, 100);
    shim_mempool_cancel(&driver, &draw, CUDA_ERROR_INVALID_VALUE);
    ck_assert_uint_eq(charged, 0);
    ck_assert_ptr_eq(shim_mempool_draw(NEXT_POOL, &device, 0), pool); /* free by now */
}
END_TEST

SUITE_MAIN_WITH(
    "shim/mempool", setup, NULL, what_another_call_is_about_to_take_is_not_charged_twice,
    what_another_call_is_about_to_take_is_not_taken_off,
    the_answer_to_the_later_question_stands,
    a_call_that_fails_takes_off_what_it_was_admitted_for_and_nothing_else,
    of_two_that_find_the_same_idle_memory_one_admits_its_own,
    what_another_is_about_to_admit_is_its_own,
    growth_past_the_ceiling_is_refused_and_trimmed_whenever_it_is_seen,
    a_pool_that_ends_before_a_call_takes_from_it_leaves_its_entry_to_that_call)

/* Defends: a program that asks through tidemark.h gets the answers that the library is held to,
   with every number, and no answer ends it or writes what it should not. */
#include "pool/tidemark.h"

#include <string.h>

#include "tests/suite.h"

#define GB UINT64_C(1000000000)

static struct tidemark_ceiling ceiling_of(const char *request, const char *headroom,
                                          unsigned device, uint64_t total_bytes)
{
    struct tidemark_ceiling ceiling;
    ck_assert_int_eq(tidemark_ceiling(request, headroom, device, total_bytes, &ceiling),
                     TIDEMARK_DONE);
    return ceiling;
}

START_TEST(a_ceiling_is_the_request_or_what_headroom_leaves)
{
    struct tidemark_ceiling ceiling = ceiling_of(NULL, NULL, 0, 48 * GB);
    ck_assert_uint_eq(ceiling.bytes, 40800000000);
    ck_assert_uint_eq(ceiling.requested_bytes, 48 * GB);
    ck_assert_uint_eq(ceiling.total_bytes, 48 * GB);
    ck_assert_uint_eq(ceiling.headroom_bytes, 7200000000);
    ck_assert_int_eq(ceiling.source, TIDEMARK_CEILING_DEVICE);
    ceiling = ceiling_of("1000000B", NULL, 0, 48 * GB);
    ck_assert_uint_eq(ceiling.bytes, 1000000);
    ck_assert_int_eq(ceiling.source, TIDEMARK_CEILING_REQUESTED);
    ceiling = ceiling_of("8GiB", "0.07", 0, 100);
    ck_assert_uint_eq(ceiling.bytes, 93);
    ck_assert_int_eq(ceiling.source, TIDEMARK_CEILING_CAPPED);
    ceiling = ceiling_of("none", NULL, 0, 48 * GB);
    ck_assert_uint_eq(ceiling.bytes, UINT64_MAX);
    ck_assert_int_eq(ceiling.source, TIDEMARK_CEILING_NONE);
    ck_assert_int_eq(ceiling_of("50%", NULL, 0, 0).source, TIDEMARK_CEILING_NONE);
    ck_assert_uint_eq(ceiling_of("0=7B,*=9B", "0", 0, 0).bytes, 7);
    ck_assert_uint_eq(ceiling_of("0=7B,*=9B", "0", 900, 0).bytes, 9);
}
END_TEST

START_TEST(a_malformed_ceiling_writes_nothing)
{
    static const struct {
        const char *request, *headroom;
    } cases[] = {{"", NULL},     {"100x", NULL},   {"0=1,0=2", NULL}, {"1=1", NULL},
                 {NULL, "1"},    {NULL, "-0.1"},   {NULL, "15%"},     {NULL, ""},
                 {"-1", "0.15"}, {"device", "nan"}};
    struct tidemark_ceiling ceiling, untouched;
    memset(&ceiling, 0x5a, sizeof ceiling);
    memset(&untouched, 0x5a, sizeof untouched);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(
            tidemark_ceiling(cases[i].request, cases[i].headroom, 0, GB, &ceiling),
            TIDEMARK_MALFORMED);
        ck_assert_mem_eq(&ceiling, &untouched, sizeof ceiling);
    }
    ck_assert_int_eq(tidemark_ceiling(NULL, NULL, 0, GB, NULL), TIDEMARK_MALFORMED);
}
END_TEST

static void verdict_is(const struct tidemark_verdict *verdict, uint64_t asked,
                       uint64_t held, uint64_t limit, uint64_t short_bytes)
{
    ck_assert_uint_eq(verdict->asked_bytes, asked);
    ck_assert_uint_eq(verdict->reserved_bytes, asked);
    ck_assert_uint_eq(verdict->held_bytes, held);
    ck_assert_uint_eq(verdict->limit_bytes, limit);
    ck_assert_uint_eq(verdict->short_bytes, short_bytes);
}

START_TEST(an_exact_fit_is_admitted_and_one_byte_more_is_not)
{
    const struct tidemark_ceiling hundred = {.bytes = 100};
    struct tidemark_verdict verdict;
    ck_assert_int_eq(tidemark_admit(&hundred, 60, 40, &verdict), TIDEMARK_DONE);
    verdict_is(&verdict, 40, 60, 100, 0);
    ck_assert_int_eq(tidemark_admit(&hundred, 60, 41, &verdict), TIDEMARK_OVER_BUDGET);
    verdict_is(&verdict, 41, 60, 100, 1);
    ck_assert_int_eq(tidemark_admit(&hundred, 60, UINT64_MAX, &verdict),
                     TIDEMARK_TOO_LARGE);
    verdict_is(&verdict, UINT64_MAX, 60, 100, UINT64_MAX - 40);
    ck_assert_int_eq(tidemark_admit(&hundred, 60, 41, NULL), TIDEMARK_OVER_BUDGET);
    memset(&verdict, 0x5a, sizeof verdict);
    struct tidemark_verdict untouched = verdict;
    ck_assert_int_eq(tidemark_admit(NULL, 0, 0, &verdict), TIDEMARK_MALFORMED);
    ck_assert_mem_eq(&verdict, &untouched, sizeof verdict);
}
END_TEST

static uint64_t reserved(uint64_t peak, uint64_t argument, uint64_t output,
                         uint64_t alias, uint64_t temporary)
{
    const struct tidemark_program program = {peak, argument, output, alias, temporary};
    uint64_t bytes = 77;
    ck_assert_int_eq(tidemark_reservation(&program, &bytes), TIDEMARK_DONE);
    return bytes;
}

static void is_not_reserved(struct tidemark_program program, enum tidemark_result result)
{
    uint64_t bytes = 77;
    ck_assert_int_eq(tidemark_reservation(&program, &bytes), result);
    ck_assert_uint_eq(bytes, 77);
}

START_TEST(a_program_reserves_the_greater_of_its_peak_and_its_allocation)
{
    ck_assert_uint_eq(reserved(90, 56, 2, 0, 131072), 131130);
    ck_assert_uint_eq(reserved(200, 80, 50, 50, 20), 200);
    ck_assert_uint_eq(reserved(10, 80, 50, 50, 20), 100);
    ck_assert_uint_eq(reserved(0, 0, 0, 0, 0), 0);
    is_not_reserved((struct tidemark_program){0, 4, 8, 5, 0}, TIDEMARK_MALFORMED);
    is_not_reserved((struct tidemark_program){0, UINT64_MAX, 1, 0, 0},
                    TIDEMARK_TOO_LARGE);
    uint64_t bytes;
    ck_assert_int_eq(tidemark_reservation(NULL, &bytes), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_reservation(&(struct tidemark_program){0}, NULL),
                     TIDEMARK_MALFORMED);
}
END_TEST

START_TEST(an_account_charges_refuses_and_refunds)
{
    const struct tidemark_ceiling hundred = {.bytes = 100};
    struct tidemark_account account = {{0}};
    struct tidemark_verdict verdict;
    uint64_t peak, refusals;
    ck_assert_int_eq(tidemark_charge(&account, &hundred, 60, NULL), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_charge(&account, &hundred, 41, &verdict),
                     TIDEMARK_OVER_BUDGET);
    verdict_is(&verdict, 41, 60, 100, 1);
    ck_assert_int_eq(tidemark_charge(&account, &hundred, 40, NULL), TIDEMARK_DONE);
    ck_assert_uint_eq(tidemark_charged(&account, NULL, NULL), 100);
    ck_assert_int_eq(tidemark_refund(&account, 101), TIDEMARK_MALFORMED);
    ck_assert_uint_eq(tidemark_charged(&account, NULL, NULL), 100);
    ck_assert_int_eq(tidemark_refund(&account, 100), TIDEMARK_DONE);
    ck_assert_uint_eq(tidemark_charged(&account, &peak, &refusals), 0);
    ck_assert_uint_eq(peak, 100);
    ck_assert_uint_eq(refusals, 1);
    ck_assert_int_eq(tidemark_charge(NULL, &hundred, 1, NULL), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_charge(&account, NULL, 1, NULL), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_refund(NULL, 0), TIDEMARK_MALFORMED);
    ck_assert_uint_eq(tidemark_charged(NULL, &peak, &refusals), 0);
    ck_assert_uint_eq(peak + refusals, 0);
}
END_TEST

enum { THREADS = 4, ROUNDS = 20000 };

static struct tidemark_account shared_account;

static void charge_and_refund(unsigned index, void *context)
{
    const struct tidemark_ceiling hundred = {.bytes = 100};
    (void)context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t bytes = 20 + (round + index) % 30, peak;
        if (tidemark_charge(&shared_account, &hundred, bytes, NULL) == TIDEMARK_DONE)
            ck_assert_int_eq(tidemark_refund(&shared_account, bytes), TIDEMARK_DONE);
        ck_assert_uint_le(tidemark_charged(&shared_account, &peak, NULL), 100);
        ck_assert_uint_le(peak, 100);
    }
}

START_TEST(threads_share_an_account)
{
    suite_run_threads(THREADS, charge_and_refund, NULL);
    ck_assert_uint_eq(tidemark_charged(&shared_account, NULL, NULL), 0);
}
END_TEST

START_TEST(alignment_takes_any_unit_and_stops_at_the_maximum)
{
    uint64_t aligned = 77;
    ck_assert_int_eq(tidemark_align_up(27, 10, 29, &aligned), TIDEMARK_TOO_LARGE);
    ck_assert_int_eq(tidemark_align_up(27, 0, 30, &aligned), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_align_up(27, 10, 30, NULL), TIDEMARK_MALFORMED);
    ck_assert_uint_eq(aligned, 77);
    ck_assert_int_eq(tidemark_align_up(27, 10, 30, &aligned), TIDEMARK_DONE);
    ck_assert_uint_eq(aligned, 30);
}
END_TEST

static enum tidemark_result placed(struct tidemark_space space, uint64_t offset,
                                   uint64_t bytes, uint64_t alignment,
                                   struct tidemark_verdict *verdict)
{
    uint64_t place = 77;
    enum tidemark_result result =
        tidemark_space_place(&space, offset, bytes, alignment, &place, verdict);
    ck_assert_int_eq(place == 77, result != TIDEMARK_DONE);
    return result;
}

START_TEST(three_limits_of_a_space_refuse_by_three_names)
{
    const struct tidemark_space small = {0, 100, 50, 1, 0};
    const struct tidemark_space tens = {0, UINT64_MAX, 25, 10, 0};
    struct tidemark_verdict verdict;
    uint64_t place;
    ck_assert_int_eq(tidemark_space_place(&small, 3, 40, 8, &place, &verdict),
                     TIDEMARK_DONE);
    ck_assert_uint_eq(place, 8);
    ck_assert_int_eq(placed(small, 3, 48, 8, &verdict), TIDEMARK_OVER_CAPACITY);
    ck_assert_int_eq(placed(small, 96, 8, 8, &verdict), TIDEMARK_ADDRESS_BEYOND);
    ck_assert_int_eq(placed(small, 0, UINT64_MAX, 8, &verdict), TIDEMARK_TOO_LARGE);
    ck_assert_int_eq(placed(small, 0, 1, 0, &verdict), TIDEMARK_MALFORMED);
    ck_assert_int_eq(placed(tens, 0, 21, 1, &verdict), TIDEMARK_OVER_CAPACITY);
    ck_assert_uint_eq(verdict.asked_bytes, 21);
    ck_assert_uint_eq(verdict.reserved_bytes, 30);
    ck_assert_uint_eq(verdict.limit_bytes - verdict.held_bytes, 25);
    ck_assert_int_eq(tidemark_space_place(NULL, 0, 1, 1, &place, NULL),
                     TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_space_place(&small, 0, 1, 1, NULL, NULL),
                     TIDEMARK_MALFORMED);
}
END_TEST

SUITE_MAIN("pool/decide", a_ceiling_is_the_request_or_what_headroom_leaves,
           a_malformed_ceiling_writes_nothing,
           an_exact_fit_is_admitted_and_one_byte_more_is_not,
           a_program_reserves_the_greater_of_its_peak_and_its_allocation,
           an_account_charges_refuses_and_refunds, threads_share_an_account,
           alignment_takes_any_unit_and_stops_at_the_maximum,
           three_limits_of_a_space_refuse_by_three_names)

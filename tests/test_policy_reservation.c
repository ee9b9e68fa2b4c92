/* Defends: a record reserves max(peak, argument + output - alias + temp), exactly or not at
   all; a number is paired within its device before any maximum; nothing absent reads as 0,
   nothing wraps, and a refusal leaves every result as it was. */
#include "policy/reservation.h"

#include <string.h>

#include "tests/suite.h"

static const struct policy_reservation untouched = {1, 2, 3};

/* A whole record without host memory, as a compiler for a device reports it. */
static struct policy_record record_of(uint64_t peak, uint64_t argument, uint64_t output,
                                      uint64_t alias, uint64_t temp)
{
    struct policy_record record = {
        .bytes =
            {
                [POLICY_COUNTER_PEAK] = peak,
                [POLICY_COUNTER_ARGUMENT] = argument,
                [POLICY_COUNTER_OUTPUT] = output,
                [POLICY_COUNTER_ALIAS] = alias,
                [POLICY_COUNTER_TEMP] = temp,
            },
    };
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++)
        record.is_known[i] = policy_counter_rows[i].role != POLICY_ROLE_METADATA;
    return record;
}

static struct policy_reservation reserve(struct policy_record record)
{
    struct policy_reservation reservation = untouched;
    struct policy_record_fault fault;
    ck_assert(policy_reservation_of(&record, &reservation, &fault));
    ck_assert_uint_eq(reservation.peak_bytes, record.bytes[POLICY_COUNTER_PEAK]);
    return reservation;
}

static struct policy_record_fault fault_of(struct policy_record record)
{
    struct policy_reservation reservation = untouched;
    struct policy_record_fault fault;
    ck_assert(!policy_reservation_of(&record, &reservation, &fault));
    ck_assert_mem_eq(&reservation, &untouched, sizeof untouched);
    return fault;
}

static void is_at_fault(struct policy_record record, enum policy_verdict_kind kind,
                        enum policy_counter counter)
{
    struct policy_record_fault fault = fault_of(record);
    ck_assert_int_eq(fault.kind, kind);
    ck_assert_int_eq(fault.counter, counter);
}

START_TEST(the_greater_of_peak_and_allocation_is_reserved)
{
    ck_assert_uint_eq(reserve(record_of(90, 56, 2, 0, 131072)).bytes, 131130);
    ck_assert_uint_eq(reserve(record_of(200, 80, 50, 50, 20)).bytes, 200);
    ck_assert_uint_eq(reserve(record_of(10, 80, 50, 50, 20)).bytes, 100);
    ck_assert_uint_eq(reserve(record_of(0, 0, 0, 0, 0)).bytes, 0);
}
END_TEST

START_TEST(the_numbers_of_a_real_v100_program_agree_to_the_byte)
{
    struct policy_record record = record_of(5811906304, 7093116, 1772928, 0, 5803032504);
    record.bytes[POLICY_COUNTER_CODE] = 31512;
    record.is_known[POLICY_COUNTER_CODE] = true;
    struct policy_reservation reservation = reserve(record);
    ck_assert_uint_eq(reservation.bytes, 5811906304);
    ck_assert_uint_eq(reservation.largest_request_bytes, 5803032576);
}
END_TEST

START_TEST(every_sum_of_small_counters_agrees_with_the_formula)
{
    enum { LIMIT = 6 };
    for (uint64_t i = 0; i < LIMIT * LIMIT * LIMIT * LIMIT * LIMIT; i++) {
        int64_t digits[5];
        uint64_t rest = i;
        for (size_t j = 0; j < 5; j++, rest /= LIMIT)
            digits[j] = (int64_t)(rest % LIMIT);
        struct policy_record record =
            record_of((uint64_t)digits[0], (uint64_t)digits[1], (uint64_t)digits[2],
                      (uint64_t)digits[3], (uint64_t)digits[4]);
        if (digits[3] > digits[1] || digits[3] > digits[2]) {
            is_at_fault(record, POLICY_MALFORMED, POLICY_COUNTER_ALIAS);
            continue;
        }
        int64_t sum = digits[1] + digits[2] - digits[3] + digits[4];
        ck_assert_uint_eq(reserve(record).bytes,
                          (uint64_t)(sum > digits[0] ? sum : digits[0]));
    }
}
END_TEST

START_TEST(aliases_are_part_of_both_arguments_and_outputs)
{
    is_at_fault(record_of(9, 4, 8, 5, 0), POLICY_MALFORMED, POLICY_COUNTER_ALIAS);
    is_at_fault(record_of(9, 8, 4, 5, 0), POLICY_MALFORMED, POLICY_COUNTER_ALIAS);
    ck_assert_uint_eq(reserve(record_of(0, 5, 5, 5, 0)).bytes, 5);
}
END_TEST

START_TEST(an_absent_counter_is_never_zero)
{
    size_t needed_count = 0;
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++) {
        if (policy_counter_rows[i].role == POLICY_ROLE_METADATA)
            continue;
        struct policy_record record = record_of(90, 56, 2, 0, 131072);
        record.is_known[i] = false;
        is_at_fault(record, POLICY_MALFORMED, i);
        needed_count++;
    }
    ck_assert_uint_eq(needed_count, 9);
}
END_TEST

START_TEST(memory_of_the_host_is_refused_in_each_of_its_four_counters)
{
    size_t host_count = 0;
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++) {
        if (policy_counter_rows[i].role != POLICY_ROLE_HOST)
            continue;
        struct policy_record record = record_of(90, 56, 2, 0, 131072);
        record.bytes[i] = 1;
        is_at_fault(record, POLICY_MALFORMED, i);
        ck_assert_ptr_nonnull(
            strstr(fault_of(record).sentence,
                   "mixed host/default allocation spaces are unsupported"));
        host_count++;
    }
    ck_assert_uint_eq(host_count, 4);
}
END_TEST

START_TEST(generated_code_is_not_part_of_a_reservation)
{
    struct policy_record record = record_of(5, 0, 0, 0, 0);
    ck_assert_uint_eq(reserve(record).bytes, 5);
    static const enum policy_counter codes[] = {POLICY_COUNTER_CODE,
                                                POLICY_COUNTER_HOST_CODE};
    for (size_t i = 0; i < 2; i++) {
        record.bytes[codes[i]] = 1000000;
        record.is_known[codes[i]] = true;
    }
    ck_assert_uint_eq(reserve(record).bytes, 5);
}
END_TEST

START_TEST(a_sum_beyond_64_bits_is_an_arithmetic_refusal)
{
    is_at_fault(record_of(0, UINT64_MAX, 1, 0, 0), POLICY_SIZE_OVERFLOW,
                POLICY_COUNTER_OUTPUT);
    is_at_fault(record_of(0, 1, 1, 0, UINT64_MAX - 1), POLICY_SIZE_OVERFLOW,
                POLICY_COUNTER_TEMP);
    is_at_fault(record_of(0, UINT64_MAX, UINT64_MAX, 0, UINT64_MAX), POLICY_SIZE_OVERFLOW,
                POLICY_COUNTER_OUTPUT);
    /* A request is a multiple of 256, and the last multiple lies below this. */
    is_at_fault(record_of(0, 0, 0, 0, UINT64_MAX), POLICY_SIZE_OVERFLOW,
                POLICY_COUNTER_TEMP);
}
END_TEST

START_TEST(a_sum_of_exactly_64_bits_is_reserved)
{
    ck_assert_uint_eq(reserve(record_of(UINT64_MAX, 0, 0, 0, 0)).bytes, UINT64_MAX);
    ck_assert_uint_eq(reserve(record_of(0, UINT64_MAX - 1, 1, 0, 0)).bytes, UINT64_MAX);
    ck_assert_uint_eq(reserve(record_of(0, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0)).bytes,
                      UINT64_MAX);
}
END_TEST

START_TEST(devices_are_paired_before_the_maximum)
{
    struct policy_reservation most = reserve(record_of(20, 100, 100, 100, 0));
    struct policy_reservation other = reserve(record_of(10, 20, 20, 0, 90));
    policy_reservation_widen(&most, &other);
    /* Maxima of single counters would give 100 + 100 - 100 + 90 = 190. */
    ck_assert_uint_eq(most.bytes, 130);
    ck_assert_uint_eq(most.peak_bytes, 20);
    ck_assert_uint_eq(most.largest_request_bytes, 256);
    struct policy_reservation reversed = reserve(record_of(10, 20, 20, 0, 90));
    other = reserve(record_of(20, 100, 100, 100, 0));
    policy_reservation_widen(&reversed, &other);
    ck_assert_mem_eq(&reversed, &most, sizeof most);
}
END_TEST

START_TEST(programs_resident_together_add_up)
{
    struct policy_reservation sum = {0};
    struct policy_reservation first = reserve(record_of(20, 100, 100, 100, 0));
    struct policy_reservation second = reserve(record_of(10, 20, 20, 0, 300));
    ck_assert(policy_reservation_add(&sum, &first));
    ck_assert(policy_reservation_add(&sum, &second));
    ck_assert_uint_eq(sum.bytes, 440);
    ck_assert_uint_eq(sum.peak_bytes, 30);
    /* They ask one after the other. */
    ck_assert_uint_eq(sum.largest_request_bytes, 512);
}
END_TEST

START_TEST(programs_that_add_up_beyond_64_bits_are_refused_and_change_nothing)
{
    struct policy_reservation sum = {.bytes = UINT64_MAX, .peak_bytes = 7};
    struct policy_reservation before = sum;
    struct policy_reservation one = {.bytes = 1, .largest_request_bytes = 9};
    ck_assert(!policy_reservation_add(&sum, &one));
    ck_assert_mem_eq(&sum, &before, sizeof sum);
    struct policy_reservation peak = {.bytes = 0, .peak_bytes = UINT64_MAX};
    ck_assert(!policy_reservation_add(&sum, &peak));
    ck_assert_mem_eq(&sum, &before, sizeof sum);
}
END_TEST

START_TEST(a_bare_total_is_its_own_peak_and_says_nothing_of_pieces)
{
    struct policy_reservation reservation = policy_reservation_of_total(226492416);
    ck_assert_uint_eq(reservation.bytes, 226492416);
    ck_assert_uint_eq(reservation.peak_bytes, 226492416);
    ck_assert_uint_eq(reservation.largest_request_bytes, 0);
}
END_TEST

SUITE_MAIN("policy/reservation", the_greater_of_peak_and_allocation_is_reserved,
           the_numbers_of_a_real_v100_program_agree_to_the_byte,
           every_sum_of_small_counters_agrees_with_the_formula,
           aliases_are_part_of_both_arguments_and_outputs,
           an_absent_counter_is_never_zero,
           memory_of_the_host_is_refused_in_each_of_its_four_counters,
           generated_code_is_not_part_of_a_reservation,
           a_sum_beyond_64_bits_is_an_arithmetic_refusal,
           a_sum_of_exactly_64_bits_is_reserved, devices_are_paired_before_the_maximum,
           programs_resident_together_add_up,
           programs_that_add_up_beyond_64_bits_are_refused_and_change_nothing,
           a_bare_total_is_its_own_peak_and_says_nothing_of_pieces)

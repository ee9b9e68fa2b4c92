/* Defends: what is charged never exceeds the ceiling, whoever races whom; of two requests
   of which one fits exactly one is granted; a refusal changes nothing and its numbers add
   up; after all refunds the account is at exactly zero. */
#include "policy/ledger.h"

#include <stdatomic.h>
#include <string.h>

#include "tests/suite.h"

static const struct policy_ceiling hundred = {.bytes = 100};
static const struct policy_ceiling unbudgeted = {.bytes = UINT64_MAX};

static uint64_t peak_of(const struct policy_ledger_account *account)
{
    return atomic_load_explicit(&account->peak_bytes, memory_order_relaxed);
}

static uint64_t refusals_of(const struct policy_ledger_account *account)
{
    return atomic_load_explicit(&account->refusals, memory_order_relaxed);
}

/* Charges what must be admitted. */
static void charge(struct policy_ledger_account *account,
                   const struct policy_ceiling *ceiling, uint64_t bytes)
{
    struct policy_verdict verdict = policy_ledger_charge(account, ceiling, bytes);
    ck_assert_int_eq(verdict.kind, POLICY_ADMITTED);
    ck_assert_uint_eq(verdict.asked_bytes, bytes);
    ck_assert_uint_eq(verdict.reserved_bytes, bytes);
    ck_assert_uint_eq(verdict.limit_bytes, ceiling->bytes);
    ck_assert_uint_eq(verdict.short_bytes, 0);
}

START_TEST(charges_up_to_the_last_byte_of_the_ceiling_are_admitted)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 99);
    charge(&account, &hundred, 1);
    ck_assert_uint_eq(policy_ledger_charged(&account), 100);
    ck_assert_uint_eq(refusals_of(&account), 0);
}
END_TEST

START_TEST(one_byte_past_the_ceiling_is_refused_with_the_shortfall)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 60);
    struct policy_verdict verdict = policy_ledger_charge(&account, &hundred, 41);
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_eq(verdict.asked_bytes, 41);
    ck_assert_uint_eq(verdict.reserved_bytes, 41);
    ck_assert_uint_eq(verdict.held_bytes, 60);
    ck_assert_uint_eq(verdict.limit_bytes, 100);
    ck_assert_uint_eq(verdict.short_bytes, 1);
}
END_TEST

START_TEST(a_refusal_changes_nothing_but_its_count)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 60);
    (void)policy_ledger_charge(&account, &hundred, 41);
    (void)policy_ledger_charge(&account, &hundred, UINT64_MAX);
    ck_assert_uint_eq(policy_ledger_charged(&account), 60);
    ck_assert_uint_eq(peak_of(&account), 60);
    ck_assert_uint_eq(refusals_of(&account), 2);
    charge(&account, &hundred, 40);
}
END_TEST

START_TEST(a_try_charges_alike_and_counts_no_refusal)
{
    struct policy_ledger_account account = {0};
    ck_assert_int_eq(policy_ledger_try(&account, &hundred, 60).kind, POLICY_ADMITTED);
    struct policy_verdict verdict = policy_ledger_try(&account, &hundred, 41);
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_eq(verdict.held_bytes, 60);
    ck_assert_uint_eq(verdict.short_bytes, 1);
    ck_assert_uint_eq(policy_ledger_charged(&account), 60);
    ck_assert_uint_eq(refusals_of(&account), 0);
    policy_ledger_refuse(&account);
    ck_assert_uint_eq(refusals_of(&account), 1);
}
END_TEST

START_TEST(a_refund_of_more_than_is_charged_can_be_tried)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 10);
    ck_assert(!policy_ledger_try_refund(&account, 11));
    ck_assert_uint_eq(policy_ledger_charged(&account), 10);
    ck_assert(policy_ledger_try_refund(&account, 10));
    ck_assert_uint_eq(policy_ledger_charged(&account), 0);
}
END_TEST

START_TEST(what_is_forced_counts_past_the_ceiling)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 90);
    policy_ledger_force(&account, 20);
    ck_assert_uint_eq(policy_ledger_charged(&account), 110);
    ck_assert_uint_eq(peak_of(&account), 110);
    struct policy_verdict verdict = policy_ledger_charge(&account, &hundred, 1);
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_eq(verdict.short_bytes, 11);
    policy_ledger_refund(&account, 20);
    charge(&account, &hundred, 10);
}
END_TEST

START_TEST(a_sum_beyond_64_bits_is_refused_as_an_overflow)
{
    struct policy_ledger_account account = {0};
    charge(&account, &unbudgeted, 60);
    struct policy_verdict verdict =
        policy_ledger_charge(&account, &unbudgeted, UINT64_MAX);
    ck_assert_int_eq(verdict.kind, POLICY_SIZE_OVERFLOW);
    ck_assert_uint_eq(verdict.held_bytes, 60);
    ck_assert_uint_eq(verdict.short_bytes, 60);
    verdict = policy_ledger_charge(&account, &hundred, UINT64_MAX);
    ck_assert_int_eq(verdict.kind, POLICY_SIZE_OVERFLOW);
    ck_assert_uint_eq(verdict.short_bytes, UINT64_MAX - 40);
    ck_assert_uint_eq(policy_ledger_charged(&account), 60);
}
END_TEST

START_TEST(an_unbudgeted_account_counts_up_to_64_bits)
{
    struct policy_ledger_account account = {0};
    charge(&account, &unbudgeted, UINT64_MAX);
    ck_assert_uint_eq(policy_ledger_charged(&account), UINT64_MAX);
    policy_ledger_refund(&account, UINT64_MAX);
    ck_assert_uint_eq(policy_ledger_charged(&account), 0);
}
END_TEST

START_TEST(a_ceiling_below_what_is_held_admits_nothing_more)
{
    struct policy_ledger_account account = {0};
    charge(&account, &unbudgeted, 150);
    struct policy_verdict verdict = policy_ledger_charge(&account, &hundred, 1);
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_eq(verdict.short_bytes, 51);
}
END_TEST

START_TEST(the_peak_stays_where_the_charge_was_highest)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 70);
    policy_ledger_refund(&account, 30);
    charge(&account, &hundred, 20);
    ck_assert_uint_eq(peak_of(&account), 70);
    charge(&account, &hundred, 20);
    ck_assert_uint_eq(peak_of(&account), 80);
}
END_TEST

static void refund_more_than_charged(void)
{
    struct policy_ledger_account account = {0};
    charge(&account, &hundred, 10);
    policy_ledger_refund(&account, 11);
}

START_TEST(a_refund_of_more_than_is_charged_traps)
{
    ck_assert(suite_traps(refund_more_than_charged));
}
END_TEST

enum {
    CHURN_THREADS = 4,
    CHURN_STEPS = 50000,
    CHURN_SLOTS = 8,
    CHURN_BYTES_MAX = 40,
};

struct churn {
    struct policy_ledger_account account;
    _Atomic uint64_t refusals_seen;
};

/* Xorshift: a sequence of its own for each thread, the same in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void refusal_adds_up(struct policy_verdict verdict)
{
    ck_assert_int_eq(verdict.kind, POLICY_OVER_CEILING);
    ck_assert_uint_le(verdict.held_bytes, verdict.limit_bytes);
    ck_assert_uint_eq(verdict.held_bytes + verdict.reserved_bytes,
                      verdict.limit_bytes + verdict.short_bytes);
}

/* Puts a charge of random size into the slot; 0 when it was refused. */
static void churn_charge(struct churn *churn, uint64_t *slot, uint64_t bytes)
{
    struct policy_verdict verdict =
        policy_ledger_charge(&churn->account, &hundred, bytes);
    if (verdict.kind == POLICY_ADMITTED) {
        *slot = bytes;
        return;
    }
    refusal_adds_up(verdict);
    atomic_fetch_add_explicit(&churn->refusals_seen, 1, memory_order_relaxed);
}

static void churn_refund(struct churn *churn, uint64_t *slot)
{
    policy_ledger_refund(&churn->account, *slot);
    *slot = 0;
}

static void churn_body(unsigned index, void *shared)
{
    struct churn *churn = shared;
    uint64_t random = index + 1;
    uint64_t slots[CHURN_SLOTS] = {0};
    for (unsigned step = 0; step < CHURN_STEPS; step++) {
        uint64_t *slot = &slots[next_random(&random) % CHURN_SLOTS];
        if (*slot > 0)
            churn_refund(churn, slot);
        else
            churn_charge(churn, slot, 1 + next_random(&random) % CHURN_BYTES_MAX);
        ck_assert_uint_le(policy_ledger_charged(&churn->account), hundred.bytes);
    }
    for (size_t i = 0; i < CHURN_SLOTS; i++)
        churn_refund(churn, &slots[i]);
}

START_TEST(threads_never_pass_the_ceiling_and_end_at_exactly_zero)
{
    struct churn churn = {0};
    suite_run_threads(CHURN_THREADS, churn_body, &churn);
    ck_assert_uint_eq(policy_ledger_charged(&churn.account), 0);
    ck_assert_uint_le(peak_of(&churn.account), hundred.bytes);
    ck_assert_uint_gt(peak_of(&churn.account), hundred.bytes - CHURN_BYTES_MAX);
    ck_assert_uint_eq(refusals_of(&churn.account),
                      atomic_load_explicit(&churn.refusals_seen, memory_order_relaxed));
    ck_assert_uint_gt(refusals_of(&churn.account), 0);
}
END_TEST

enum { RACE_THREADS = 2, RACE_ROUNDS = 20000 };

struct race {
    _Atomic unsigned arrived_count;
    _Atomic unsigned granted_counts[RACE_ROUNDS];
    struct policy_ledger_account accounts[RACE_ROUNDS];
};

/* Both racers leave together, spinning: one that must be woken would come too late. */
static void race_meet(struct race *race, unsigned round)
{
    unsigned all_count = (round + 1) * RACE_THREADS;
    atomic_fetch_add_explicit(&race->arrived_count, 1, memory_order_acq_rel);
    for (unsigned spins = 1;
         atomic_load_explicit(&race->arrived_count, memory_order_acquire) < all_count;
         spins++)
        if (spins % 1024 == 0)
            sched_yield();
}

static void race_body(unsigned index, void *shared)
{
    struct race *race = shared;
    (void)index;
    for (unsigned round = 0; round < RACE_ROUNDS; round++) {
        race_meet(race, round);
        struct policy_verdict verdict =
            policy_ledger_charge(&race->accounts[round], &hundred, 60);
        if (verdict.kind == POLICY_ADMITTED)
            atomic_fetch_add_explicit(&race->granted_counts[round], 1,
                                      memory_order_relaxed);
        else
            refusal_adds_up(verdict);
    }
}

START_TEST(of_two_that_ask_60_of_100_exactly_one_is_granted)
{
    static struct race race;
    suite_run_threads(RACE_THREADS, race_body, &race);
    for (size_t i = 0; i < RACE_ROUNDS; i++) {
        ck_assert_uint_eq(
            atomic_load_explicit(&race.granted_counts[i], memory_order_relaxed), 1);
        ck_assert_uint_eq(policy_ledger_charged(&race.accounts[i]), 60);
        ck_assert_uint_eq(peak_of(&race.accounts[i]), 60);
        ck_assert_uint_eq(refusals_of(&race.accounts[i]), 1);
    }
}
END_TEST

SUITE_MAIN("policy/ledger", charges_up_to_the_last_byte_of_the_ceiling_are_admitted,
           one_byte_past_the_ceiling_is_refused_with_the_shortfall,
           a_refusal_changes_nothing_but_its_count,
           a_try_charges_alike_and_counts_no_refusal,
           a_refund_of_more_than_is_charged_can_be_tried,
           what_is_forced_counts_past_the_ceiling,
           a_sum_beyond_64_bits_is_refused_as_an_overflow,
           an_unbudgeted_account_counts_up_to_64_bits,
           a_ceiling_below_what_is_held_admits_nothing_more,
           the_peak_stays_where_the_charge_was_highest,
           a_refund_of_more_than_is_charged_traps,
           threads_never_pass_the_ceiling_and_end_at_exactly_zero,
           of_two_that_ask_60_of_100_exactly_one_is_granted)

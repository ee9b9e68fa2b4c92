#include "policy/ledger.h"

#include <stdbool.h>

#include "policy/admit.h"
#include "policy/must.h"

/* Memory order

   A. charged_bytes, refund -> charge. A refund releases and a successful charge acquires,
   so whoever is granted room sees the free that made it, whatever the driver's own locks
   do. Charges and refunds between the two are read-modify-writes: they continue the
   release sequence, so the edge holds over any number of them. A charge need not release:
   its refund follows it the way the address reached whoever frees it.

   B. charged_bytes, reading. The first load of a charge and a failed exchange are
   relaxed: an admission is only proposed on their value, and confirmed by the exchange. A
   refusal rests on it alone, but it is a value that the account had, and not older than
   any refund the caller could know of: coherence of one location gives both. A report
   reads a number that is old once it is read, with nothing behind it.

   C. peak_bytes. The number is the whole message, and a maximum does not depend on the
   order of its updates. A reader may meet a charge before the peak that it sets.

   D. refusals. A count on which nothing is decided. */

/* Who loads before it exchanges would fetch the line twice, once to read and once to write, when
   another processor has it. A hint: processors without it do nothing. */
static uint64_t load_to_change(_Atomic uint64_t *number)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*number));
#endif
    return atomic_load_explicit(number, memory_order_relaxed); /* B */
}

/* Replaces *held_bytes by `total_bytes`, unless the account has moved on or the exchange
   failed spuriously; then *held_bytes is what the account has now. */
static bool commit(struct policy_ledger_account *account, uint64_t *held_bytes,
                   uint64_t total_bytes)
{
    return atomic_compare_exchange_weak_explicit(
        &account->charged_bytes, held_bytes, total_bytes, memory_order_acquire, /* A */
        memory_order_relaxed);                                                  /* B */
}

/* Ends, since the exchange fails only when another thread has changed the peak, which
   only rises and has a top, or spuriously. */
static void raise_peak(struct policy_ledger_account *account, uint64_t bytes)
{
    uint64_t peak =
        atomic_load_explicit(&account->peak_bytes, memory_order_relaxed); /* C */
    while (peak < bytes) {
        if (atomic_compare_exchange_weak_explicit(&account->peak_bytes, &peak, bytes,
                                                  memory_order_relaxed,  /* C */
                                                  memory_order_relaxed)) /* C */
            return;
    }
}

struct policy_verdict policy_ledger_try(struct policy_ledger_account *account,
                                        const struct policy_ceiling *ceiling,
                                        uint64_t bytes)
{
    struct policy_verdict verdict;
    uint64_t held = load_to_change(&account->charged_bytes);
    /* Lock-free: whenever one thread goes round again, another's charge or refund went
       through. */
    do {
        verdict = policy_admit_bytes(held, bytes, ceiling->bytes);
        if (verdict.kind != POLICY_ADMITTED)
            return verdict;
    } while (!commit(account, &held, held + bytes));
    raise_peak(account, held + bytes);
    return verdict;
}

void policy_ledger_refuse(struct policy_ledger_account *account)
{
    atomic_fetch_add_explicit(&account->refusals, 1, memory_order_relaxed); /* D */
}

struct policy_verdict policy_ledger_charge(struct policy_ledger_account *account,
                                           const struct policy_ceiling *ceiling,
                                           uint64_t bytes)
{
    struct policy_verdict verdict = policy_ledger_try(account, ceiling, bytes);
    if (verdict.kind != POLICY_ADMITTED)
        policy_ledger_refuse(account);
    return verdict;
}

void policy_ledger_force(struct policy_ledger_account *account, uint64_t bytes)
{
    uint64_t held = atomic_fetch_add_explicit(&account->charged_bytes, bytes,
                                              memory_order_acquire); /* A */
    must(bytes <= UINT64_MAX - held);
    raise_peak(account, held + bytes);
}

void policy_ledger_refund(struct policy_ledger_account *account, uint64_t bytes)
{
    uint64_t held = atomic_fetch_sub_explicit(&account->charged_bytes, bytes,
                                              memory_order_release); /* A */
    must(bytes <= held);
}

bool policy_ledger_try_refund(struct policy_ledger_account *account, uint64_t bytes)
{
    uint64_t held = load_to_change(&account->charged_bytes);
    /* Lock-free, as a charge is. */
    do {
        if (bytes > held)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &account->charged_bytes, &held, held - bytes, memory_order_release, /* A */
        memory_order_relaxed));                                             /* B */
    return true;
}

uint64_t policy_ledger_charged(const struct policy_ledger_account *account)
{
    return atomic_load_explicit(&account->charged_bytes, memory_order_relaxed); /* B */
}

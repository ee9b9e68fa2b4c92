/* What is charged against one ceiling, in this process. Admission is evaluated inside the
   charge, so of two racing requests of which one fits exactly one is granted.

   Threads: any number may call any function on one account at once.

              charge  refund  read
      charge    -       -      -       (- : may run at the same time)
      refund    -       -      - */
#ifndef POLICY_LEDGER_H
#define POLICY_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/ceiling.h"
#include "policy/checked.h"
#include "policy/verdict.h"

/* All fields start at 0. */
struct policy_ledger_account {
    _Atomic uint64_t charged_bytes; /* what counts against the ceiling now */
    _Atomic uint64_t peak_bytes;    /* the most that charged_bytes has been */
    _Atomic uint64_t refusals;      /* requests that were not admitted */
};

/* Charges `bytes` if what is charged then stays within the ceiling. Not admitted: nothing
   has changed but the count of refusals. The verdict's asked_bytes and reserved_bytes are
   both `bytes`. */
struct policy_verdict policy_ledger_charge(struct policy_ledger_account *account,
                                           const struct policy_ceiling *ceiling,
                                           uint64_t bytes);

/* The same, for who can still make room and ask again: what is not admitted is no refusal yet,
   and is not counted. */
struct policy_verdict policy_ledger_try(struct policy_ledger_account *account,
                                        const struct policy_ceiling *ceiling,
                                        uint64_t bytes);

/* Counts a refusal. */
void policy_ledger_refuse(struct policy_ledger_account *account);

/* Charges `bytes` whatever the ceiling says, for what cannot be done without. A sum that cannot be
   represented is a bug of ours and traps. */
void policy_ledger_force(struct policy_ledger_account *account, uint64_t bytes);

/* Takes `bytes`, charged before, off the account. More than is charged is a bug of ours
   and traps. */
void policy_ledger_refund(struct policy_ledger_account *account, uint64_t bytes);

/* The same for a caller who may err: false, and nothing changed, for more than is charged. */
POLICY_MUST_CHECK bool policy_ledger_try_refund(struct policy_ledger_account *account,
                                                uint64_t bytes);

/* Charged bytes, now. */
uint64_t policy_ledger_charged(const struct policy_ledger_account *account);

#endif

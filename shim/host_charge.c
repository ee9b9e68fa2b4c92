#include "shim/host_charge.h"

#include "shim/host_account.h"

/* Memory order: extent_bytes says how much of the account is jemalloc's. It is only compared with
   itself; the account's own edges order the memory (policy/ledger.c). */

bool shim_host_charging;

static _Atomic size_t extent_bytes;

/* The last charge of this thread that was refused; POLICY_ADMITTED: none since it was told. */
static __thread struct policy_verdict refusal;

void shim_host_charge_open(void)
{
    shim_host_charging =
        shim_host_account(SHIM_HOST_HEAP)->ceiling.source != POLICY_CEILING_UNBUDGETED;
}

bool shim_host_charge(size_t bytes)
{
    struct shim_host_account *heap = shim_host_account(SHIM_HOST_HEAP);
    refusal = policy_ledger_try(&heap->account, &heap->ceiling, bytes);
    return refusal.kind == POLICY_ADMITTED;
}

void shim_host_refund(size_t bytes)
{
    policy_ledger_refund(&shim_host_account(SHIM_HOST_HEAP)->account, bytes);
}

bool shim_host_charge_extent(size_t bytes)
{
    if (!shim_host_charge(bytes))
        return false;
    atomic_fetch_add_explicit(&extent_bytes, bytes, memory_order_relaxed);
    return true;
}

void shim_host_force_extent(size_t bytes)
{
    policy_ledger_force(&shim_host_account(SHIM_HOST_HEAP)->account, bytes);
    atomic_fetch_add_explicit(&extent_bytes, bytes, memory_order_relaxed);
    refusal.kind = POLICY_ADMITTED;
}

void shim_host_refund_extent(size_t bytes)
{
    size_t held = atomic_load_explicit(&extent_bytes, memory_order_relaxed), part;
    do
        part = bytes < held ? bytes : held;
    while (!atomic_compare_exchange_weak_explicit(
        &extent_bytes, &held, held - part, memory_order_relaxed, memory_order_relaxed));
    shim_host_refund(part);
}

bool shim_host_charge_was_refused(void)
{
    return refusal.kind != POLICY_ADMITTED;
}

bool shim_host_charge_take_refusal(struct policy_verdict *verdict)
{
    if (!shim_host_charge_was_refused())
        return false;
    *verdict = refusal;
    refusal.kind = POLICY_ADMITTED;
    return true;
}

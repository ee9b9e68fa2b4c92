#include "pool/device_accounts.h"

/* Memory order
   [A] All are figures: of two threads that look at once each may miss what the other did, and
       a block is kept or goes that would otherwise have gone or been kept. Who owns a block is
       not decided here. That idle_bytes never falls below nothing follows from the order in
       which a block's owners come: each adds before the bin's release and subtracts after its
       acquire.

   [B] is_open. Stored with release when the rest is set, and read with acquire. */

static uint64_t get(const _Atomic uint64_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed); /* A */
}

static void set(_Atomic uint64_t *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed); /* A */
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Two figures that are read one after the other need not belong together. */
static uint64_t difference(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Some slack, for sizes that vary: without any, twice as many requests miss. */
static uint64_t limit_for(uint64_t needed)
{
    return needed + needed / 24;
}

/* Under the lock. What was refused bounds what may be idle beside what is needed. */
static void set_limits(struct pool_device_account *account)
{
    uint64_t needed = most(account->needed[0], account->needed[1]);
    uint64_t refused = least(account->refused[0], account->refused[1]);
    uint64_t room = refused == UINT64_MAX ? UINT64_MAX : difference(refused, needed + 1);
    set(&account->limit_bytes, limit_for(needed));
    set(&account->idle_limit_bytes, least(account->retain_bytes, room));
}

/* Under the lock, and before what is held changes: since it last did, claims alone have
   raised what is live. */
static void note_need(struct pool_device_account *account)
{
    uint64_t live = difference(get(&account->held_bytes), get(&account->low_bytes));
    account->needed[0] = most(account->needed[0], live);
    set(&account->low_bytes, get(&account->idle_bytes));
}

void pool_device_account_open(struct pool_device_account *account, uint64_t retain_bytes)
{
    account->retain_bytes = retain_bytes;
    account->refused[0] = account->refused[1] = UINT64_MAX;
    set_limits(account);
    atomic_store_explicit(&account->is_open, true, memory_order_release); /* B */
}

/* What is needed while so much is held. What a device may still use is needed as well, but for no
   more than is live: a program that rarely synchronises would hold memory without end. */
static uint64_t needed_of(const struct pool_device_account *account, uint64_t held_bytes,
                          uint64_t unready_bytes)
{
    uint64_t live = difference(held_bytes, get(&account->idle_bytes));
    return live + least(live, unready_bytes);
}

void pool_device_account_add(struct pool_device_account *account, uint64_t bytes,
                             uint64_t unready_bytes)
{
    bool locked = pool_lock_take(&account->lock);
    if (locked)
        note_need(account);
    uint64_t held = bytes + atomic_fetch_add_explicit(&account->held_bytes, bytes,
                                                      memory_order_relaxed); /* A */
    if (!locked)
        return;
    account->needed[0] =
        most(account->needed[0], needed_of(account, held, unready_bytes));
    set(&account->most_bytes, most(get(&account->most_bytes), held));
    set_limits(account);
    pool_lock_give(&account->lock);
}

uint64_t pool_device_account_excess(struct pool_device_account *account, uint64_t bytes,
                                    uint64_t unready_bytes)
{
    uint64_t held = get(&account->held_bytes) + bytes;
    uint64_t limit = limit_for(needed_of(account, held, unready_bytes));
    return difference(held, most(limit, get(&account->limit_bytes)));
}

void pool_device_account_drop(struct pool_device_account *account, uint64_t bytes)
{
    bool locked = pool_lock_take(&account->lock);
    if (locked)
        note_need(account);
    atomic_fetch_sub_explicit(&account->held_bytes, bytes, memory_order_relaxed); /* A */
    if (!locked)
        return;
    set_limits(account);
    pool_lock_give(&account->lock);
}

void pool_device_account_take(struct pool_device_account *account, uint64_t bytes)
{
    bool locked = pool_lock_take(&account->lock);
    if (locked)
        note_need(account);
    atomic_fetch_sub_explicit(&account->held_bytes, bytes, memory_order_relaxed); /* A */
    uint64_t idle = atomic_fetch_sub_explicit(&account->idle_bytes, bytes,
                                              memory_order_relaxed); /* A */
    if (!locked)
        return;
    set(&account->low_bytes, idle - bytes);
    set_limits(account);
    pool_lock_give(&account->lock);
}

void pool_device_account_refused(struct pool_device_account *account, uint64_t bytes)
{
    uint64_t total = get(&account->held_bytes) + bytes;
    if (!pool_lock_take(&account->lock))
        return;
    account->refused[0] = least(account->refused[0], total);
    set_limits(account);
    pool_lock_give(&account->lock);
}

void pool_device_account_age(struct pool_device_account *account)
{
    if (!pool_lock_take(&account->lock))
        return;
    note_need(account);
    account->needed[1] = account->needed[0];
    account->needed[0] = difference(get(&account->held_bytes), get(&account->idle_bytes));
    account->refused[1] = account->refused[0];
    account->refused[0] = UINT64_MAX;
    set_limits(account);
    pool_lock_give(&account->lock);
}

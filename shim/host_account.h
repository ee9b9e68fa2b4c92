/* Host memory that a ceiling may limit, once for the whole process: page-locked memory, and
   the memory that serves malloc. Each has an account of its own; what is charged to one is
   never charged to the other. A child of fork starts with its parent's charges, since it
   starts with its memory. */
#ifndef SHIM_HOST_ACCOUNT_H
#define SHIM_HOST_ACCOUNT_H

#include <stddef.h>

#include "policy/ledger.h"
#include "policy/options.h"
#include "pool/stats.h"

enum shim_host_kind {
    SHIM_HOST_PINNED, /* allocated or registered page-locked, in bytes that the driver locks */
    SHIM_HOST_HEAP, /* memory that has entered the heap */
    SHIM_HOST_KINDS
};

struct shim_host_account {
    const char *name;              /* "page-locked memory" */
    enum policy_option_id option;  /* that the ceiling comes from */
    struct policy_ceiling ceiling; /* written once, by shim_host_account_open() */
    struct policy_ledger_account account;
};

/* Resolves both ceilings. Called once, while the settings are read; asks how much memory there
   is only where a ceiling was requested. */
void shim_host_account_open(const struct policy_options *options);

/* A ceiling that was requested cannot be kept, by this reason: says so, and lifts it.
   Before any other thread has seen the account. */
void shim_host_account_void(enum shim_host_kind kind, const char *reason);

/* Never NULL. Where nothing was requested it is unbudgeted: it counts and refuses nothing. */
struct shim_host_account *shim_host_account(enum shim_host_kind kind);

/* Fills `stats` with the accounts that are limited or were used; returns how many. */
size_t shim_host_account_report(struct pool_host_stats stats[SHIM_HOST_KINDS]);

#endif

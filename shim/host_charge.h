/* What the heap holds, charged to SHIM_HOST_HEAP as it enters and refunded as it leaves; no call
   of malloc is charged. Counted are the memory of retained blocks, handed out or idle, by their
   capacity, and the pages that jemalloc makes usable for extents. Not counted are address space
   and the records of either, which headroom is for. All of it is off, and costs nothing, unless
   TIDEMARK_HEAP_MEM asks for a ceiling. Charged, but never refused, is the cache that jemalloc
   has for each thread, some 20 KiB: it cannot do without.

   Charges are made below an allocation and under locks, where nothing of ours can be given back:
   the hook that gets no memory makes room and asks again. */
#ifndef SHIM_HOST_CHARGE_H
#define SHIM_HOST_CHARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/verdict.h"

/* Whether there is a ceiling on the heap. Written once, by shim_host_charge_open(). */
extern bool shim_host_charging __attribute__((visibility("hidden")));

/* Turns charging on where the heap has a ceiling. Called once, before memory enters. */
void shim_host_charge_open(void);

/* For retained blocks, as pool/source.h has it. */
bool shim_host_charge(size_t bytes);
void shim_host_refund(size_t bytes);

/* For extents. A jemalloc of another version may give back what it never asked for: no more is
   refunded than extents were charged. */
bool shim_host_charge_extent(size_t bytes);
void shim_host_force_extent(size_t bytes); /* whatever the ceiling says */
void shim_host_refund_extent(size_t bytes);

/* Whether a charge of this thread was refused that nobody has told of. */
bool shim_host_charge_was_refused(void);

/* The same, and takes what was refused. */
bool shim_host_charge_take_refusal(struct policy_verdict *verdict);

#endif

/* Small blocks, in slots of a few sizes that lie side by side in chunks of the address
   space: claimed, returned and found by any address in constant time, however many are
   live. Chunks are kept for good. */
#ifndef SIMCUDA_SLOTS_H
#define SIMCUDA_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/simcuda/block.h"

enum { SIM_SLOT_BYTES_MAX = 512 << 10 };

/* A slot of at least `bytes` (1 to SIM_SLOT_BYTES_MAX), at the start of a page if `paged`.
   Its record has `address` and `slot_class`, and all else is the caller's to write; the
   slot is live, and found, while `bytes` are above 0. NULL when memory is out. */
struct sim_block *sim_slots_claim(uint64_t bytes, bool paged);

void sim_slots_return(struct sim_block *block);

/* The live block that holds `address`, or NULL. */
struct sim_block *sim_slots_find(uint64_t address);

#endif

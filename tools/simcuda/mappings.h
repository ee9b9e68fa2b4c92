/* Memory of a block that has a mapping of its own. A freed one is unmapped at once under
   SIMCUDA_FREED=unmap, so that whoever still uses it crashes; else a few are kept for the
   next block of their size, since a mapping costs more than all else in a call. */
#ifndef SIMCUDA_MAPPINGS_H
#define SIMCUDA_MAPPINGS_H

#include <stdint.h>

/* NULL when memory is out. */
void *sim_mappings_claim(uint64_t bytes);

void sim_mappings_return(void *memory, uint64_t bytes);

#endif

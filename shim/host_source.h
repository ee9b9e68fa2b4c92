/* Memory from the kernel, by the system calls themselves: mmap and friends may be another
   preload's, whose first act is to allocate. Every call is counted. */
#ifndef SHIM_HOST_SOURCE_H
#define SHIM_HOST_SOURCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "pool/source.h"

extern const struct pool_source shim_host_source;

/* The same, charged to the heap's ceiling (host_charge.h). */
extern const struct pool_source shim_host_source_charged;

/* Memory system calls made through it. */
extern _Atomic uint64_t shim_retained_calls;

#endif

/* What the hooks of the malloc family read on every call. Written at the start, by host.c. */
#ifndef SHIM_HOST_STATE_H
#define SHIM_HOST_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/heap.h"

enum shim_host_route {
    SHIM_HOST_UNDECIDED,
    SHIM_HOST_SERVING, /* jemalloc and the retained blocks */
    SHIM_HOST_PASSING, /* whatever would serve without us */
};

struct shim_host_state {
    size_t
        staging_min; /* smallest request for retained blocks; SIZE_MAX: there are none */
    size_t
        direct_min; /* the same for the straight road; SIZE_MAX: requests are recorded */
    bool is_recorded;
    enum shim_host_route route;
    struct pool_heap heap;
};

/* Hidden, so that a hook reads them in one instruction. */
#define SHIM_HOST_HOT extern __attribute__((visibility("hidden")))

SHIM_HOST_HOT struct shim_host_state shim_host;

/* Requests below go straight to jemalloc. 0, so that every call takes the slow road, until
   we serve and jemalloc is ready for it. */
SHIM_HOST_HOT size_t shim_host_ordinary_below;

/* Pointers from here up go straight to jemalloc: no retained block lies there. UINTPTR_MAX,
   so that every call takes the slow road, unless we serve. */
SHIM_HOST_HOT uintptr_t shim_host_retained_end;

#endif

/* Where a call allocates: the context that is current to the calling thread, and its device.
   A context is known by its incarnation and not by its handle, which the driver uses again
   for another context, and a primary context for its next life. */
#ifndef SHIM_PLACE_H
#define SHIM_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/device.h"
#include "shim/driver.h"

enum {
    /* Live at once. Of one more nothing is remembered: its memory is charged, and refunded
       when it is freed, but not by the end of the context. */
    SHIM_PLACE_CONTEXTS_MOST = 256,
    /* Above every incarnation: owners that are not contexts. */
    SHIM_PLACE_OTHER_OWNERS = 1 << 30,
};

struct shim_place {
    struct shim_device *device;
    uint32_t owner; /* the incarnation of the context; 0: not remembered */
    CUcontext handle;
    bool is_only; /* no other incarnation of the context lives */
};

/* False when no context is current, or its device cannot be told. Asks the driver for the
   current context, and for its device where this thread has not met the context before. */
bool shim_place_current(const struct shim_driver *driver, struct shim_place *place);

/* The program asks for the end of a context. Before the driver is called: what is allocated
   from now on belongs to another incarnation. Returns the last incarnation that may end. */
uint32_t shim_place_ending(CUcontext context);

/* After: if it has ended, so have all leases of the incarnations up to `last`, whoever else asked
   for their end meanwhile. */
void shim_place_ended(CUcontext context, uint32_t last, bool ended);

/* A lease of this owner was opened: ends it at once if the owner has ended since the call that
   it is of began, when nobody else would. */
void shim_place_opened(uint32_t owner);

/* The program has made a context: nothing was submitted to it yet. */
void shim_place_created(CUcontext context);

/* The handle of an incarnation that lives; NULL: it does not, or it is ending. */
CUcontext shim_place_handle(uint32_t owner);

/* The incarnations of a context that live, more than one after an end that did not come about;
   how many there are, at most `most`. */
unsigned shim_place_owners(CUcontext context, uint32_t owners[], unsigned most);

/* Somebody else uses a context, too; or no longer: true when its maker, or another, still does. */
void shim_place_attach(CUcontext context);
bool shim_place_detach(CUcontext context);

/* Around a fork. */
void shim_place_fork_prepare(void);
void shim_place_fork_done(void);

#endif

/* Records what each bind costs, when TIDEMARK_BINDS asks for it: readings of the process's and
   the library's counters at the two ends of a bind, kept in memory and written when the program
   ends. A bind is bounded by the staging blocks (from the first that is live to when none is),
   by the calls of one driver function, or by the program's own binds, as soon as it has any.

   Any thread may call anything here, unless it says otherwise. */
#ifndef SHIM_RECORDER_H
#define SHIM_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/bind.h"
#include "shim/init.h"
#include "shim/recorder_calls.h"

/* Called once, while the settings are read. Whether staging requests are to be told. */
bool shim_recorder_open(const struct shim_settings *settings);

/* Around a staging request: before it, and when it was or was not served in place. */
void shim_recorder_claiming(void);
void shim_recorder_claimed(size_t bytes, bool is_served);

/* A retained block was returned. */
void shim_recorder_returned(void);

/* What is told of explicit binds; NULL when nothing is recorded. */
const struct pool_bind_observer *shim_recorder_observer(void);

/* Writes what there is. Called by the one thread that ends the process. */
void shim_recorder_write(const struct shim_settings *settings);

/* Around a fork. A child records only into a file of its own, and nothing of its parent. */
void shim_recorder_fork_prepare(void);
void shim_recorder_fork_done(bool in_child);

#endif

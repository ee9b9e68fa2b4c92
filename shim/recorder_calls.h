/* What a driver hook has to know of the recorder. */
#ifndef SHIM_RECORDER_CALLS_H
#define SHIM_RECORDER_CALLS_H

#include <stdbool.h>

/* Whether calls of the driver bound binds; read before each. */
extern __attribute__((visibility("hidden"))) bool shim_recorder_watches_calls;

/* The hook of this name was called. */
void shim_recorder_called(const char *symbol);

#endif

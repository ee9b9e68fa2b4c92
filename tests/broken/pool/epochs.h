/* The rule of readiness taken out: whatever is idle is handed out. For pool/devices.c in a build
   of the library that only preload_schedules_broken uses, to show that the rule is needed. */
#ifndef TESTS_BROKEN_POOL_EPOCHS_H
#define TESTS_BROKEN_POOL_EPOCHS_H

#include "../../../pool/epochs.h"

#define pool_epochs_ended(epochs, context)   ((void)(epochs), (void)(context), UINT64_MAX)
#define pool_epochs_ended_everywhere(epochs) ((void)(epochs), UINT64_MAX)

#endif

/* The kernels that the simulator has, for tests of what runs when: simcuda.h says what they
   do. */
#ifndef SIMCUDA_PROGRAM_H
#define SIMCUDA_PROGRAM_H

#include <stdbool.h>

#include "tools/simcuda/op.h"

struct sim_program {
    enum sim_program_kind {
        SIM_PROGRAM_NONE,
        SIM_PROGRAM_FILL,
        SIM_PROGRAM_COPY,
        SIM_PROGRAM_HOLD,
        SIM_PROGRAM_UNTIL,
    } kind;
    enum sim_call call; /* of SIM_PROGRAM_UNTIL */
};

/* Whether the image of a module is the simulator's own. */
bool sim_program_is_image(const char *image);

/* False when there is no such kernel. */
bool sim_program_find(const char *name, struct sim_program *program);

/* What a launch does; false when it has no arguments. */
bool sim_program_prepare(const struct sim_program *program, void *const *arguments,
                         struct sim_op *op);

#endif

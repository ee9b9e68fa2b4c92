/* Operations: what a stream, a call or a graph has done with memory. One is checked when it
   is asked for, and again when it is done: what was freed in between is an illegal
   address, as on a device. */
#ifndef SIMCUDA_OP_H
#define SIMCUDA_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/driver_abi.h"
#include "tools/simcuda/entry.h"

struct sim_work;

enum sim_op_kind {
    SIM_OP_NOTHING, /* a point in a stream, or a kernel that is skipped */
    SIM_OP_COPY,
    SIM_OP_FILL,
    SIM_OP_FREE,     /* of stream-ordered memory */
    SIM_OP_HOST,     /* a function of the program */
    SIM_OP_CALLBACK, /* another, that is told the stream and a result */
    SIM_OP_WAIT,     /* for other work */
    SIM_OP_HOLD,     /* until a ticket is released */
    SIM_OP_UNTIL,    /* a call that began later has returned */
};

/* Rows of bytes in slices, from `first` on. */
struct sim_walk {
    uint64_t first;
    uint64_t row_bytes;
    uint64_t slice_bytes;
    bool known; /* lies in memory that the driver knows, which must be live */
};

struct sim_copy {
    struct sim_walk to;
    struct sim_walk from;
    uint64_t width_bytes;
    uint64_t height;
    uint64_t depth;
    bool staged; /* the source is the program's, and may change after the call */
};

/* `height` rows of `row_bytes`, `pitch_bytes` apart, of one value repeated. */
struct sim_fill {
    uint64_t address;
    uint64_t pitch_bytes;
    uint64_t row_bytes;
    uint64_t height;
    unsigned char value[4];
    unsigned value_bytes;
};

struct sim_op {
    enum sim_op_kind kind;
    union {
        struct sim_copy copy;
        struct sim_fill fill;
        struct {
            uint64_t address;
            unsigned long long id; /* of the block, so that no later one is meant */
        } freed;
        struct {
            void (*function)(void *data);
            void *data;
        } host;
        struct {
            void (*function)(CUstream stream, CUresult result, void *data);
            CUstream stream;
            void *data;
        } callback;
        struct sim_work *awaited;
        uint64_t ticket;
        struct {
            enum sim_call call;
            uint64_t begun_count; /* calls that had begun at the launch */
        } until;
    };
};

/* Whether the operation is over as soon as it is its turn. */
bool sim_op_is_quick(const struct sim_op *op);

/* Copies, fills and frees: CUDA_ERROR_ILLEGAL_ADDRESS when memory is not there any more. */
CUresult sim_op_run(const struct sim_op *op);

/* Lets a copy read a packed copy of its source from now on; the caller frees it. NULL when
   memory is out. */
void *sim_op_stage(struct sim_copy *copy);

#endif

/* The simulator's settings, read once from the environment. A value that breaks its rule
   is said on standard error and makes cuInit fail: never a silent default. */
#ifndef SIMCUDA_KNOBS_H
#define SIMCUDA_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/simcuda/faults.h"

enum { SIM_DEVICE_LIMIT = 16 }; /* SIMCUDA_DEVICES at most */

struct sim_delay {
    uint64_t low_us;
    uint64_t high_us;
};

typedef uint64_t sim_knob_BYTES;
typedef int sim_knob_COUNT;
typedef bool sim_knob_SWITCH;
typedef bool sim_knob_FREED;    /* true: unmap */
typedef bool sim_knob_KERNELS;  /* true: skip */
typedef int sim_knob_APPEND;    /* a descriptor; -1: none */
typedef uint64_t sim_knob_COST; /* microseconds */
typedef uint64_t sim_knob_OVERHEAD;
typedef struct sim_delay sim_knob_DELAY;
typedef int sim_knob_VERSION; /* as sim_version */
typedef struct sim_fault_list sim_knob_FAULTS;

struct sim_knobs {
#define KNOB(field, type, initial, environment, rule, help) sim_knob_##type field;
#include "tools/simcuda/knobs.def"
#undef KNOB
};

/* Written once, by sim_knobs_read(). */
extern const struct sim_knobs *const sim_knobs;

/* Reads every knob; before anything else asks for one. */
void sim_knobs_read(void);

/* Whether every SIMCUDA_ name in the environment was a knob with a good value. */
bool sim_knobs_valid(void);

#endif

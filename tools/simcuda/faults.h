/* Calls that fail because a test says so, at an exact call of one name. */
#ifndef SIMCUDA_FAULTS_H
#define SIMCUDA_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/simcuda/entry.h"

enum { SIM_FAULT_LIMIT = 16 };

struct sim_fault_list {
    unsigned count;
    struct {
        enum sim_call call;
        uint64_t nth;    /* from 1 */
        CUresult result; /* CUDA_SUCCESS: the usual one of the list */
    } faults[SIM_FAULT_LIMIT];
};

/* "NAME:N[:CODE][,...]"; the empty text is an empty list. False when it breaks the rule or
   names what is not exported. */
bool sim_faults_parse(const char *text, struct sim_fault_list *list);

/* What the `nth` call of `call` fails with before it does anything; else CUDA_SUCCESS. */
CUresult sim_faults_before(enum sim_call call, uint64_t nth);

/* Breaks the current context if this call is the one after which it is broken. */
void sim_faults_after(enum sim_call call, uint64_t nth);

/* From now on the `nth` call of `call` fails once with `result`. False when there is no
   room for it. */
bool sim_faults_add(enum sim_call call, uint64_t nth, CUresult result);

#endif

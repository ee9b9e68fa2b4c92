/* Handles. A handle is the address of its object; it is looked up among the live ones and
   never followed before, so that a stale or invented handle is an error and not a crash. */
#ifndef SIMCUDA_OBJECT_H
#define SIMCUDA_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "shim/driver_abi.h"

enum sim_kind {
    SIM_CONTEXT,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_FUNCTION,
    SIM_GRAPH,
    SIM_GRAPH_EXEC,
    SIM_POOL
};

/* The first member of every object. */
struct sim_object {
    enum sim_kind kind;
    CUcontext owner;                            /* with whose end it ends; NULL: none */
    void (*dispose)(struct sim_object *object); /* of what it holds; NULL: nothing */
    LIST_ENTRY(sim_object) siblings;            /* among the owner's objects */
};

/* A zeroed object of `bytes` bytes, known from now on; NULL when memory is out. */
void *sim_object_create(enum sim_kind kind, size_t bytes, CUcontext owner);

/* Whether `handle` is a live object of `kind`. */
bool sim_object_is(const void *handle, enum sim_kind kind);

/* Forgets and frees an object. */
void sim_object_destroy(struct sim_object *object);

#endif

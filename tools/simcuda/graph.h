/* Graphs that were captured: operations in an order in which they can be done, and what
   each comes after. */
#ifndef SIMCUDA_GRAPH_H
#define SIMCUDA_GRAPH_H

#include <stdbool.h>

#include "tools/simcuda/object.h"
#include "tools/simcuda/op.h"

/* Some nodes of one graph, by their indices. */
struct sim_frontier {
    unsigned *nodes;
    unsigned count;
};

struct sim_node {
    struct sim_op op;
    struct sim_frontier after;
};

struct CUgraph_st {
    struct sim_object object;
    struct sim_node *nodes;
    unsigned count;
    bool building; /* a capture adds to it: it cannot be destroyed */
};

/* NULL when memory is out. */
CUgraph sim_graph_new(void);

/* Adds a node that comes after *frontier, which then is this node alone. False, with nothing
   changed, when memory is out. */
bool sim_graph_append(CUgraph graph, const struct sim_op *op,
                      struct sim_frontier *frontier);

/* Whether every node comes before one of the frontier, or is in it. False when memory is
   out. */
bool sim_graph_is_joined(CUgraph graph, const struct sim_frontier *frontier);

/* False, with nothing changed, when memory is out. */
bool sim_frontier_add(struct sim_frontier *frontier, const struct sim_frontier *more);

void sim_frontier_drop(struct sim_frontier *frontier);

#endif

#include "tools/simcuda/graph.h"

#include <stdlib.h>
#include <string.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/stream.h"

enum {
    INSTANTIATE_FLAGS = 0xf,
    DEVICE_LAUNCH = 0x4, /* from kernels, which do not run */
};

/* What is launched: a copy, which later changes of the graph do not reach. */
struct CUgraphExec_st {
    struct sim_object object;
    struct sim_op *ops;
    unsigned count;
};

bool sim_frontier_add(struct sim_frontier *frontier, const struct sim_frontier *more)
{
    unsigned *nodes =
        realloc(frontier->nodes, (frontier->count + more->count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return false;
    frontier->nodes = nodes;
    for (unsigned i = 0; i < more->count; i++)
        nodes[frontier->count++] = more->nodes[i];
    return true;
}

void sim_frontier_drop(struct sim_frontier *frontier)
{
    free(frontier->nodes);
    *frontier = (struct sim_frontier){0};
}

static void dispose_graph(struct sim_object *object)
{
    CUgraph graph = (CUgraph)object;
    for (unsigned i = 0; i < graph->count; i++)
        sim_frontier_drop(&graph->nodes[i].after);
    free(graph->nodes);
}

CUgraph sim_graph_new(void)
{
    CUgraph graph = sim_object_create(SIM_GRAPH, sizeof *graph, NULL);
    if (graph != NULL) {
        graph->object.dispose = dispose_graph;
        graph->building = true;
    }
    return graph;
}

bool sim_graph_append(CUgraph graph, const struct sim_op *op,
                      struct sim_frontier *frontier)
{
    struct sim_node *nodes =
        realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes);
    if (nodes == NULL)
        return false;
    graph->nodes = nodes;
    unsigned *alone = malloc(sizeof *alone);
    if (alone == NULL)
        return false;
    *alone = graph->count;
    nodes[graph->count++] = (struct sim_node){.op = *op, .after = *frontier};
    *frontier = (struct sim_frontier){alone, 1};
    return true;
}

bool sim_graph_is_joined(CUgraph graph, const struct sim_frontier *frontier)
{
    unsigned reached_count = 0;
    bool *reached = calloc(graph->count + 1, sizeof *reached);
    if (reached == NULL)
        return false;
    for (unsigned i = 0; i < frontier->count; i++)
        reached[frontier->nodes[i]] = true;
    /* A node comes after nodes of lower indices only. */
    for (unsigned i = graph->count; i-- > 0;) {
        reached_count += reached[i];
        for (unsigned k = 0; reached[i] && k < graph->nodes[i].after.count; k++)
            reached[graph->nodes[i].after.nodes[k]] = true;
    }
    free(reached);
    return reached_count == graph->count;
}

static bool is_graph(CUgraph graph)
{
    return sim_object_is(graph, SIM_GRAPH);
}

CUresult sim_graph_destroy(CUgraph graph)
{
    if (!is_graph(graph) || graph->building)
        return CUDA_ERROR_INVALID_VALUE;
    sim_object_destroy(&graph->object);
    return CUDA_SUCCESS;
}

/* Nodes have no handles: only how many there are can be asked. */
CUresult sim_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    if (!is_graph(graph) || count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (nodes != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    *count = graph->count;
    return CUDA_SUCCESS;
}

static void dispose_exec(struct sim_object *object)
{
    free(((CUgraphExec)object)->ops);
}

CUresult sim_graph_instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    if (exec == NULL || !is_graph(graph) ||
        (flags & ~(unsigned long long)INSTANTIATE_FLAGS) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((flags & DEVICE_LAUNCH) != 0)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUgraphExec created = sim_object_create(SIM_GRAPH_EXEC, sizeof *created, NULL);
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->object.dispose = dispose_exec;
    created->ops = malloc((graph->count + 1) * sizeof *created->ops);
    if (created->ops == NULL) {
        sim_object_destroy(&created->object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (unsigned i = 0; i < graph->count; i++)
        created->ops[i] = graph->nodes[i].op;
    created->count = graph->count;
    *exec = created;
    return CUDA_SUCCESS;
}

/* Before 11040 an error could come with the node and with words about it. */
CUresult sim_graph_instantiate_log(CUgraphExec *exec, CUgraph graph, CUgraphNode *node,
                                   char *log, size_t capacity)
{
    CUresult result = sim_graph_instantiate(exec, graph, 0);
    if (node != NULL)
        *node = NULL;
    if (log != NULL && capacity > 0)
        *log = '\0';
    return result;
}

CUresult sim_graph_instantiate_params(CUgraphExec *exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_graph_instantiate(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = result != CUDA_SUCCESS;
    return result;
}

static CUresult check_launch(CUgraphExec exec, CUstream stream)
{
    if (!sim_object_is(exec, SIM_GRAPH_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_queue *queue = sim_stream_queue(stream);
    if (queue == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* A graph within a graph is not simulated. */
    return queue->capturing.capture != NULL ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult sim_graph_launch(CUgraphExec exec, CUstream stream)
{
    CUresult result = check_launch(exec, stream);
    if (result != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < exec->count && result == CUDA_SUCCESS; i++) {
        struct sim_op op = exec->ops[i];
        if (op.kind == SIM_OP_UNTIL)
            op.until.begun_count = sim_entry_count(op.until.call);
        result = sim_stream_run(stream, &op, false);
    }
    return result;
}

/* There is nothing to prepare. */
CUresult sim_graph_upload(CUgraphExec exec, CUstream stream)
{
    return check_launch(exec, stream);
}

CUresult sim_graph_exec_destroy(CUgraphExec exec)
{
    if (!sim_object_is(exec, SIM_GRAPH_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    sim_object_destroy(&exec->object);
    return CUDA_SUCCESS;
}

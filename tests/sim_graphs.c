/* What a capturing stream is given is not done but repeated by each launch of the graph, with
   the addresses that were given; events carry a capture to other streams. */
#include "tests/sim_capturing.h"

static size_t node_count(CUgraph graph)
{
    size_t count = 0;
    ck_assert_int_eq(sim.cuGraphGetNodes(graph, NULL, &count), CUDA_SUCCESS);
    return count;
}

START_TEST(captured_work_is_done_by_each_launch_and_not_before)
{
    CUgraphExec exec;
    start();
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
    begin(GLOBAL);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    sim_kernel_copy(&kernels, stream, memory + 1, memory, 1);
    ck_assert_int_eq(sim.cuMemsetD8Async(memory, 9, 1, stream), CUDA_SUCCESS);
    CUgraph graph = end(CUDA_SUCCESS);
    ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
    ck_assert_uint_eq(node_count(graph), 2);
    ck_assert_int_eq(sim.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphDestroy(graph), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(memory), 0);
    ck_assert_int_eq(sim.cuMemsetD8_v2(memory, 4, 1), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(memory + 1), 4);
    ck_assert_uint_eq(sim_peek(memory), 9);
    ck_assert_int_eq(sim.cuGraphLaunch_ptsz(exec, NULL), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(memory + 1), 9);
    ck_assert_int_eq(sim.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_launch_waits_its_turn_and_reads_pinned_memory_then)
{
    CUgraphExec exec;
    start();
    unsigned char *pinned = sim_pinned(BYTES);
    pinned[0] = 1;
    begin(THREAD_LOCAL);
    ck_assert_int_eq(sim.cuMemcpyHtoDAsync_v2(memory, pinned, 1, stream), CUDA_SUCCESS);
    CUgraph graph = end(CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0),
                     CUDA_SUCCESS);
    sim_hold(&kernels, stream, 1);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    pinned[0] = 2;
    ck_assert_uint_eq(sim_peek(memory), 0);
    ck_assert_int_eq(sim.release(1), 1);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(memory), 2);
}
END_TEST

START_TEST(a_graph_keeps_the_address_whoever_has_it_later)
{
    CUgraphExec exec;
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.result_out = -1};
    start();
    begin(GLOBAL);
    sim_kernel_fill(&kernels, stream, memory, BYTES, 6);
    CUgraph graph = end(CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphInstantiateWithParams(&exec, graph, &params),
                     CUDA_SUCCESS);
    ck_assert_int_eq(params.result_out, 0);
    ck_assert_int_eq(sim.cuMemFree_v2(memory), CUDA_SUCCESS);
    CUdeviceptr other = sim_allocate(BYTES);
    ck_assert_uint_eq(other, memory);
    ck_assert_int_eq(sim.cuMemsetD8_v2(other, 0, BYTES), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamSynchronize(stream), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(other), 6);
    ck_assert_int_eq(sim.cuMemFree_v2(other), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

START_TEST(events_carry_a_capture_to_other_streams_and_back)
{
    CUgraphExec exec;
    start();
    CUstream other = sim_stream(CU_STREAM_NON_BLOCKING);
    CUevent fork_event = sim_event();
    CUevent join_event = sim_event();
    begin(GLOBAL);
    sim_kernel_fill(&kernels, stream, memory, 1, 1);
    ck_assert_int_eq(sim.cuEventRecord(fork_event, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(other, fork_event, 0), CUDA_SUCCESS);
    sim_kernel_copy(&kernels, other, memory + 1, memory, 1);
    ck_assert_uint_eq(sim_peek(memory + 1), 0);
    ck_assert_int_eq(sim.cuEventRecord(join_event, other), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamWaitEvent(stream, join_event, 0), CUDA_SUCCESS);
    CUgraph graph = end(CUDA_SUCCESS);
    ck_assert_uint_eq(node_count(graph), 2);
    ck_assert_int_eq(sim.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(sim_peek(memory + 1), 1);
    sim_kernel_fill(&kernels, other, memory + 1, 1, 7);
    ck_assert_uint_eq(sim_peek(memory + 1), 7);
}
END_TEST

START_TEST(what_graphs_cannot_hold_here_is_refused_aloud)
{
    CUgraphExec exec;
    CUdeviceptr ordered;
    start();
    begin(RELAXED);
    CUgraph graph = end(CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuGraphInstantiateWithFlags(&exec, graph, 4),
                     CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    begin(RELAXED);
    ck_assert_int_eq(sim.cuGraphLaunch(exec, stream), CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuMemAllocAsync(&ordered, 1, stream), CUDA_ERROR_NOT_SUPPORTED);
    end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(every_form_of_the_question_answers_alike)
{
    CUstreamCaptureStatus states[3] = {-1, -1, -1};
    cuuint64_t ids[3] = {0};
    CUgraph graphs[2];
    size_t count;
    start();
    ck_assert_int_eq(sim.cuStreamBeginCapture(stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamGetCaptureInfo(stream, &states[0], &ids[0]),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamGetCaptureInfo_v2(stream, &states[1], &ids[1],
                                                   &graphs[0], NULL, NULL),
                     CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamGetCaptureInfo_v3(stream, &states[2], &ids[2],
                                                   &graphs[1], NULL, NULL, NULL),
                     CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(states[i], CU_STREAM_CAPTURE_STATUS_ACTIVE);
        ck_assert_uint_eq(ids[i], ids[0]);
    }
    ck_assert_ptr_eq(graphs[0], graphs[1]);
    ck_assert_int_eq(sim.cuGraphDestroy(graphs[0]), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(
        sim.cuStreamGetCaptureInfo_v2(stream, &states[1], NULL, NULL, NULL, &count),
        CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_ptr_eq(end(CUDA_SUCCESS), graphs[0]);
    ck_assert_int_eq(sim.cuStreamBeginCapture(stream), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuStreamGetCaptureInfo(stream, &states[0], &ids[1]),
                     CUDA_SUCCESS);
    ck_assert_uint_ne(ids[0], ids[1]);
    end(CUDA_SUCCESS);
}
END_TEST

SUITE_MAIN("simcuda/graphs", captured_work_is_done_by_each_launch_and_not_before,
           a_launch_waits_its_turn_and_reads_pinned_memory_then,
           a_graph_keeps_the_address_whoever_has_it_later,
           events_carry_a_capture_to_other_streams_and_back,
           what_graphs_cannot_hold_here_is_refused_aloud,
           every_form_of_the_question_answers_alike)

/* Defends: a stream that is being captured is seen in every form of every call, from before the
   driver begins until it has ended, however that comes. */
#include "tests/observe_fixture.h"

/* Each form of beginning one, with the form of its end. */
static CUresult begin(int form, CUstream stream)
{
    switch (form) {
    case 0:
        return cuStreamBeginCapture(stream);
    case 1:
        return cuStreamBeginCapture_v2(stream, 0);
    case 2:
        return cuStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, 0);
    case 3:
        return cuStreamBeginCapture_ptsz(stream);
    case 4:
        return cuStreamBeginCapture_v2_ptsz(stream, 0);
    default:
        return cuStreamBeginCaptureToGraph_ptsz(stream, NULL, NULL, NULL, 0, 0);
    }
}

enum { FORMS = 6, FIRST_PER_THREAD = 3 };

static CUresult end(int form, CUstream stream)
{
    return form < FIRST_PER_THREAD ? cuStreamEndCapture(stream, NULL)
                                   : cuStreamEndCapture_ptsz(stream, NULL);
}

START_TEST(a_capture_is_seen_from_its_beginning_to_its_end_in_every_form)
{
    for (int form = 0; form < FORMS; form++) {
        ck_assert_msg(!shim_observe_capturing(), "before form %d", form);
        ck_assert_int_eq(begin(form, STREAM(10)), CUDA_SUCCESS);
        ck_assert_msg(shim_observe_capturing(), "form %d", form);
        ck_assert_int_eq(end(form, STREAM(10)), CUDA_SUCCESS);
    }
    ck_assert(!shim_observe_capturing());
    struct pool_stats stats;
    shim_observe_report(&stats);
    ck_assert_uint_eq(stats.observed_captures, FORMS);
    ck_assert_uint_eq(stats.observed_open_captures, 0);
}
END_TEST

START_TEST(a_stream_of_its_own_may_be_ended_by_either_form)
{
    begin(FIRST_PER_THREAD, STREAM(10));
    end(0, STREAM(10));
    ck_assert(!shim_observe_capturing());
    /* The thread's own stream: NULL to one form, a handle to the other. */
    begin(FIRST_PER_THREAD, NULL);
    end(0, CU_STREAM_PER_THREAD);
    ck_assert(!shim_observe_capturing());
    begin(0, CU_STREAM_PER_THREAD);
    end(FIRST_PER_THREAD, NULL);
    ck_assert(!shim_observe_capturing());
}
END_TEST

static void *end_own(void *unused)
{
    end(FIRST_PER_THREAD, NULL);
    return unused;
}

START_TEST(a_thread_does_not_end_the_capture_of_another_ones_own_stream)
{
    pthread_t thread;
    begin(FIRST_PER_THREAD, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_own, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert(shim_observe_capturing());
    end(FIRST_PER_THREAD, NULL);
    ck_assert(!shim_observe_capturing());
}
END_TEST

static bool seen_meanwhile;

static void look_meanwhile(void)
{
    seen_meanwhile = shim_observe_capturing();
}

START_TEST(a_capture_counts_while_the_driver_begins_it_and_not_when_it_refuses)
{
    meanwhile = look_meanwhile;
    result = CUDA_ERROR_NOT_PERMITTED;
    for (int form = 0; form < FORMS; form++) {
        seen_meanwhile = false;
        ck_assert_int_eq(begin(form, STREAM(10)), result);
        ck_assert_msg(seen_meanwhile, "form %d", form);
        ck_assert_msg(!shim_observe_capturing(), "form %d", form);
    }
}
END_TEST

START_TEST(after_an_end_that_failed_the_driver_says_whether_it_is_over)
{
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (int form = 0; form < FORMS; form += FIRST_PER_THREAD) {
        result = CUDA_SUCCESS;
        begin(form, STREAM(10));
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        ck_assert_int_eq(end(form, STREAM(10)), result);
        ck_assert(shim_observe_capturing());
        capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
        end(form, STREAM(10));
        ck_assert(!shim_observe_capturing());
    }
}
END_TEST

START_TEST(after_an_end_that_failed_a_driver_that_cannot_be_asked_has_ended_its_own)
{
    fake.call.cuStreamIsCapturing = NULL;
    begin(0, STREAM(10));
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    end(0, STREAM(10));
    ck_assert(shim_observe_capturing());
    result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    end(0, STREAM(10));
    ck_assert(shim_observe_capturing());
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    end(0, STREAM(10));
    ck_assert(!shim_observe_capturing());
}
END_TEST

START_TEST(a_capture_ends_with_its_stream)
{
    begin(0, STREAM(10));
    begin(0, STREAM(11));
    result = CUDA_ERROR_INVALID_HANDLE;
    cuStreamDestroy(STREAM(10));
    ck_assert(shim_observe_capturing());
    result = CUDA_SUCCESS;
    cuStreamDestroy(STREAM(10));
    ck_assert(shim_observe_capturing());
    cuStreamDestroy_v2(STREAM(11));
    ck_assert(!shim_observe_capturing());
}
END_TEST

START_TEST(a_capture_ends_with_its_context_which_need_not_be_current)
{
    begin(0, STREAM(20));
    begin(0, STREAM(30));
    begin(FIRST_PER_THREAD, NULL);
    struct pool_stats stats;
    shim_observe_context_ended(CONTEXT(2), shim_observe_stamp());
    shim_observe_report(&stats);
    ck_assert_uint_eq(stats.observed_open_captures, 2);
    shim_observe_context_ended(CONTEXT(1), shim_observe_stamp());
    shim_observe_report(&stats);
    ck_assert_uint_eq(stats.observed_open_captures, 1);
    end(0, STREAM(30));
    ck_assert(!shim_observe_capturing());
}
END_TEST

/* As another thread that is given the handle again at once. */
static void begin_meanwhile(void)
{
    meanwhile = NULL;
    shim_guard_depth = 0;
    begin(0, STREAM(10));
    shim_guard_depth = 1;
}

START_TEST(the_end_of_a_stream_does_not_end_what_a_new_one_with_its_handle_began)
{
    begin(0, STREAM(10));
    meanwhile = begin_meanwhile;
    cuStreamDestroy_v2(STREAM(10));
    ck_assert(shim_observe_capturing());
    meanwhile = begin_meanwhile;
    end(0, STREAM(10));
    ck_assert(shim_observe_capturing());
    uint64_t stamp = shim_observe_stamp();
    begin(0, STREAM(10));
    shim_observe_context_ended(CONTEXT(1), stamp);
    ck_assert(shim_observe_capturing());
    end(0, STREAM(10));
    ck_assert(!shim_observe_capturing());
}
END_TEST

START_TEST(of_too_many_captures_one_stays_and_keeps_us_from_calling)
{
    for (unsigned i = 0; i <= SHIM_OBSERVE_CAPTURES_MOST; i++)
        begin(0, STREAM(10 + i));
    for (unsigned i = 0; i <= SHIM_OBSERVE_CAPTURES_MOST; i++)
        end(0, STREAM(10 + i));
    ck_assert(shim_observe_capturing());
}
END_TEST

START_TEST(switched_off_no_capture_is_seen)
{
    settings.options.enabled = false;
    shim_guard_depth = 1; /* as the driver expects it */
    for (int form = 0; form < FORMS; form++)
        begin(form, STREAM(10));
    ck_assert(!shim_observe_capturing());
}
END_TEST

SUITE_MAIN_WITH("shim/captures", observe_setup, NULL,
                a_capture_is_seen_from_its_beginning_to_its_end_in_every_form,
                a_stream_of_its_own_may_be_ended_by_either_form,
                a_thread_does_not_end_the_capture_of_another_ones_own_stream,
                a_capture_counts_while_the_driver_begins_it_and_not_when_it_refuses,
                after_an_end_that_failed_the_driver_says_whether_it_is_over,
                after_an_end_that_failed_a_driver_that_cannot_be_asked_has_ended_its_own,
                a_capture_ends_with_its_stream,
                a_capture_ends_with_its_context_which_need_not_be_current,
                the_end_of_a_stream_does_not_end_what_a_new_one_with_its_handle_began,
                of_too_many_captures_one_stays_and_keeps_us_from_calling,
                switched_off_no_capture_is_seen)

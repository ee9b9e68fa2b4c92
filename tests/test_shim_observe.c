/* Defends: what decides whether freed memory may be handed out again is seen in every form of
   every call, at the right moment, and forgotten with its context or allocation. Captures have
   test_shim_captures. */
#include "tests/observe_fixture.h"

/* --- Synchronisations --- */

START_TEST(what_was_stamped_before_a_synchronisation_began_is_done_when_it_has_ended)
{
    uint64_t freed = shim_observe_stamp();
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(1)), 0);
    ck_assert_int_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(1)), freed);
    freed = shim_observe_stamp();
    ck_assert_uint_le(shim_observe_synchronised(CONTEXT(1)), freed);
    ck_assert_int_eq(cuCtxSynchronize_v2(CONTEXT(1)), CUDA_SUCCESS);
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(1)), freed);
}
END_TEST

static uint64_t freed_meanwhile;

static void stamp_meanwhile(void)
{
    freed_meanwhile = shim_observe_stamp();
}

START_TEST(what_is_freed_during_a_synchronisation_waits_for_the_next)
{
    meanwhile = stamp_meanwhile;
    cuCtxSynchronize();
    ck_assert_uint_lt(shim_observe_synchronised(CONTEXT(1)), freed_meanwhile);
    cuCtxSynchronize_v2(CONTEXT(1));
    ck_assert_uint_lt(shim_observe_synchronised(CONTEXT(1)), freed_meanwhile);
    meanwhile = NULL;
    cuCtxSynchronize();
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(1)), freed_meanwhile);
}
END_TEST

static void synchronise_meanwhile(void)
{
    meanwhile = NULL;
    shim_guard_depth = 0; /* as another thread */
    cuCtxSynchronize();
    shim_guard_depth = 1;
}

START_TEST(an_earlier_synchronisation_that_ends_later_takes_nothing_back)
{
    meanwhile = synchronise_meanwhile;
    uint64_t freed = shim_observe_stamp();
    cuCtxSynchronize();
    /* Began: outer, inner. Ended: inner, outer. */
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(1)), freed + 2);
}
END_TEST

START_TEST(a_context_knows_only_its_own_synchronisations_and_only_those_that_went_well)
{
    cuCtxSynchronize_v2(CONTEXT(2));
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(1)), 0);
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(2)), 0);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    ck_assert_int_eq(cuCtxSynchronize(), result);
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(1)), 0);
    result = CUDA_SUCCESS;
    cuCtxSynchronize_v2(NULL);
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(1)), 0);
    current = NULL;
    cuCtxSynchronize();
    ck_assert_uint_eq(shim_observe_synchronised(NULL), 0);
}
END_TEST

START_TEST(with_its_context_a_synchronisation_is_forgotten)
{
    cuCtxSynchronize();
    shim_observe_context_ended(CONTEXT(1), shim_observe_stamp());
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(1)), 0);
    /* Many may come and go, but of those that live only so many are remembered. */
    for (unsigned i = 1; i <= 3 * SHIM_OBSERVE_CONTEXTS_MOST; i++) {
        cuCtxSynchronize_v2(CONTEXT(i));
        ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(i)), 0);
        shim_observe_context_ended(CONTEXT(i), shim_observe_stamp());
    }
    for (unsigned i = 1; i <= SHIM_OBSERVE_CONTEXTS_MOST + 1; i++)
        cuCtxSynchronize_v2(CONTEXT(i));
    ck_assert_uint_gt(shim_observe_synchronised(CONTEXT(SHIM_OBSERVE_CONTEXTS_MOST)), 0);
    ck_assert_uint_eq(shim_observe_synchronised(CONTEXT(SHIM_OBSERVE_CONTEXTS_MOST + 1)),
                      0);
}
END_TEST

/* --- Exports --- */

START_TEST(an_allocation_is_exported_from_any_address_in_it_until_it_is_freed)
{
    CUpointer_attribute tokens[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_P2P_TOKENS};
    ck_assert(!shim_observe_take_exported(0x100));
    cuIpcGetMemHandle(NULL, 0x100);
    cuMemGetHandleForAddressRange(NULL, 0x210, 0x10, 1, 0);
    cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_P2P_TOKENS, 0x333);
    cuPointerGetAttributes(2, tokens, NULL, 0x444);
    cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0x555);
    for (CUdeviceptr start = 0x100; start <= 0x500; start += 0x100) {
        ck_assert_msg(shim_observe_take_exported(start), "%#lx", (unsigned long)start);
        ck_assert_msg(!shim_observe_take_exported(start), "%#lx", (unsigned long)start);
    }
    struct pool_stats stats;
    shim_observe_report(&stats);
    ck_assert_uint_eq(stats.observed_exports, 5);
}
END_TEST

START_TEST(what_exports_nothing_and_what_fails_is_no_export)
{
    CUpointer_attribute others[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_BUFFER_ID};
    cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_BUFFER_ID, 0x100);
    cuPointerGetAttributes(2, others, NULL, 0x100);
    cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_BUFFER_ID, 0x100);
    result = CUDA_ERROR_NOT_SUPPORTED;
    cuIpcGetMemHandle(NULL, 0x100);
    cuMemGetHandleForAddressRange(NULL, 0x100, 0x10, 1, 0);
    cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_P2P_TOKENS, 0x100);
    cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0x100);
    ck_assert(!shim_observe_take_exported(0x100));
}
END_TEST

START_TEST(an_allocation_that_was_exported_twice_is_one)
{
    for (unsigned i = 0; i < 2 * SHIM_OBSERVE_EXPORTS_MOST; i++)
        cuIpcGetMemHandle(NULL, 0x100);
    ck_assert(!shim_observe_take_exported(0x200));
    ck_assert(shim_observe_take_exported(0x100));
    ck_assert(!shim_observe_take_exported(0x100));
}
END_TEST

START_TEST(with_too_many_exports_every_allocation_counts_as_one)
{
    for (unsigned i = 0; i < SHIM_OBSERVE_EXPORTS_MOST; i++)
        cuIpcGetMemHandle(NULL, 0x1000 + 0x100 * i);
    ck_assert(!shim_observe_take_exported(0x100));
    cuIpcGetMemHandle(NULL, 0x200);
    ck_assert(shim_observe_take_exported(0x100));
}
END_TEST

/* --- Broken contexts --- */

START_TEST(an_error_that_stays_breaks_its_context_and_no_other)
{
    cuCtxSynchronize();
    ck_assert(!shim_observe_sticky(CONTEXT(1)));
    result = CUDA_ERROR_ILLEGAL_ADDRESS;
    ck_assert_int_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_assert(shim_observe_sticky(CONTEXT(1)));
    ck_assert(!shim_observe_sticky(CONTEXT(2)));
    shim_observe_context_ended(CONTEXT(1), shim_observe_stamp());
    ck_assert(!shim_observe_sticky(CONTEXT(1)));
}
END_TEST

START_TEST(an_error_that_stays_without_a_context_breaks_all)
{
    current = NULL;
    shim_observe_result(&fake, CUDA_ERROR_LAUNCH_FAILED);
    ck_assert(shim_observe_sticky(CONTEXT(2)));
    ck_assert(shim_observe_sticky(NULL));
}
END_TEST

START_TEST(only_errors_that_stay_are_sticky)
{
    static const CUresult sticky[] = {214, 220, 226, 700, 702, 710, 714, 715,
                                      716, 717, 718, 719, 721, 810, 911};
    unsigned next = 0;
    for (CUresult code = 0; code <= 1000; code++) {
        bool expected = next < sizeof sticky / sizeof *sticky && sticky[next] == code;
        ck_assert_int_eq(shim_observe_result(&fake, code), code);
        ck_assert_msg(shim_observe_sticky(CONTEXT(1)) == expected, "%d", code);
        next += expected;
        shim_observe_context_ended(CONTEXT(1), shim_observe_stamp());
    }
}
END_TEST

START_TEST(switched_off_nothing_is_seen)
{
    settings.options.enabled = false;
    shim_guard_depth = 1; /* as the driver expects it */
    cuCtxSynchronize();
    cuIpcGetMemHandle(NULL, 0x100);
    struct pool_stats stats;
    shim_observe_report(&stats);
    ck_assert_uint_eq(stats.observed_context_syncs, 0);
    ck_assert_uint_eq(stats.observed_exports, 0);
}
END_TEST

SUITE_MAIN_WITH(
    "shim/observe", observe_setup, NULL,
    what_was_stamped_before_a_synchronisation_began_is_done_when_it_has_ended,
    what_is_freed_during_a_synchronisation_waits_for_the_next,
    an_earlier_synchronisation_that_ends_later_takes_nothing_back,
    a_context_knows_only_its_own_synchronisations_and_only_those_that_went_well,
    with_its_context_a_synchronisation_is_forgotten,
    an_allocation_is_exported_from_any_address_in_it_until_it_is_freed,
    what_exports_nothing_and_what_fails_is_no_export,
    an_allocation_that_was_exported_twice_is_one,
    with_too_many_exports_every_allocation_counts_as_one,
    an_error_that_stays_breaks_its_context_and_no_other,
    an_error_that_stays_without_a_context_breaks_all, only_errors_that_stay_are_sticky,
    switched_off_nothing_is_seen)

/* Defends: every lease ends once and as it says, and a bind never writes to another's host
   memory. */
#include "tests/bind_fixture.h"

START_TEST(each_lease_ends_once_and_as_it_says)
{
    uint64_t own;
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(fake_allocate(&fake_device, 100, &own), 0);
    const struct tidemark_lease leases[] = {
        {.device = own, .bytes = 100, .ending = TIDEMARK_ENDS_FREED},
        {.device = 0x1000, .bytes = 100, .ending = TIDEMARK_ENDS_SLICE},
        {.device = 0x2000, .bytes = 100, .ending = TIDEMARK_ENDS_CALLER},
        {.device = 0, .bytes = 100, .ending = TIDEMARK_ENDS_FREED},
        {.device = 0, .bytes = 100, .ending = TIDEMARK_ENDS_CALLER},
    };
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(tidemark_bind_lease(bind, &leases[i]), TIDEMARK_DONE);
    end(bind);
    ck_assert_uint_eq(fake_device.releases, 1);
    ck_assert_uint_eq(fake_device.released[0], own);
    struct tidemark_counts counts = counts_of(bind);
    ck_assert_uint_eq(counts.ended_freed, 1);
    ck_assert_uint_eq(counts.ended_slice, 1);
    ck_assert_uint_eq(counts.ended_caller, 1);
    ck_assert_uint_eq(counts.device_calls, 1);
    /* A second pass frees nothing. */
    ck_assert_int_eq(tidemark_bind_end(bind, 0), TIDEMARK_OUT_OF_TURN);
    bind = opened(0);
    end(bind);
    ck_assert_uint_eq(fake_device.releases, 1);
}
END_TEST

START_TEST(a_lease_that_could_not_end_as_it_says_is_refused)
{
    char host[8];
    struct tidemark_settings settings = fake_settings(1);
    struct tidemark_bind *bind = opened(0);
    const struct tidemark_lease bad[] = {
        {.device = 1, .ending = (enum tidemark_ending)3},
        {.device = 1, .ending = (enum tidemark_ending) - 1},
        {.device = 1, .ending = TIDEMARK_ENDS_SLICE, .copies_back = 1},
    };
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(tidemark_bind_lease(bind, &bad[i]), TIDEMARK_MALFORMED);
    struct tidemark_tensor nowhere = {.bytes = 8, .is_output = 1};
    ck_assert_int_eq(tidemark_bind_stage(bind, &nowhere, 1), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_bind_stage(bind, NULL, 1), TIDEMARK_MALFORMED);
    end(bind);
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DONE);
    settings.device.download = NULL;
    open_set(&settings);
    bind = opened(0);
    struct tidemark_tensor output = {.host = host, .bytes = 8, .is_output = 1};
    ck_assert_int_eq(tidemark_bind_stage(bind, &output, 1), TIDEMARK_MALFORMED);
    const struct tidemark_lease lease = {.host = host, .device = 1, .copies_back = 1};
    ck_assert_int_eq(tidemark_bind_lease(bind, &lease), TIDEMARK_MALFORMED);
    end(bind);
}
END_TEST

START_TEST(many_leases_are_kept_in_order_and_a_second_time_need_no_memory)
{
    for (unsigned round = 0; round < 2; round++) {
        struct tidemark_bind *bind = opened(0);
        for (unsigned i = 0; i < 1000; i++) {
            const struct tidemark_lease lease = {.device = i + 1,
                                                 .ending = TIDEMARK_ENDS_CALLER};
            ck_assert_int_eq(tidemark_bind_lease(bind, &lease), TIDEMARK_DONE);
        }
        for (unsigned i = 0; i < 1000; i++)
            ck_assert_uint_eq(pool_bind_leases_at(&bind->leases, i)->device, i + 1);
        end(bind);
        ck_assert_uint_eq(counts_of(bind).ended_caller, 1000);
        if (round > 0)
            ck_assert_uint_eq(counts_of(bind).host_calls, 0);
        else
            ck_assert_uint_lt(counts_of(bind).host_calls, 16);
    }
}
END_TEST

START_TEST(a_bind_that_was_never_ended_does_not_write_into_the_next_ones_time)
{
    char first[64], second[64];
    memset(first, 1, sizeof(first));
    memset(second, 2, sizeof(second));
    struct tidemark_tensor tensor = {.host = first, .bytes = 64, .is_output = 1};
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_slot_reset(set, 0), TIDEMARK_DONE);
    bind = opened(0);
    ck_assert_uint_eq(bind->leases.count, 0);
    tensor = (struct tidemark_tensor){.host = second, .bytes = 64, .is_output = 1};
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_DONE);
    ck_assert_uint_eq(bind->leases.count, 1);
    memset(fake_at(&fake_device, tensor.device, 64), 3, 64);
    end(bind);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_int_eq(first[i], 1);
        ck_assert_int_eq(second[i], 3);
    }
    ck_assert_uint_eq(fake_copies.downloads, 1);
}
END_TEST

START_TEST(a_forgotten_lease_of_its_own_memory_is_freed_at_the_next_open)
{
    uint64_t own;
    char host[8];
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(fake_allocate(&fake_device, 100, &own), 0);
    const struct tidemark_lease lease = {
        .host = host, .device = own, .bytes = 8, .copies_back = 1};
    ck_assert_int_eq(tidemark_bind_lease(bind, &lease), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_slot_reset(set, 0), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.releases, 0);
    bind = opened(0);
    ck_assert_uint_eq(fake_device.releases, 1);
    ck_assert_uint_eq(fake_copies.downloads, 0);
    end(bind);
}
END_TEST

START_TEST(a_failed_bind_ends_its_leases_without_copying_back)
{
    char host[64] = {1};
    struct tidemark_tensor tensor = {.host = host, .bytes = 64, .is_output = 1};
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_bind_end(bind, 1), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_copies.downloads, 0);
    ck_assert_int_eq(host[0], 1);
    ck_assert_uint_eq(counts_of(bind).ended_slice, 1);
}
END_TEST

START_TEST(an_end_that_fails_goes_on_with_the_rest_and_is_over)
{
    uint64_t own;
    char host[2][64];
    struct tidemark_tensor tensors[2] = {
        {.host = host[0], .bytes = 64, .is_output = 1},
        {.host = host[1], .bytes = 64, .is_output = 1},
    };
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(fake_allocate(&fake_device, 100, &own), 0);
    const struct tidemark_lease lease = {.device = own, .bytes = 8};
    ck_assert_int_eq(tidemark_bind_lease(bind, &lease), TIDEMARK_DONE);
    ck_assert_int_eq(tidemark_bind_stage(bind, tensors, 2), TIDEMARK_DONE);
    fake_copies.refused_downloads = 1;
    ck_assert_int_eq(tidemark_bind_end(bind, 0), TIDEMARK_DEVICE_REFUSED);
    ck_assert_uint_eq(fake_copies.downloads, 2);
    ck_assert_uint_eq(counts_of(bind).copied_back, 1);
    ck_assert_uint_eq(fake_device.releases, 1);
    end(opened(0));
}
END_TEST

SUITE_MAIN_WITH("pool/bind, leases", setup, teardown, each_lease_ends_once_and_as_it_says,
                a_lease_that_could_not_end_as_it_says_is_refused,
                many_leases_are_kept_in_order_and_a_second_time_need_no_memory,
                a_bind_that_was_never_ended_does_not_write_into_the_next_ones_time,
                a_forgotten_lease_of_its_own_memory_is_freed_at_the_next_open,
                a_failed_bind_ends_its_leases_without_copying_back,
                an_end_that_fails_goes_on_with_the_rest_and_is_over)

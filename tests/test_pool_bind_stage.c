/* Defends: temporaries are slices of one block that is kept, aligned whatever the device aligns
   to, and a mirror is memory that is kept and not touched. */
#include <sys/resource.h>

#include "tests/bind_fixture.h"

enum { ALIGN = TIDEMARK_TEMPORARY_ALIGN };

static uint64_t sliced(struct tidemark_bind *bind, size_t bytes)
{
    uint64_t address = 0;
    ck_assert_int_eq(tidemark_bind_slice(bind, bytes, &address), TIDEMARK_DONE);
    ck_assert_uint_eq(address % ALIGN, 0);
    return address;
}

static void expect_no_room(struct tidemark_bind *bind, size_t bytes)
{
    uint64_t address = 4711;
    ck_assert_int_eq(tidemark_bind_slice(bind, bytes, &address), TIDEMARK_NO_ROOM);
    ck_assert_uint_eq(address, 4711);
}

static void plan(struct tidemark_bind *bind, size_t bytes)
{
    ck_assert_int_eq(tidemark_bind_plan(bind, bytes), TIDEMARK_DONE);
}

/* The size of the block a slot keeps for temporaries. */
static size_t kept(const struct tidemark_bind *bind)
{
    return bind->temporaries.now.bytes;
}

START_TEST(slices_take_whole_units_of_the_alignment)
{
    static const struct pool_arena_shape slice = {0, ALIGN};
    static const struct {
        size_t bytes, taken;
    } known[] = {{0, 0}, {1, 1024}, {1024, 1024}, {1025, 2048}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t taken;
        ck_assert(pool_arena_piece(slice, known[i].bytes, &taken));
        ck_assert_uint_eq(taken, known[i].taken);
    }
}
END_TEST

START_TEST(a_plan_on_an_empty_slot_allocates_once_with_room_to_align)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 3072);
    ck_assert_uint_eq(fake_device.allocs, 1);
    ck_assert_uint_eq(fake_device.releases, 0);
    ck_assert_uint_eq(kept(bind), 4096); /* 3072 + 1023, rounded */
    ck_assert_uint_ge(pool_retained_room(&bind->temporaries), 3072);
    end(bind);
}
END_TEST

START_TEST(slices_are_aligned_inside_the_block_whatever_the_device_aligns_to)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 3072);
    ck_assert_uint_ne(bind->temporaries.now.address % ALIGN, 0);
    uint64_t first = sliced(bind, 10);
    ck_assert_uint_eq(sliced(bind, 1024), first + 1024);
    ck_assert_uint_eq(sliced(bind, 1), first + 2048);
    fake_find(&fake_device, first, 3072);
    end(bind);
}
END_TEST

START_TEST(a_smaller_plan_reuses_the_block_and_begins_at_its_front)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 4096);
    uint64_t first = sliced(bind, 100);
    end(bind);
    bind = opened(0);
    plan(bind, 1024);
    ck_assert_uint_eq(sliced(bind, 100), first);
    ck_assert_uint_eq(kept(bind), 5120); /* 4096 + 1023, rounded */
    ck_assert_uint_eq(fake_device.allocs, 1);
    ck_assert_uint_eq(fake_device.releases, 0);
    ck_assert_uint_eq(counts_of(bind).device_calls, 0);
    end(bind);
}
END_TEST

START_TEST(a_larger_plan_replaces_the_block)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 1024);
    end(bind);
    bind = opened(0);
    plan(bind, 8192);
    ck_assert_uint_eq(fake_device.allocs, 2);
    ck_assert_uint_eq(fake_device.releases, 1);
    ck_assert_uint_eq(kept(bind), 9216); /* 8192 + 1023, rounded */
    end(bind);
}
END_TEST

START_TEST(what_was_planned_can_be_sliced_and_what_is_beyond_cannot)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 2048);
    uint64_t first = sliced(bind, 2048);
    ck_assert_uint_eq(pool_arena_used(&bind->slices), 2048);
    expect_no_room(bind, pool_retained_room(&bind->temporaries));
    ck_assert_uint_eq(pool_arena_used(&bind->slices), 2048);
    ck_assert_uint_eq(first, bind->temporaries.base);
    end(bind);
}
END_TEST

START_TEST(an_impossible_slice_leaves_the_next_one_its_room)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 2048);
    uint64_t first = sliced(bind, 1024);
    expect_no_room(bind, SIZE_MAX);
    expect_no_room(bind, SIZE_MAX - 1023);
    expect_no_room(bind, SIZE_MAX - 1024);
    ck_assert_uint_eq(sliced(bind, 1024), first + 1024);
    end(bind);
}
END_TEST

START_TEST(a_plan_for_nothing_changes_nothing)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 0);
    ck_assert_uint_eq(fake_device.allocs + fake_device.releases, 0);
    expect_no_room(bind, 0);
    expect_no_room(bind, 1);
    plan(bind, 1024);
    end(bind);
    bind = opened(0);
    plan(bind, 0); /* what there is can still be sliced */
    ck_assert_uint_eq(fake_device.allocs, 1);
    sliced(bind, 1000);
    ck_assert_int_eq(tidemark_bind_plan(bind, 10), TIDEMARK_OUT_OF_TURN);
    end(bind);
}
END_TEST

START_TEST(a_plan_that_cannot_grow_leaves_the_old_block)
{
    struct tidemark_bind *bind = opened(0);
    plan(bind, 1024);
    struct pool_retained before = bind->temporaries;
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_plan(bind, 8192), TIDEMARK_DEVICE_REFUSED);
    ck_assert_int_eq(tidemark_bind_plan(bind, SIZE_MAX - 5), TIDEMARK_TOO_LARGE);
    ck_assert_mem_eq(&bind->temporaries, &before, sizeof(before));
    ck_assert_uint_eq(fake_device.releases, 0);
    sliced(bind, 1024);
    end(bind);
}
END_TEST

START_TEST(two_small_tensors_take_one_allocation_and_none_is_freed_at_the_end)
{
    char in[64], out[64] = {0};
    memset(in, 0x5c, sizeof(in));
    struct tidemark_tensor tensors[] = {
        {.host = in, .bytes = 64, .is_input = 1},
        {.host = out, .bytes = 64, .is_output = 1},
    };
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_stage(bind, tensors, 2), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_device.allocs, 1);
    ck_assert_mem_eq(fake_at(&fake_device, tensors[0].device, 64), in, 64);
    /* The work: the output is the input. */
    memcpy(fake_at(&fake_device, tensors[1].device, 64),
           fake_at(&fake_device, tensors[0].device, 64), 64);
    end(bind);
    ck_assert_mem_eq(out, in, 64);
    ck_assert_uint_eq(fake_device.releases, 0);
    ck_assert_uint_eq(counts_of(bind).copied_in, 1);
    ck_assert_uint_eq(counts_of(bind).copied_back, 1);
    ck_assert_uint_eq(counts_of(bind).ended_slice, 2);
}
END_TEST

START_TEST(only_tensors_that_need_one_get_a_slice)
{
    char host[4096];
    struct tidemark_tensor tensors[] = {
        {.host = host, .bytes = 64, .is_input = 1},
        {.host = host, .bytes = 0, .is_input = 1},
        {.host = host, .bytes = 1024, .is_input = 1},
        {.host = host, .bytes = 1025, .is_input = 1},
        {.bytes = 4096, .device = 0xd00d, .is_input = 1, .is_output = 1},
    };
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_stage(bind, tensors, 5), TIDEMARK_DONE);
    ck_assert_uint_eq(pool_arena_used(&bind->slices), 4096);
    ck_assert_uint_eq(kept(bind), pool_retained_capacity(4096 + 1023));
    ck_assert_uint_eq(tensors[0].device, bind->temporaries.base);
    ck_assert_uint_eq(tensors[1].device, 0);
    ck_assert_uint_eq(tensors[2].device, tensors[0].device + 1024);
    ck_assert_uint_eq(tensors[3].device, tensors[0].device + 2048);
    ck_assert_uint_eq(tensors[4].device, 0xd00d);
    ck_assert_uint_eq(counts_of(bind).copied_in, 3);
    end(bind);
    ck_assert_uint_eq(counts_of(bind).copied_back, 0);
    ck_assert_uint_eq(counts_of(bind).ended_slice, 3);
    ck_assert_uint_eq(counts_of(bind).ended_caller, 1);
}
END_TEST

START_TEST(a_pure_output_gets_a_slice_and_is_neither_copied_in_nor_cleared)
{
    char out[100];
    struct tidemark_tensor tensor = {.host = out, .bytes = 100, .is_output = 1};
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_DONE);
    ck_assert_uint_ne(tensor.device, 0);
    ck_assert_uint_eq(fake_copies.uploads, 0);
    ck_assert_uint_eq(fake_device.clears, 0);
    ck_assert_uint_eq(*(unsigned char *)fake_at(&fake_device, tensor.device, 1),
                      FAKE_GARBAGE);
    end(bind);
    ck_assert_uint_eq((unsigned char)out[99], FAKE_GARBAGE);
}
END_TEST

START_TEST(a_copy_that_fails_leaves_the_block_and_no_lease)
{
    char host[2048];
    struct tidemark_tensor tensors[] = {
        {.host = host, .bytes = 2000, .is_output = 1},
        {.host = host, .bytes = 2000, .is_input = 1},
    };
    struct tidemark_bind *bind = opened(0);
    struct tidemark_tensor once = tensors[0];
    ck_assert_int_eq(tidemark_bind_stage(bind, &once, 1), TIDEMARK_DONE);
    end(bind);
    bind = opened(0);
    fake_copies.refused_uploads = 1;
    ck_assert_int_eq(tidemark_bind_stage(bind, tensors, 2), TIDEMARK_DEVICE_REFUSED);
    ck_assert_int_eq(counts_of(bind).device_error, FAKE_ERROR);
    ck_assert_uint_eq(bind->leases.count, 0);
    ck_assert_uint_eq(tensors[0].device, 0);
    ck_assert_uint_eq(tensors[1].device, 0);
    ck_assert_uint_eq(fake_device.live_count, 1); /* grown, and kept */
    ck_assert_uint_eq(kept(bind), pool_retained_capacity(4096 + 1023));
    unsigned downloads = fake_copies.downloads;
    ck_assert_int_eq(tidemark_bind_stage(bind, tensors, 2), TIDEMARK_DONE);
    ck_assert_uint_eq(tensors[0].device, bind->temporaries.base);
    end(bind);
    ck_assert_uint_eq(fake_copies.downloads, downloads + 1);
}
END_TEST

START_TEST(growth_that_fails_in_a_first_bind_leaves_nothing_at_all)
{
    char host[64];
    struct tidemark_tensor tensor = {.host = host, .bytes = 64, .is_input = 1};
    struct tidemark_bind *bind = opened(0);
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_DEVICE_REFUSED);
    ck_assert_uint_eq(bind->temporaries.now.address, 0);
    ck_assert_uint_eq(kept(bind), 0);
    ck_assert_uint_eq(fake_device.live_count, 0);
    ck_assert_uint_eq(bind->leases.count, 0);
    ck_assert_uint_eq(tensor.device, 0);
    end(bind);
}
END_TEST

START_TEST(leases_without_memory_for_them_are_refused_before_anything_is_copied)
{
    char host[64];
    struct tidemark_tensor tensor = {.host = host, .bytes = 64, .is_input = 1};
    struct tidemark_bind *bind = opened(0);
    fake_host.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_stage(bind, &tensor, 1), TIDEMARK_NO_HOST_MEMORY);
    ck_assert_uint_eq(fake_copies.uploads, 0);
    fake_host.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_lease(bind, &(struct tidemark_lease){.device = 1}),
                     TIDEMARK_NO_HOST_MEMORY);
    end(bind);
}
END_TEST

START_TEST(a_mirror_is_kept_uninitialised_and_its_base_is_aligned)
{
    void *first, *again, *larger;
    struct tidemark_bind *bind = opened(0);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 5000, 4096, &first), TIDEMARK_DONE);
    ck_assert_uint_eq((uintptr_t)first % 4096, 0);
    memset(first, 0x33, 5000);
    end(bind);
    bind = opened(0);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 4000, 4096, &again), TIDEMARK_DONE);
    ck_assert_ptr_eq(again, first);
    ck_assert_int_eq(((char *)again)[3999], 0x33);
    ck_assert_uint_eq(counts_of(bind).host_calls, 0);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 50000, 4096, &larger), TIDEMARK_DONE);
    ck_assert_ptr_ne(larger, first);
    ck_assert_uint_eq(counts_of(bind).host_calls, 2);
    fake_host.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_mirror(bind, 500000, 4096, &again),
                     TIDEMARK_NO_HOST_MEMORY);
    ck_assert_ptr_eq(again, first);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 50000, 4096, &again), TIDEMARK_DONE);
    ck_assert_ptr_eq(again, larger);
    end(bind);
}
END_TEST

START_TEST(a_mirror_that_cannot_be_is_refused_without_a_call)
{
    static const struct {
        size_t bytes, align;
    } malformed[] = {
        {0, 16}, {100, 0}, {100, 3}, {100, 24}, {100, 2 * TIDEMARK_ALIGN_MAX}};
    void *mirror = &mirror;
    struct tidemark_bind *bind = opened(0);
    unsigned calls = fake_host.allocs;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
        ck_assert_int_eq(
            tidemark_bind_mirror(bind, malformed[i].bytes, malformed[i].align, &mirror),
            TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_bind_mirror(bind, SIZE_MAX, 16, &mirror),
                     TIDEMARK_TOO_LARGE);
    ck_assert_int_eq(tidemark_bind_mirror(bind, 100, 16, NULL), TIDEMARK_MALFORMED);
    ck_assert_int_eq(tidemark_bind_mirror(NULL, 100, 16, &mirror), TIDEMARK_MALFORMED);
    ck_assert_ptr_eq(mirror, &mirror);
    ck_assert_uint_eq(fake_host.allocs, calls);
    end(bind);
}
END_TEST

/* A sanitizer keeps a shadow of what is allocated. */
#if defined(__SANITIZE_ADDRESS__)
enum { ALLOCATION_FAULTS = 4096, STEADY_FAULTS = 8 };
#else
enum { ALLOCATION_FAULTS = 64, STEADY_FAULTS = 0 };
#endif

static long minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

START_TEST(a_mirror_of_82_MB_costs_the_pages_that_are_touched)
{
    enum { MIRROR_BYTES = 82460928 };
    volatile char *mirror = NULL;
    void *got;
    struct tidemark_bind *bind = opened(0);
    minor_faults();
    long before = minor_faults();
    ck_assert_int_eq(tidemark_bind_mirror(bind, MIRROR_BYTES, 4096, &got), TIDEMARK_DONE);
    ck_assert_int_le(minor_faults() - before, ALLOCATION_FAULTS);
    before = minor_faults();
    mirror = got;
    mirror[MIRROR_BYTES / 2] = 1;
    ck_assert_int_ge(minor_faults() - before, 1);
    ck_assert_int_le(minor_faults() - before, 8); /* 1, and a sanitizer's shadow */
    end(bind);
    bind = opened(0);
    before = minor_faults();
    ck_assert_int_eq(tidemark_bind_mirror(bind, MIRROR_BYTES, 4096, &got), TIDEMARK_DONE);
    mirror = got;
    mirror[MIRROR_BYTES / 2] = 1;
    ck_assert_int_le(minor_faults() - before, STEADY_FAULTS);
    end(bind);
}
END_TEST

SUITE_MAIN_WITH("pool/bind, temporaries", setup, teardown,
                slices_take_whole_units_of_the_alignment,
                a_plan_on_an_empty_slot_allocates_once_with_room_to_align,
                slices_are_aligned_inside_the_block_whatever_the_device_aligns_to,
                a_smaller_plan_reuses_the_block_and_begins_at_its_front,
                a_larger_plan_replaces_the_block,
                what_was_planned_can_be_sliced_and_what_is_beyond_cannot,
                an_impossible_slice_leaves_the_next_one_its_room,
                a_plan_for_nothing_changes_nothing,
                a_plan_that_cannot_grow_leaves_the_old_block,
                two_small_tensors_take_one_allocation_and_none_is_freed_at_the_end,
                only_tensors_that_need_one_get_a_slice,
                a_pure_output_gets_a_slice_and_is_neither_copied_in_nor_cleared,
                a_copy_that_fails_leaves_the_block_and_no_lease,
                growth_that_fails_in_a_first_bind_leaves_nothing_at_all,
                leases_without_memory_for_them_are_refused_before_anything_is_copied,
                a_mirror_is_kept_uninitialised_and_its_base_is_aligned,
                a_mirror_that_cannot_be_is_refused_without_a_call,
                a_mirror_of_82_MB_costs_the_pages_that_are_touched)

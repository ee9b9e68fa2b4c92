/* Defends: from the second bind on a slot allocates nothing, and whatever a bind records reaches
   the device once and whole, however many threads recorded it. */
#include "tests/bind_fixture.h"

enum { HEADER = sizeof(struct tidemark_header) };

static size_t piece_of(size_t image_bytes)
{
    return (HEADER + image_bytes + 15) & ~(size_t)15;
}

START_TEST(a_cold_slot_keeps_nothing_and_every_object_spills)
{
    struct tidemark_bind *bind = opened(0);
    ck_assert_uint_eq(bind->staging.base, 0);
    ck_assert_uint_eq(fake_host.allocs, 1); /* the set itself */
    for (unsigned i = 0; i < 5; i++) {
        struct tidemark_object object = record(bind, i, 100);
        ck_assert_ptr_nonnull(object.spilled);
        ck_assert_uint_eq(object.offset, TIDEMARK_NO_OFFSET);
        ck_assert_uint_eq((uintptr_t)object.image % 16, 0);
    }
    ck_assert_uint_eq(pool_arena_used(&bind->objects), 0);
    ck_assert_uint_eq(counts_of(bind).spilled, 5);
    ck_assert_uint_eq(uploaded(bind).bytes, 5 * piece_of(100));
    ck_assert_uint_eq(counts_of(bind).objects, 5);
    end(bind);
}
END_TEST

START_TEST(a_second_identical_bind_spills_nothing_and_allocates_nothing)
{
    struct tidemark_counts cold = run_bind(0, 8);
    ck_assert_uint_eq(cold.spilled, 8);
    uint64_t staging = set->slots[0].staging.base, shipped = set->slots[0].shipped.base;
    for (unsigned round = 0; round < 3; round++) {
        unsigned uploads = fake_copies.uploads;
        struct tidemark_counts warm = run_bind(0, 8);
        ck_assert_uint_eq(warm.spilled, 0);
        ck_assert_uint_eq(warm.objects, 8);
        ck_assert_uint_eq(warm.host_calls, 0);
        ck_assert_uint_eq(warm.device_calls, 0);
        ck_assert_uint_eq(warm.uploads, 1);
        ck_assert_uint_eq(warm.bytes, cold.bytes);
        ck_assert_uint_eq(fake_copies.uploads, uploads + 1);
        ck_assert_uint_eq(set->slots[0].staging.base, staging);
        ck_assert_uint_eq(set->slots[0].shipped.base, shipped);
    }
}
END_TEST

START_TEST(an_upload_after_a_spill_sizes_the_block_for_the_next_bind)
{
    run_bind(0, 4);
    size_t room = pool_retained_room(&set->slots[0].staging);
    struct tidemark_counts outgrown = run_bind(0, 40);
    size_t total = 0;
    for (unsigned i = 0; i < 40; i++)
        total += piece_of(100 + i);
    /* What fits is recorded in place, the rest spills. */
    ck_assert_uint_gt(outgrown.spilled, 0);
    ck_assert_uint_lt(outgrown.spilled, 40);
    ck_assert_uint_gt(total, room);
    ck_assert_uint_eq(outgrown.bytes, total);
    ck_assert_uint_eq(set->slots[0].staging.now.bytes,
                      pool_retained_capacity(total + 15));
    ck_assert_uint_ge(pool_retained_room(&set->slots[0].staging), total);
    ck_assert_uint_ge(pool_retained_room(&set->slots[0].shipped), total);
    ck_assert_uint_eq(run_bind(0, 40).spilled, 0);
}
END_TEST

START_TEST(growth_at_the_upload_keeps_what_was_recorded_in_place)
{
    struct tidemark_object objects[3];
    run_bind(0, 2);
    struct tidemark_bind *bind = opened(0);
    uint64_t before = bind->staging.base;
    objects[0] = record(bind, 11, 100);
    objects[1] = record(bind, 12, 101);
    ck_assert_uint_ne(objects[0].offset, TIDEMARK_NO_OFFSET);
    size_t offset = objects[1].offset;
    objects[2] = record(bind, 13, 5000);
    ck_assert_ptr_nonnull(objects[2].spilled);
    uploaded(bind);
    ck_assert_uint_ne(bind->staging.base, before);
    ck_assert_uint_eq(objects[1].offset, offset);
    for (unsigned i = 0; i < 3; i++)
        expect_shipped(bind, &objects[i], 11 + i);
    end(bind);
}
END_TEST

START_TEST(bytes_of_what_spilled_are_counted_once_and_objects_not_bytes_are_spilled)
{
    run_bind(0, 1);
    fake_copies.uploaded_bytes = 0;
    struct tidemark_bind *bind = opened(0);
    record(bind, 1, 100);
    record(bind, 2, 1000);
    record(bind, 3, 3000);
    struct tidemark_upload upload = uploaded(bind);
    size_t total = piece_of(100) + piece_of(1000) + piece_of(3000);
    ck_assert_uint_eq(counts_of(bind).spilled, 2);
    ck_assert_uint_eq(counts_of(bind).bytes, total);
    ck_assert_uint_eq(upload.bytes, total);
    ck_assert_uint_eq(fake_copies.uploaded_bytes, total);
    end(bind);
}
END_TEST

START_TEST(an_uncovered_place_of_a_fresh_device_block_is_no_object)
{
    struct tidemark_bind *bind = opened(0);
    struct tidemark_object object = record(bind, 7, 1000);
    struct tidemark_upload upload = uploaded(bind);
    size_t room = pool_retained_room(&bind->shipped);
    ck_assert_uint_ge(room, upload.bytes + HEADER);
    const char *block = fake_at(&fake_device, upload.address, room);
    const struct tidemark_header *uncovered = (const void *)(block + upload.bytes);
    ck_assert_uint_eq(uncovered->magic, 0);
    ck_assert(!tidemark_header_is_object(uncovered, upload.bind));
    const struct tidemark_header *covered = (const void *)block;
    ck_assert_uint_eq(covered->magic, TIDEMARK_OBJECT_MAGIC);
    ck_assert(tidemark_header_is_object(covered, upload.bind));
    expect_shipped(bind, &object, 7);
    end(bind);
}
END_TEST

START_TEST(an_object_of_an_earlier_bind_is_told_by_its_number)
{
    run_bind(0, 4);
    struct tidemark_bind *bind = opened(0);
    record(bind, 1, 100);
    struct tidemark_upload upload = uploaded(bind);
    const struct tidemark_header *stale =
        fake_at(&fake_device, upload.address + upload.bytes, HEADER);
    ck_assert_uint_eq(stale->magic, TIDEMARK_OBJECT_MAGIC);
    ck_assert(!tidemark_header_is_object(stale, upload.bind));
    end(bind);
}
END_TEST

START_TEST(nothing_but_zero_is_shipped_where_no_image_is)
{
    struct tidemark_settings settings = fake_settings(1);
    settings.object_align = 256;
    ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DONE);
    open_set(&settings);
    for (unsigned round = 0; round < 2; round++) {
        struct tidemark_bind *bind = opened(0);
        if (round > 0)
            memset((void *)(uintptr_t)bind->staging.base, FAKE_GARBAGE,
                   pool_retained_room(&bind->staging));
        struct tidemark_object object = record(bind, 1, 100);
        ck_assert_uint_eq((uintptr_t)object.image % 256, 0);
        struct tidemark_upload upload = uploaded(bind);
        ck_assert_uint_eq(upload.bytes, 512);
        const unsigned char *block = fake_at(&fake_device, upload.address, 512);
        for (size_t i = 0; i < 512; i++)
            if (i < 256 - HEADER || i >= 256 + 100)
                ck_assert_uint_eq(block[i], 0);
        expect_shipped(bind, &object, 1);
        end(bind);
        ck_assert_uint_eq(counts_of(bind).spilled, round == 0);
    }
}
END_TEST

START_TEST(a_bind_without_objects_ships_nothing_and_takes_nothing)
{
    struct tidemark_bind *bind = opened(0);
    struct tidemark_upload upload = uploaded(bind);
    ck_assert_uint_eq(upload.address, 0);
    ck_assert_uint_eq(upload.bytes, 0);
    ck_assert_uint_eq(counts_of(bind).uploads, 0);
    ck_assert_uint_eq(fake_copies.uploads, 0);
    ck_assert_uint_eq(fake_device.allocs, 0);
    ck_assert_uint_eq(fake_host.allocs, 1);
    end(bind);
    run_bind(0, 3); /* nor where the slot keeps a block */
    bind = opened(0);
    upload = uploaded(bind);
    ck_assert_uint_eq(upload.address, 0);
    ck_assert_uint_eq(upload.bytes, 0);
    end(bind);
}
END_TEST

START_TEST(an_object_that_cannot_be_or_cannot_spill_is_refused_and_the_rest_ships)
{
    static const size_t images[] = {SIZE_MAX, SIZE_MAX - 31, SIZE_MAX - 46,
                                    SIZE_MAX - 47 - 16};
    struct tidemark_object object = {.offset = 4711};
    struct tidemark_bind *bind = opened(0);
    for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
        ck_assert_int_eq(tidemark_bind_claim(bind, 1, images[i], &object),
                         TIDEMARK_TOO_LARGE);
    fake_host.refused_allocs = 1;
    ck_assert_int_eq(tidemark_bind_claim(bind, 1, 10, &object), TIDEMARK_NO_HOST_MEMORY);
    ck_assert_uint_eq(object.offset, 4711);
    ck_assert_uint_eq(counts_of(bind).spilled, 0);
    struct tidemark_object good = record(bind, 3, 10);
    uploaded(bind);
    expect_shipped(bind, &good, 3);
    end(bind);
}
END_TEST

START_TEST(an_image_written_past_its_end_is_found_before_anything_is_shipped)
{
    struct tidemark_upload upload;
    run_bind(0, 3);
    struct tidemark_bind *bind = opened(0);
    struct tidemark_object first = record(bind, 1, 100);
    record(bind, 2, 100);
    memset(first.image, 0x11, 120);
    unsigned uploads = fake_copies.uploads;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_OVERRUN);
    ck_assert_uint_eq(fake_copies.uploads, uploads);
    end(bind);
}
END_TEST

START_TEST(a_spilled_header_that_was_written_over_is_found)
{
    struct tidemark_upload upload;
    struct tidemark_bind *bind = opened(0);
    struct tidemark_object object = record(bind, 1, 100);
    memset((char *)object.image - HEADER, 0, 8);
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_OVERRUN);
    end(bind);
}
END_TEST

START_TEST(an_upload_that_failed_may_be_tried_again)
{
    struct tidemark_object objects[3];
    struct tidemark_upload upload = {.bytes = 4711};
    run_bind(0, 1);
    struct tidemark_bind *bind = opened(0);
    objects[0] = record(bind, 1, 100);
    objects[1] = record(bind, 2, 2000);
    fake_host.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_NO_HOST_MEMORY);
    ck_assert_uint_eq(fake_device.allocs, 1); /* of the first bind */
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_DEVICE_REFUSED);
    ck_assert_int_eq(counts_of(bind).device_error, FAKE_ERROR);
    objects[2] = record(bind, 3, 50);
    fake_copies.refused_uploads = 1;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_DEVICE_REFUSED);
    ck_assert_uint_eq(upload.bytes, 4711);
    ck_assert_uint_eq(uploaded(bind).bytes,
                      piece_of(100) + piece_of(2000) + piece_of(50));
    for (unsigned i = 0; i < 3; i++)
        expect_shipped(bind, &objects[i], i + 1);
    ck_assert_uint_eq(counts_of(bind).objects, 3);
    ck_assert_uint_eq(counts_of(bind).uploads, 1);
    end(bind);
}
END_TEST

START_TEST(an_upload_that_failed_leaves_the_device_block_that_served)
{
    run_bind(0, 2);
    struct pool_retained before = set->slots[0].shipped;
    struct tidemark_upload upload;
    struct tidemark_bind *bind = opened(0);
    record(bind, 2, 2000);
    fake_device.refused_allocs = 2;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_DEVICE_REFUSED);
    ck_assert_mem_eq(&bind->shipped, &before, sizeof(before));
    end(bind);
    ck_assert_uint_eq(run_bind(0, 2).device_calls, 0);
}
END_TEST

enum { THREADS = 4, EACH = 200 };

struct recording {
    struct tidemark_bind *bind;
    struct tidemark_object objects[THREADS][EACH];
};

static void record_many(unsigned thread, void *shared)
{
    struct recording *recording = shared;
    for (unsigned i = 0; i < EACH; i++)
        recording->objects[thread][i] =
            record(recording->bind, thread * EACH + i, (i * 13 + thread) % 300);
}

START_TEST(threads_record_at_once_and_everything_ships_whatever_spilled)
{
    static struct recording recording;
    static const uint64_t spilled[] = {THREADS * EACH, 0, 0};
    for (unsigned round = 0; round < 3; round++) {
        recording.bind = opened(0);
        suite_run_threads(THREADS, record_many, &recording);
        uploaded(recording.bind);
        for (unsigned t = 0; t < THREADS; t++)
            for (unsigned i = 0; i < EACH; i++)
                expect_shipped(recording.bind, &recording.objects[t][i], t * EACH + i);
        struct tidemark_counts counts = counts_of(recording.bind);
        ck_assert_uint_eq(counts.objects, THREADS * EACH);
        ck_assert_uint_eq(counts.spilled, spilled[round]);
        end(recording.bind);
    }
}
END_TEST

START_TEST(threads_that_outgrow_the_block_spill_the_rest)
{
    static struct recording recording;
    run_bind(0, 60);
    recording.bind = opened(0);
    suite_run_threads(THREADS, record_many, &recording);
    uploaded(recording.bind);
    unsigned spilled = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned i = 0; i < EACH; i++) {
            expect_shipped(recording.bind, &recording.objects[t][i], t * EACH + i);
            spilled += recording.objects[t][i].spilled != NULL;
        }
    }
    ck_assert_uint_gt(spilled, 0);
    ck_assert_uint_lt(spilled, THREADS * EACH);
    ck_assert_uint_eq(counts_of(recording.bind).spilled, spilled);
    ck_assert_uint_eq(counts_of(recording.bind).objects, THREADS * EACH);
    end(recording.bind);
}
END_TEST

SUITE_MAIN_WITH("pool/bind, objects", setup, teardown,
                a_cold_slot_keeps_nothing_and_every_object_spills,
                a_second_identical_bind_spills_nothing_and_allocates_nothing,
                an_upload_after_a_spill_sizes_the_block_for_the_next_bind,
                growth_at_the_upload_keeps_what_was_recorded_in_place,
                bytes_of_what_spilled_are_counted_once_and_objects_not_bytes_are_spilled,
                an_uncovered_place_of_a_fresh_device_block_is_no_object,
                an_object_of_an_earlier_bind_is_told_by_its_number,
                nothing_but_zero_is_shipped_where_no_image_is,
                a_bind_without_objects_ships_nothing_and_takes_nothing,
                an_object_that_cannot_be_or_cannot_spill_is_refused_and_the_rest_ships,
                an_image_written_past_its_end_is_found_before_anything_is_shipped,
                a_spilled_header_that_was_written_over_is_found,
                an_upload_that_failed_may_be_tried_again,
                an_upload_that_failed_leaves_the_device_block_that_served,
                threads_record_at_once_and_everything_ships_whatever_spilled,
                threads_that_outgrow_the_block_spill_the_rest)

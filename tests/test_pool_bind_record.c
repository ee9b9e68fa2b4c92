/* Defends: a line of a record of binds has every figure, by its name, and says null where
   nothing is known. */
#include "pool/bind_record.h"

#include <stdio.h>
#include <string.h>

#include "tests/suite.h"

static char built[2048];

static const char *line_of(const struct pool_bind_record *record)
{
    struct pool_text text = {.bytes = built, .capacity = sizeof(built) - 1};
    pool_bind_record_put(&text, record);
    built[text.length] = '\0';
    return built;
}

static struct pool_bind_record record_of_ones(void)
{
    struct pool_bind_record record = {
        .number = 3, .slot = -1, .has_thread = true, .start_ns = 17};
    uint64_t value = 1;
#define FIGURE(name, help) record.figures.name = value++;
#include "pool/bind_figures.def"
#undef FIGURE
    return record;
}

START_TEST(every_figure_is_in_the_line_by_its_name)
{
    struct pool_bind_record record = record_of_ones();
    char wanted[64];
    uint64_t value = 1;
    const char *line = line_of(&record);
#define FIGURE(name, help)                                                               \
    snprintf(wanted, sizeof(wanted), ", \"" #name "\": %d", (int)value++);               \
    ck_assert_ptr_nonnull(strstr(line, wanted));
#include "pool/bind_figures.def"
#undef FIGURE
    ck_assert_ptr_eq(strstr(line, "{\"bind\": 3, \"slot\": null, \"phase\": null, "
                                  "\"start_ns\": 17, \"wall_ns\": 1, "),
                     line);
    ck_assert_str_eq(line + strlen(line) - 2, "}\n");
}
END_TEST

START_TEST(a_slot_and_a_phase_are_named_where_there_are_any)
{
    struct pool_bind_record record = record_of_ones();
    record.slot = 0;
    memcpy(record.phase, "re\"cord", 8);
    ck_assert_ptr_nonnull(
        strstr(line_of(&record), "\"slot\": 0, \"phase\": \"re\\\"cord\", "));
}
END_TEST

START_TEST(figures_of_the_thread_are_null_where_two_threads_were_at_it)
{
    struct pool_bind_record record = record_of_ones();
    record.has_thread = false;
    const char *line = line_of(&record);
    ck_assert_ptr_nonnull(strstr(line, "\"thread_cpu_ns\": null"));
    ck_assert_ptr_nonnull(strstr(line, "\"thread_minor_faults\": null"));
    ck_assert_ptr_nonnull(strstr(line, "\"thread_major_faults\": null"));
    ck_assert_ptr_nonnull(strstr(line, "\"minor_faults\": 4"));
}
END_TEST

START_TEST(a_bind_has_the_difference_of_two_readings)
{
    struct pool_bind_record record = record_of_ones();
    struct pool_bind_figures before = record.figures, after = record.figures;
    after.wall_ns += 100;
    after.bytes += 7;
    struct pool_bind_figures between = pool_bind_figures_between(&before, &after);
    ck_assert_uint_eq(between.wall_ns, 100);
    ck_assert_uint_eq(between.bytes, 7);
    ck_assert_uint_eq(between.claims, 0);
}
END_TEST

START_TEST(the_head_says_whose_record_it_is_and_the_last_line_what_is_missing)
{
    struct pool_text text = {.bytes = built, .capacity = sizeof(built) - 1};
    pool_bind_record_put_head(&text, "0.1.0", "train", 42, "staging");
    pool_bind_record_put_lost(&text, 5);
    built[text.length] = '\0';
    ck_assert_str_eq(built, "{\"schema\": \"tidemark.binds/1\", \"tidemark\": \"0.1.0\", "
                            "\"process_id\": 42, \"program\": \"train\", "
                            "\"boundary\": \"staging\"}\n{\"lost\": 5}\n");
}
END_TEST

SUITE_MAIN("pool/bind_record", every_figure_is_in_the_line_by_its_name,
           a_slot_and_a_phase_are_named_where_there_are_any,
           figures_of_the_thread_are_null_where_two_threads_were_at_it,
           a_bind_has_the_difference_of_two_readings,
           the_head_says_whose_record_it_is_and_the_last_line_what_is_missing)

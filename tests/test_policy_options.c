/* Defends: every row has a default that its own rule accepts; a bad value is reported
   with its rule and leaves the default; where each value came from is known; a misspelt
   name is noticed, and the name that was meant is found. */
#include "policy/options.h"

#include <string.h>

#include "tests/suite.h"

/* An environment, and what was complained of while it was read. */
struct environment {
    const char *const (*pairs)[2];
    size_t pair_count;
    unsigned complaint_count;
    const struct policy_option_row *row;
    const char *text;
};

static const char *look_up(void *context, const char *name)
{
    const struct environment *environment = context;
    for (size_t i = 0; i < environment->pair_count; i++)
        if (strcmp(environment->pairs[i][0], name) == 0)
            return environment->pairs[i][1];
    return NULL;
}

static void note(void *context, const struct policy_option_row *row, const char *text)
{
    struct environment *environment = context;
    environment->complaint_count++;
    environment->row = row;
    environment->text = text;
}

struct reading {
    struct policy_options options;
    struct policy_option_value values[POLICY_OPTION_COUNT];
    struct environment environment;
};

static struct reading read_pairs(const char *const (*pairs)[2], size_t pair_count,
                                 const char *run_fields)
{
    struct reading reading = {
        .environment = {.pairs = pairs, .pair_count = pair_count},
    };
    policy_options_read(&reading.options, reading.values, look_up, note,
                        &reading.environment, run_fields);
    return reading;
}

/* Reads one name; a default of another row shows nothing. */
static struct reading read_one(const char *name, const char *text)
{
    const char *const pairs[][2] = {{name, text}};
    return read_pairs(pairs, 1, NULL);
}

static void defaults_hold(const struct policy_options *options)
{
    ck_assert(options->enabled);
    ck_assert_int_eq(options->device_mem.others.kind, POLICY_CEILING_DEVICE);
    ck_assert_int_eq(options->pinned_mem.kind, POLICY_CEILING_NONE);
    ck_assert_int_eq(options->heap_mem.kind, POLICY_CEILING_NONE);
    ck_assert_uint_eq(options->headroom.numerator, 15);
    ck_assert_uint_eq(options->headroom.denominator, 100);
    ck_assert_uint_eq(options->staging_min, 65536);
    ck_assert_int_eq(options->device_retain.kind, POLICY_CEILING_PERCENT);
    ck_assert_uint_eq(policy_quantity_share_down(options->device_retain.share, 400), 100);
    ck_assert_uint_eq(policy_quantity_share_down(options->pinned_retain.share, 400), 100);
    ck_assert_int_eq(options->reuse, POLICY_REUSE_DIRTY);
    ck_assert(!options->free_sync);
    ck_assert_ptr_null(options->report);
    ck_assert_int_eq(options->report_format, POLICY_REPORT_TEXT);
    ck_assert(options->deepbind);
    ck_assert(!options->verbose);
}

static void is_refused(const char *name, const char *text, const char *rule)
{
    struct reading reading = read_one(name, text);
    ck_assert_msg(reading.environment.complaint_count == 1, "%s: \"%s\" was not refused",
                  name, text);
    ck_assert_str_eq(reading.environment.row->environment, name);
    ck_assert_str_eq(reading.environment.row->rule, rule);
    ck_assert_str_eq(reading.environment.text, text);
    defaults_hold(&reading.options);
}

static struct policy_options accepted(const char *name, const char *text)
{
    struct reading reading = read_one(name, text);
    ck_assert_msg(reading.environment.complaint_count == 0, "%s: \"%s\" was refused",
                  name, text);
    return reading.options;
}

START_TEST(an_empty_environment_gives_every_default)
{
    struct reading reading = read_pairs(NULL, 0, NULL);
    defaults_hold(&reading.options);
    ck_assert_uint_eq(reading.environment.complaint_count, 0);
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        ck_assert_int_eq(reading.values[i].origin, POLICY_ORIGIN_DEFAULT);
        ck_assert_str_eq(reading.values[i].text, policy_option_rows[i].initial);
    }
}
END_TEST

START_TEST(every_row_says_what_it_is)
{
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        const struct policy_option_row *row = &policy_option_rows[i];
        ck_assert_int_eq(strncmp(row->environment, "TIDEMARK", 8), 0);
        ck_assert_str_ne(row->field, "");
        ck_assert_str_ne(row->argument, "");
        ck_assert_str_ne(row->help, "");
        ck_assert_str_ne(row->rule, "");
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(policy_option_rows[j].environment, row->environment);
    }
}
END_TEST

START_TEST(a_switch_reads_all_its_words)
{
    static const char *const on_words[] = {"on", "1", "yes", "true"};
    static const char *const off_words[] = {"off", "0", "no", "false"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert(accepted("TIDEMARK_VERBOSE", on_words[i]).verbose);
        ck_assert(!accepted("TIDEMARK", off_words[i]).enabled);
    }
}
END_TEST

START_TEST(each_type_reads_a_value_other_than_its_default)
{
    ck_assert_int_eq(accepted("TIDEMARK_DEVICE_MEM", "none").device_mem.others.kind,
                     POLICY_CEILING_NONE);
    ck_assert_uint_eq(accepted("TIDEMARK_DEVICE_MEM", "4GiB").device_mem.others.bytes,
                      UINT64_C(4) << 30);
    ck_assert_uint_eq(accepted("TIDEMARK_PINNED_MEM", "1").pinned_mem.bytes, 1);
    ck_assert_int_eq(accepted("TIDEMARK_HEAP_MEM", "100%").heap_mem.kind,
                     POLICY_CEILING_PERCENT);
    ck_assert_uint_eq(accepted("TIDEMARK_HEADROOM", "0").headroom.numerator, 0);
    ck_assert_uint_eq(accepted("TIDEMARK_STAGING_MIN", "1").staging_min, 1);
    ck_assert_int_eq(accepted("TIDEMARK_REPORT_FORMAT", "json").report_format,
                     POLICY_REPORT_JSON);
    ck_assert(!accepted("TIDEMARK_DEEPBIND", "keep").deepbind);
    ck_assert_str_eq(accepted("TIDEMARK_BIND_ON", "cuMemAlloc_v2").bind_on,
                     "cuMemAlloc_v2");
    ck_assert_str_eq(accepted("TIDEMARK_BINDS", "out/%p.jsonl").binds, "out/%p.jsonl");
}
END_TEST

START_TEST(what_is_kept_is_nothing_a_size_or_a_share)
{
    ck_assert_int_eq(accepted("TIDEMARK_DEVICE_RETAIN", "off").device_retain.kind,
                     POLICY_CEILING_NONE);
    struct policy_options sized = accepted("TIDEMARK_PINNED_RETAIN", "1GiB");
    ck_assert_int_eq(sized.pinned_retain.kind, POLICY_CEILING_BYTES);
    ck_assert_uint_eq(sized.pinned_retain.bytes, 1 << 30);
    ck_assert_int_eq(accepted("TIDEMARK_DEVICE_RETAIN", "100%").device_retain.kind,
                     POLICY_CEILING_PERCENT);
    is_refused("TIDEMARK_DEVICE_RETAIN", "none",
               "off, a size, or a percentage above 0 and at most 100");
    is_refused("TIDEMARK_PINNED_RETAIN", "101%",
               "off, a size, or a percentage above 0 and at most 100");
}
END_TEST

START_TEST(what_is_handed_out_again_is_dirty_zero_or_poison)
{
    ck_assert_int_eq(accepted("TIDEMARK_REUSE", "zero").reuse, POLICY_REUSE_ZERO);
    ck_assert_int_eq(accepted("TIDEMARK_REUSE", "poison").reuse, POLICY_REUSE_POISON);
    ck_assert_int_eq(accepted("TIDEMARK_REUSE", "dirty").reuse, POLICY_REUSE_DIRTY);
    is_refused("TIDEMARK_REUSE", "0", "dirty, zero or poison");
}
END_TEST

START_TEST(a_report_keeps_its_text_and_none_is_no_report)
{
    ck_assert_ptr_null(accepted("TIDEMARK_REPORT", "none").report);
    ck_assert_str_eq(accepted("TIDEMARK_REPORT", "stderr").report, "stderr");
    ck_assert_str_eq(accepted("TIDEMARK_REPORT", "out/%p.json").report, "out/%p.json");
}
END_TEST

START_TEST(a_bad_value_is_reported_with_its_rule_and_leaves_the_default)
{
    is_refused("TIDEMARK", "ON", "on or off");
    is_refused("TIDEMARK_VERBOSE", "2", "on or off");
    is_refused("TIDEMARK_DEVICE_MEM", "0",
               "device, none, a size of at least 1 byte, or a percentage above 0 and at "
               "most 100, or a list of these by device as in 0=8GiB,1=50%,*=none");
    is_refused(
        "TIDEMARK_PINNED_MEM", "device",
        "none, a size of at least 1 byte, or a percentage above 0 and at most 100");
    is_refused(
        "TIDEMARK_HEAP_MEM", "0",
        "none, a size of at least 1 byte, or a percentage above 0 and at most 100");
    is_refused("TIDEMARK_HEADROOM", "1", "a decimal fraction of at least 0 and below 1");
    is_refused("TIDEMARK_STAGING_MIN", "0", "a size of at least 1 byte");
    is_refused("TIDEMARK_STAGING_MIN", "64 KiB", "a size of at least 1 byte");
    is_refused("TIDEMARK_REPORT_FORMAT", "xml", "text or json");
    is_refused("TIDEMARK_DEEPBIND", "on", "clear or keep");
    is_refused("TIDEMARK_BIND_ON", "", "staging, or the name of a driver function");
    is_refused("TIDEMARK_BIND_ON", "cu-X", "staging, or the name of a driver function");
}
END_TEST

static void is_explained(enum policy_option_id id, const char *text, const char *wanted)
{
    char reason[POLICY_OPTIONS_REASON_BYTES];
    policy_options_explain(&policy_option_rows[id], text, reason);
    ck_assert_str_eq(reason, wanted);
}

START_TEST(a_refusal_is_explained_by_the_rule_or_by_the_entry_at_fault)
{
    static char entry[1000];
    is_explained(POLICY_OPTION_verbose, "2", "must be on or off");
    is_explained(
        POLICY_OPTION_heap_mem, "0=1GiB",
        "must be none, a size of at least 1 byte, or a percentage above 0 and at "
        "most 100");
    is_explained(POLICY_OPTION_device_mem, "0=1GiB,0=2GiB",
                 "0=2GiB names a device for the second time");
    is_explained(POLICY_OPTION_device_mem, "1=1GiB",
                 "a device below the last one is not named, and there is no *");
    memset(entry, '1', sizeof entry - 1);
    entry[999 - 1] = '=';
    char reason[POLICY_OPTIONS_REASON_BYTES];
    policy_options_explain(&policy_option_rows[POLICY_OPTION_device_mem], entry, reason);
    ck_assert_uint_eq(strspn(reason, "1"), 60);
    ck_assert_str_eq(reason + 60,
                     " does not begin with a device below 64 and =, or with *=");
    for (size_t id = 0; id < POLICY_OPTION_COUNT; id++) {
        policy_options_explain(&policy_option_rows[id], "", reason);
        ck_assert_int_eq(strncmp(reason, "must be ", 8), 0);
        ck_assert_str_eq(reason + 8, policy_option_rows[id].rule);
    }
}
END_TEST

START_TEST(an_empty_value_is_refused_by_every_row)
{
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
        is_refused(policy_option_rows[i].environment, "", policy_option_rows[i].rule);
}
END_TEST

START_TEST(a_refused_value_keeps_the_default_text_and_origin)
{
    struct reading reading = read_one("TIDEMARK_HEADROOM", "much");
    struct policy_option_value value = reading.values[POLICY_OPTION_headroom];
    ck_assert_int_eq(value.origin, POLICY_ORIGIN_DEFAULT);
    ck_assert_str_eq(value.text, "0.15");
}
END_TEST

START_TEST(a_value_set_by_the_run_command_is_told_from_one_of_the_environment)
{
    const char *const pairs[][2] = {
        {"TIDEMARK_HEADROOM", "0.2"},
        {"TIDEMARK_REPORT", "stderr"},
        {"TIDEMARK_REPORT_FORMAT", "json"},
        {"TIDEMARK", "on"},
    };
    struct reading reading =
        read_pairs(pairs, 4, "TIDEMARK_HEADROOM,TIDEMARK_REPORT_FORMAT");
    ck_assert_int_eq(reading.values[POLICY_OPTION_headroom].origin, POLICY_ORIGIN_RUN);
    ck_assert_int_eq(reading.values[POLICY_OPTION_report_format].origin,
                     POLICY_ORIGIN_RUN);
    ck_assert_str_eq(reading.values[POLICY_OPTION_report_format].text, "json");
    /* Only a part of an item each. */
    ck_assert_int_eq(reading.values[POLICY_OPTION_report].origin,
                     POLICY_ORIGIN_ENVIRONMENT);
    ck_assert_int_eq(reading.values[POLICY_OPTION_enabled].origin,
                     POLICY_ORIGIN_ENVIRONMENT);
    /* Named, but not set. */
    reading = read_pairs(NULL, 0, "TIDEMARK_HEADROOM");
    ck_assert_int_eq(reading.values[POLICY_OPTION_headroom].origin,
                     POLICY_ORIGIN_DEFAULT);
}
END_TEST

START_TEST(a_list_of_names_may_be_empty_or_have_empty_items)
{
    const char *const pairs[][2] = {{"TIDEMARK_HEADROOM", "0.2"}};
    ck_assert_int_eq(read_pairs(pairs, 1, "").values[POLICY_OPTION_headroom].origin,
                     POLICY_ORIGIN_ENVIRONMENT);
    ck_assert_int_eq(read_pairs(pairs, 1, ",,TIDEMARK_HEADROOM,")
                         .values[POLICY_OPTION_headroom]
                         .origin,
                     POLICY_ORIGIN_RUN);
}
END_TEST

START_TEST(a_set_that_is_refused_changes_nothing)
{
    struct reading reading = read_pairs(NULL, 0, NULL);
    ck_assert(!policy_options_set(&reading.options, POLICY_OPTION_device_mem, "100x"));
    defaults_hold(&reading.options);
    ck_assert(policy_options_set(&reading.options, POLICY_OPTION_device_mem, "50%"));
    ck_assert_int_eq(reading.options.device_mem.others.kind, POLICY_CEILING_PERCENT);
}
END_TEST

START_TEST(only_a_name_with_our_prefix_and_no_row_is_unknown)
{
    ck_assert(policy_options_unknown("TIDEMARK_FOO=1"));
    ck_assert(policy_options_unknown("TIDEMARK_=1"));
    ck_assert(policy_options_unknown("TIDEMARK_HEADROO=0.1"));
    ck_assert(policy_options_unknown("TIDEMARK_HEADROOMS=0.1"));
    ck_assert(policy_options_unknown("TIDEMARK_RUNS=1"));
    ck_assert(policy_options_unknown("TIDEMARK_FOO"));
    ck_assert(!policy_options_unknown("TIDEMARK_RUN=TIDEMARK_HEADROOM"));
    ck_assert(!policy_options_unknown("TIDEMARK=on"));
    ck_assert(!policy_options_unknown("TIDEMARKX=1"));
    ck_assert(!policy_options_unknown("tidemark_foo=1"));
    ck_assert(!policy_options_unknown("PATH=TIDEMARK_FOO=1"));
    ck_assert(!policy_options_unknown(""));
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++)
        ck_assert(!policy_options_unknown(policy_option_rows[i].environment));
}
END_TEST

START_TEST(the_name_that_was_meant_is_found_within_three_edits)
{
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_HEADROM"), "TIDEMARK_HEADROOM");
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_HAEDROOM"), "TIDEMARK_HEADROOM");
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_REPORTS=x"), "TIDEMARK_REPORT");
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_DEVICEMEM=1G"),
                     "TIDEMARK_DEVICE_MEM");
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_REPORT_FORM"),
                     "TIDEMARK_REPORT_FORMAT");
    ck_assert_str_eq(policy_options_nearest("TIDEMARK_DEEPBIXYZ"), "TIDEMARK_DEEPBIND");
}
END_TEST

START_TEST(a_name_that_is_four_edits_from_all_others_resembles_none)
{
    static char long_name[4096];
    memset(long_name, 'T', sizeof long_name - 1);
    ck_assert_ptr_null(policy_options_nearest("TIDEMARK_FOO"));
    ck_assert_ptr_null(policy_options_nearest("TIDEMARK_DEEPBWXYZ"));
    ck_assert_ptr_null(policy_options_nearest(""));
    ck_assert_ptr_null(policy_options_nearest("=TIDEMARK"));
    ck_assert_ptr_null(policy_options_nearest(long_name));
}
END_TEST

SUITE_MAIN("policy/options", an_empty_environment_gives_every_default,
           every_row_says_what_it_is, a_switch_reads_all_its_words,
           each_type_reads_a_value_other_than_its_default,
           what_is_kept_is_nothing_a_size_or_a_share,
           what_is_handed_out_again_is_dirty_zero_or_poison,
           a_report_keeps_its_text_and_none_is_no_report,
           a_bad_value_is_reported_with_its_rule_and_leaves_the_default,
           a_refusal_is_explained_by_the_rule_or_by_the_entry_at_fault,
           an_empty_value_is_refused_by_every_row,
           a_refused_value_keeps_the_default_text_and_origin,
           a_value_set_by_the_run_command_is_told_from_one_of_the_environment,
           a_list_of_names_may_be_empty_or_have_empty_items,
           a_set_that_is_refused_changes_nothing,
           only_a_name_with_our_prefix_and_no_row_is_unknown,
           the_name_that_was_meant_is_found_within_three_edits,
           a_name_that_is_four_edits_from_all_others_resembles_none)

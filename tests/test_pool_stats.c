/* Defends: a report says every counter once, under its own name, with its exact value; it
   says "none" or null where there is no number; and the same report is the same text,
   whatever the size of the buffer. check_report_json.sh reads the JSON with a parser. */
#include "pool/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/report_sample.h"
#include "tests/suite.h"

enum { ROOM = 16384 };

typedef void (*put_report)(struct pool_text *text, const struct pool_report *report);

static char written[ROOM];
static size_t written_length;

static void take(void *context, const char *bytes, size_t length)
{
    (void)context;
    ck_assert_uint_lt(written_length + length, sizeof(written));
    memcpy(written + written_length, bytes, length);
    written_length += length;
    written[written_length] = '\0';
}

/* The report as a string, built in a buffer of `capacity`. */
static const char *render(put_report put, const struct pool_report *report,
                          size_t capacity)
{
    static char buffer[ROOM];
    struct pool_text text = {.bytes = buffer, .capacity = capacity, .sink = take};
    written_length = 0;
    put(&text, report);
    pool_text_flush(&text);
    return written;
}

static unsigned occurrences(const char *text, const char *part)
{
    unsigned count = 0;
    for (text = strstr(text, part); text; text = strstr(text + 1, part))
        count++;
    return count;
}

static void says_once(const char *text, const char *part)
{
    ck_assert_msg(occurrences(text, part) == 1, "%u times \"%s\" in:\n%s",
                  occurrences(text, part), part, text);
}

START_TEST(the_text_names_the_process_and_what_it_retains)
{
    struct pool_report report = {.version = "1.2.3",
                                 .program = "/bin/true",
                                 .retention = "off: TIDEMARK=off",
                                 .device_retention = "off: cuda-gdb",
                                 .process_id = 17};
    const char *text = render(pool_report_put_text, &report, ROOM);
    const char expected[] = "tidemark 1.2.3 report for process 17, /bin/true\n"
                            "retention             off: TIDEMARK=off\n"
                            "device retention      off: cuda-gdb\n"
                            "heap\n"
                            "  claims              0\n";
    ck_assert_mem_eq(text, expected, strlen(expected));
    report.program = NULL;
    text = render(pool_report_put_text, &report, ROOM);
    says_once(text, "tidemark 1.2.3 report for process 17\n");
}
END_TEST

START_TEST(the_text_has_a_line_for_every_counter)
{
    struct pool_report report = report_sample();
    const char *text = render(pool_report_put_text, &report, ROOM);
    unsigned row = 0;
    char line[128];
#define STAT(group, name, help)                                                          \
    snprintf(line, sizeof(line), "  %-20s%" PRIu64, #name, report_sample_value(row++));  \
    says_once(text, line);
#include "pool/stats.def"
#undef STAT
    says_once(text, "\nheap\n");
    says_once(text, "\nmemory_calls\n");
    says_once(text, "\ndriver_calls\n");
    says_once(text, "\nfaults\n");
}
END_TEST

START_TEST(the_text_gives_sizes_and_only_sizes_a_unit)
{
    struct pool_report report = {
        .version = "1", .retention = "on", .device_retention = "on"};
    report.stats.heap_claims = 1048576;
    report.stats.heap_live_bytes = 1048576;
    const char *text = render(pool_report_put_text, &report, ROOM);
    says_once(text, "  claims              1048576\n");
    says_once(text, "  live_bytes          1048576 B (1.00 MiB)\n");
}
END_TEST

START_TEST(the_text_ends_with_each_device_and_where_its_ceiling_came_from)
{
    struct pool_report report = report_sample();
    const char *text = render(pool_report_put_text, &report, ROOM);
    const char expected[] =
        "device 0\n"
        "  ceiling             85899345920 B (80.00 GiB), device less headroom\n"
        "  charged             1048576 B (1.00 MiB)\n"
        "  most charged        2097152 B (2.00 MiB)\n"
        "  refusals            3\n"
        "  charged as managed  4096 B (4.00 KiB)\n"
        "  in use on device    3145728 B (3.00 MiB)\n"
        "  external residency  2097151 B (2.00 MiB)\n"
        "device 1\n"
        "  ceiling             1000 B, request\n"
        "  charged             999 B\n"
        "  most charged        1000 B\n"
        "  refusals            18446744073709551615\n"
        "  charged as managed  0 B\n"
        "  in use on device    not observed\n"
        "  external residency  not observed\n"
        "device 7\n"
        "  ceiling             none, unbudgeted\n"
        "  charged             0 B\n"
        "  most charged        0 B\n"
        "  refusals            0\n"
        "  charged as managed  0 B\n"
        "  in use on device    not observed\n"
        "  external residency  not observed\n";
    const char *devices = strstr(text, "device 0");
    ck_assert_ptr_nonnull(devices);
    ck_assert_str_eq(devices, expected);
}
END_TEST

START_TEST(the_text_has_what_was_limited_of_the_host)
{
    struct pool_report report = report_sample();
    const char *text = render(pool_report_put_text, &report, ROOM);
    says_once(text,
              "\npage-locked memory\n"
              "  ceiling             4096 B (4.00 KiB), request capped by headroom\n"
              "  charged             7 B\n"
              "  most charged        4096 B (4.00 KiB)\n"
              "  refusals            2\n"
              "heap memory\n"
              "  ceiling             none, unbudgeted\n"
              "  charged             65536 B (64.00 KiB)\n"
              "  most charged        131072 B (128.00 KiB)\n"
              "  refusals            0\n"
              "device 0\n");
}
END_TEST

START_TEST(the_json_of_a_process_without_devices_has_an_empty_array)
{
    struct pool_report report = {.version = "1.2.3",
                                 .retention = "on",
                                 .device_retention = "on",
                                 .process_id = 17};
    const char *json = render(pool_report_put_json, &report, ROOM);
    const char expected[] = "{\n"
                            "  \"schema\": \"tidemark.report/1\",\n"
                            "  \"tidemark\": \"1.2.3\",\n"
                            "  \"process_id\": 17,\n"
                            "  \"program\": null,\n"
                            "  \"retention\": \"on\",\n"
                            "  \"device_retention\": \"on\",\n"
                            "  \"heap\": {\"claims\": 0, ";
    const char end[] = "},\n  \"devices\": [],\n  \"host\": []\n}\n";
    ck_assert_mem_eq(json, expected, strlen(expected));
    ck_assert_str_eq(json + strlen(json) - strlen(end), end);
}
END_TEST

START_TEST(the_json_has_null_where_nothing_is_limited)
{
    struct pool_report report = report_sample();
    const char *json = render(pool_report_put_json, &report, ROOM);
    says_once(json, "{\"ordinal\": 1, \"ceiling_bytes\": 1000, "
                    "\"ceiling_source\": \"request\", \"device_limit_bytes\": null, "
                    "\"charged_bytes\": 999, \"peak_charged_bytes\": 1000, "
                    "\"refusals\": 18446744073709551615, \"managed_bytes\": 0, "
                    "\"observed_bytes\": null, \"external_bytes\": null}");
    says_once(json, "\"refusals\": 3, \"managed_bytes\": 4096, "
                    "\"observed_bytes\": 3145728, \"external_bytes\": 2097151}");
    says_once(json, "{\"ordinal\": 7, \"ceiling_bytes\": null, "
                    "\"ceiling_source\": \"unbudgeted\", "
                    "\"device_limit_bytes\": 101059813376, \"charged_bytes\": 0, "
                    "\"peak_charged_bytes\": 0, \"refusals\": 0, ");
    says_once(json, "{\"name\": \"heap memory\", \"ceiling_bytes\": null, "
                    "\"ceiling_source\": \"unbudgeted\", \"usable_bytes\": null, "
                    "\"charged_bytes\": 65536, \"peak_charged_bytes\": 131072, "
                    "\"refusals\": 0}\n  ]\n}\n");
    ck_assert_uint_eq(occurrences(json, "null"), 8);
}
END_TEST

static void same_for_every_buffer(put_report put)
{
    static char whole[ROOM];
    struct pool_report report = report_sample();
    strcpy(whole, render(put, &report, ROOM));
    for (size_t capacity = 1; capacity < 100; capacity++)
        ck_assert_str_eq(render(put, &report, capacity), whole);
}

START_TEST(a_report_is_the_same_whatever_the_buffer)
{
    same_for_every_buffer(pool_report_put_text);
    same_for_every_buffer(pool_report_put_json);
}
END_TEST

SUITE_MAIN("pool/stats", the_text_names_the_process_and_what_it_retains,
           the_text_has_a_line_for_every_counter,
           the_text_gives_sizes_and_only_sizes_a_unit,
           the_text_ends_with_each_device_and_where_its_ceiling_came_from,
           the_text_has_what_was_limited_of_the_host,
           the_json_of_a_process_without_devices_has_an_empty_array,
           the_json_has_null_where_nothing_is_limited,
           a_report_is_the_same_whatever_the_buffer)

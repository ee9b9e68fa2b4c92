#include "tools/tidemark/admit_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/quantity.h"
#include "pool/text.h"
#include "tools/tidemark/json_input.h"
#include "tools/tidemark/say.h"

#define TOTAL_LINE "Total bytes used: "

enum {
    SHOWN_BYTES = 32,                      /* of any number */
    REPORTED_BYTES = 800,                  /* of all counters with their values */
    PLACE_BYTES = ADMIT_DEVICE_BYTES + 48, /* of a device with a counter */
};

/* One record within a report. */
struct place {
    const struct json_input *input;
    const char *device; /* as a path of json_input; "" is the whole file */
};

/* Says what is wrong with a counter, and is false. */
static bool refuse(const struct place *place, enum policy_counter counter,
                   const char *what)
{
    char where[PLACE_BYTES];

    snprintf(where, sizeof where, "%s%s%s", place->device,
             place->device[0] == '\0' ? "" : ".", policy_counter_rows[counter].name);
    json_input_complain(place->input, where, "%s", what);
    return false;
}

/* The value in a few words; "absent" for none. */
static const char *show(const json_t *value, char shown[SHOWN_BYTES])
{
    uint64_t number;

    if (json_input_number(value, &number))
        snprintf(shown, SHOWN_BYTES, "%" PRIu64, number);
    else if (json_is_integer(value))
        snprintf(shown, SHOWN_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(shown, SHOWN_BYTES, "%#g", json_real_value(value));
    else if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    else if (json_is_string(value))
        return "a string";
    else if (json_is_array(value))
        return "an array";
    else if (json_is_object(value))
        return "an object";
    else
        return value == NULL ? "absent" : "null";
    return shown;
}

/* One line with every counter as it was reported, for whoever looks for the cause. */
static void show_counters(const struct place *place, const json_t *object)
{
    char line[REPORTED_BYTES] = "", shown[SHOWN_BYTES];
    struct pool_text text = {.bytes = line, .capacity = sizeof line - 1};

    for (size_t i = 0; i < POLICY_COUNTER_COUNT; i++) {
        const char *name = policy_counter_rows[i].name;
        pool_text_put(&text, i == 0 ? "" : ", ");
        pool_text_put(&text, name);
        pool_text_put(&text, " ");
        pool_text_put(&text, show(json_object_get(object, name), shown));
    }
    say("%s: reported: %s", place->input->path, line);
}

static bool read_counters(const struct place *place, const json_t *object,
                          struct policy_record *counters)
{
    for (enum policy_counter i = 0; i < POLICY_COUNTER_COUNT; i++) {
        const struct policy_counter_row *row = &policy_counter_rows[i];
        const json_t *value = json_object_get(object, row->name);
        /* Metadata is not used, whatever it is. */
        if (value == NULL || row->role == POLICY_ROLE_METADATA)
            continue;
        if (!json_input_number(value, &counters->bytes[i]))
            return refuse(place, i, "must be " JSON_INPUT_NUMBER_RULE);
        counters->is_known[i] = true;
    }
    return true;
}

static bool reserve(const struct place *place, struct admit_record *record)
{
    struct policy_record_fault fault;

    record->is_reserved =
        policy_reservation_of(&record->counters, &record->reservation, &fault);
    return record->is_reserved || fault.kind == POLICY_SIZE_OVERFLOW ||
           refuse(place, fault.counter, fault.sentence);
}

/* Reads the next record into *report, which has room for it. */
static bool append(struct admit_report *report, const struct place *place,
                   const char *device, const json_t *object)
{
    struct admit_record *record = &report->records[report->record_count];

    if (!json_is_object(object)) {
        json_input_complain(place->input, place->device,
                            "must be a record, an object of counters");
        return false;
    }
    snprintf(record->device, sizeof record->device, "%s", device);
    if (!read_counters(place, object, &record->counters) || !reserve(place, record)) {
        show_counters(place, object);
        return false;
    }
    report->record_count++;
    return true;
}

static bool read_array(const struct json_input *input, struct admit_report *report)
{
    for (size_t i = 0; i < json_array_size(input->root); i++) {
        char where[PLACE_BYTES], device[ADMIT_DEVICE_BYTES];
        struct place place = {input, where};
        snprintf(where, sizeof where, "[%zu]", i);
        snprintf(device, sizeof device, "%zu", i);
        if (!append(report, &place, device, json_array_get(input->root, i)))
            return false;
    }
    return true;
}

/* Names are printed, so they have to be printable. */
static bool is_device_name(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++)
        if (name[i] < ' ' || name[i] > '~')
            return false;
    return length > 0 && length < ADMIT_DEVICE_BYTES;
}

static bool read_object(const struct json_input *input, struct admit_report *report)
{
    const char *device;
    json_t *object;

    json_object_foreach(input->root, device, object)
    {
        struct place place = {input, device};
        if (!is_device_name(device)) {
            json_input_complain(input, "",
                                "a device's name must be 1 to %d characters of ASCII",
                                ADMIT_DEVICE_BYTES - 1);
            return false;
        }
        if (!append(report, &place, device, object))
            return false;
    }
    return true;
}

/* Whether the object is a record itself, however incomplete, rather than records by
   device. */
static bool is_record(const json_t *object)
{
    for (size_t i = 0; i < POLICY_COUNTER_COUNT; i++)
        if (json_object_get(object, policy_counter_rows[i].name) != NULL)
            return true;
    return false;
}

static bool make_room(struct admit_report *report, size_t record_count)
{
    if (record_count == 0 || record_count > ADMIT_REPORT_DEVICES_MAX) {
        say("%s: line 1, column 1: %zu records; must be 1 to %d", report->path,
            record_count, ADMIT_REPORT_DEVICES_MAX);
        return false;
    }
    report->records = calloc(record_count, sizeof *report->records);
    if (report->records == NULL)
        say("%s: %s", report->path, strerror(errno));
    return report->records != NULL;
}

static bool read_root(const struct json_input *input, struct admit_report *report)
{
    const struct place whole = {input, ""};

    if (json_is_array(input->root))
        return make_room(report, json_array_size(input->root)) &&
               read_array(input, report);
    if (is_record(input->root))
        return make_room(report, 1) && append(report, &whole, "", input->root);
    return make_room(report, json_object_size(input->root)) && read_object(input, report);
}

static bool parse_json(const char *bytes, size_t length, struct admit_report *report)
{
    struct json_input input;

    if (!json_input_parse(report->path, bytes, length, &input))
        return false;
    bool done = read_root(&input, report);
    json_input_close(&input);
    return done;
}

/* "Total bytes used: N (...)": what follows is rounded for people. */
static bool parse_total(const char *bytes, size_t length, struct admit_report *report)
{
    char line[sizeof TOTAL_LINE + 24] = "";
    uint64_t total_bytes;

    memcpy(line, bytes, length < sizeof line - 1 ? length : sizeof line - 1);
    char *digits = line + sizeof TOTAL_LINE - 1;
    char *end = digits + strspn(digits, "0123456789");
    bool is_whole = strncmp(end, " (", 2) == 0;
    *end = '\0';
    if (!is_whole || !policy_quantity_parse_bytes(digits, &total_bytes)) {
        say("%s: line 1, column %zu: must be a whole number of bytes below 2^64",
            report->path, sizeof TOTAL_LINE);
        return false;
    }
    if (!make_room(report, 1))
        return false;
    struct admit_record *record = &report->records[report->record_count++];
    record->is_total = true;
    record->is_reserved = true;
    record->counters.bytes[POLICY_COUNTER_PEAK] = total_bytes;
    record->counters.is_known[POLICY_COUNTER_PEAK] = true;
    record->reservation = policy_reservation_of_total(total_bytes);
    return true;
}

bool admit_report_parse(const char *path, const char *bytes, size_t length,
                        struct admit_report *report)
{
    size_t prefix = sizeof TOTAL_LINE - 1;

    *report = (struct admit_report){.path = path};
    bool is_text = length >= prefix && memcmp(bytes, TOTAL_LINE, prefix) == 0;
    bool done =
        is_text ? parse_total(bytes, length, report) : parse_json(bytes, length, report);
    if (!done)
        admit_report_free(report);
    return done;
}

bool admit_report_read(const char *path, struct admit_report *report)
{
    size_t room = JSON_INPUT_BYTES_MAX + 1; /* to see that there is more */
    char *bytes = malloc(room);
    FILE *file = bytes != NULL ? fopen(path, "re") : NULL;
    size_t length = file != NULL ? fread(bytes, 1, room, file) : 0;
    bool done = false;

    if (file == NULL || ferror(file))
        say("%s: %s", path, strerror(errno));
    else
        done = admit_report_parse(path, bytes, length, report);
    if (file != NULL)
        fclose(file);
    free(bytes);
    return done;
}

const struct admit_record *admit_report_find(const struct admit_report *report,
                                             const char *device)
{
    for (size_t i = 0; i < report->record_count; i++) {
        const struct admit_record *record = &report->records[i];
        if (record->device[0] == '\0' || strcmp(record->device, device) == 0)
            return record;
    }
    return NULL;
}

void admit_report_free(struct admit_report *report)
{
    free(report->records);
    report->records = NULL;
    report->record_count = 0;
}

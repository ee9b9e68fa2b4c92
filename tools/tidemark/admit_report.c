#include "tools/tidemark/admit_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policy/quantity.h"
#include "pool/text.h"
#include "tools/tidemark/say.h"

#define TOTAL_LINE   "Total bytes used: "
#define DIGITS       "0123456789"
#define COUNTER_RULE "a whole number below 2^64, from 2^63 up as a string of digits"

enum {
    SHOWN_BYTES = 40,       /* of a value that is shown because it is wrong */
    COMPLAINT_BYTES = 1024, /* more than all counters with their values take */
};

/* Where in a report something is wrong. */
struct place {
    const char *path;
    const char *device;
};

__attribute__((format(printf, 2, 3))) static void complain(const struct place *place,
                                                           const char *format, ...)
{
    char what[COMPLAINT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (place->device[0] == '\0')
        say("%s: %s", place->path, what);
    else
        say("%s: device %s: %s", place->path, place->device, what);
}

/* What is quoted of a file may be anything, and a terminal would act on some of it. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

/* The value as JSON, cut short; "absent" for none. */
static const char *show(const json_t *value, char shown[SHOWN_BYTES])
{
    char *text =
        value == NULL
            ? NULL
            : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    int length = snprintf(shown, SHOWN_BYTES, "%s", text != NULL ? text : "absent");

    free(text);
    if (length >= SHOWN_BYTES)
        strcpy(shown + SHOWN_BYTES - sizeof "...", "...");
    make_printable(shown);
    return shown;
}

/* One line with every counter as it was reported, for whoever looks for the cause. */
static void show_counters(const struct place *place, const json_t *object)
{
    char line[COMPLAINT_BYTES] = "", shown[SHOWN_BYTES];
    struct pool_text text = {.bytes = line, .capacity = sizeof line - 1};

    for (size_t i = 0; i < POLICY_COUNTER_COUNT; i++) {
        const char *name = policy_counter_rows[i].name;
        pool_text_put(&text, i == 0 ? "" : ", ");
        pool_text_put(&text, name);
        pool_text_put(&text, " ");
        pool_text_put(&text, show(json_object_get(object, name), shown));
    }
    complain(place, "reported: %s", line);
}

/* A counter as an integer or, since JSON readers differ above 2^63, as a string of
   digits. */
static bool read_counter(const json_t *value, uint64_t *bytes)
{
    if (json_is_integer(value)) {
        *bytes = (uint64_t)json_integer_value(value);
        return json_integer_value(value) >= 0;
    }
    if (!json_is_string(value))
        return false;
    /* A size with a unit would be exact as well, but no compiler writes one. */
    const char *text = json_string_value(value);
    return text[strspn(text, DIGITS)] == '\0' && policy_quantity_parse_bytes(text, bytes);
}

static bool read_counters(const struct place *place, const json_t *object,
                          struct policy_record *counters)
{
    for (size_t i = 0; i < POLICY_COUNTER_COUNT; i++) {
        const struct policy_counter_row *row = &policy_counter_rows[i];
        const json_t *value = json_object_get(object, row->name);
        char shown[SHOWN_BYTES];
        /* Metadata is not used, whatever it is. */
        if (value == NULL || row->role == POLICY_ROLE_METADATA)
            continue;
        if (!read_counter(value, &counters->bytes[i])) {
            complain(place, "%s is %s: must be " COUNTER_RULE, row->name,
                     show(value, shown));
            return false;
        }
        counters->is_known[i] = true;
    }
    return true;
}

static bool reserve(const struct place *place, struct admit_record *record)
{
    struct policy_record_fault fault;

    record->is_reserved =
        policy_reservation_of(&record->counters, &record->reservation, &fault);
    if (record->is_reserved || fault.kind == POLICY_SIZE_OVERFLOW)
        return true;
    complain(place, "%s %s", policy_counter_rows[fault.counter].name, fault.sentence);
    return false;
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

/* The record of one device; "" stands for every device. */
static bool read_record(const char *path, const char *device, const json_t *object,
                        struct admit_record *record)
{
    struct place place = {path, device};
    char shown[SHOWN_BYTES];

    *record = (struct admit_record){.is_total = false};
    snprintf(record->device, sizeof record->device, "%s", device);
    if (!json_is_object(object)) {
        complain(&place, "%s is no record, which would be an object of counters",
                 show(object, shown));
        return false;
    }
    if (read_counters(&place, object, &record->counters) && reserve(&place, record))
        return true;
    show_counters(&place, object);
    return false;
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

/* Reads the next record into *report, which has room for it. */
static bool append_record(struct admit_report *report, const char *device,
                          const json_t *object)
{
    if (!read_record(report->path, device, object,
                     &report->records[report->record_count]))
        return false;
    report->record_count++;
    return true;
}

static bool read_array(const json_t *array, struct admit_report *report)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        char device[ADMIT_DEVICE_BYTES];
        snprintf(device, sizeof device, "%zu", i);
        if (!append_record(report, device, json_array_get(array, i)))
            return false;
    }
    return true;
}

static bool read_object(json_t *object, struct admit_report *report)
{
    for (void *at = json_object_iter(object); at != NULL;
         at = json_object_iter_next(object, at)) {
        if (!is_device_name(json_object_iter_key(at))) {
            say("%s: a device's name must be 1 to %d characters of printable ASCII",
                report->path, ADMIT_DEVICE_BYTES - 1);
            return false;
        }
        if (!append_record(report, json_object_iter_key(at), json_object_iter_value(at)))
            return false;
    }
    return true;
}

static bool make_room(struct admit_report *report, size_t record_count)
{
    if (record_count == 0) {
        say("%s: there is no record in it", report->path);
        return false;
    }
    if (record_count > ADMIT_REPORT_DEVICES_MAX) {
        say("%s: %zu devices are more than the %d that are read", report->path,
            record_count, ADMIT_REPORT_DEVICES_MAX);
        return false;
    }
    report->records = calloc(record_count, sizeof *report->records);
    if (report->records == NULL)
        say("%s: %s", report->path, strerror(errno));
    return report->records != NULL;
}

static bool read_root(json_t *root, struct admit_report *report)
{
    if (json_is_array(root))
        return make_room(report, json_array_size(root)) && read_array(root, report);
    if (is_record(root))
        return make_room(report, 1) && append_record(report, "", root);
    return make_room(report, json_object_size(root)) && read_object(root, report);
}

static void say_syntax(const char *path, json_error_t *error)
{
    bool is_overflow = json_error_code(error) == json_error_numeric_overflow;

    make_printable(error->text);
    say("%s: line %d, column %d: %s%s", path, error->line, error->column, error->text,
        is_overflow ? ": must be " COUNTER_RULE : "");
}

static bool parse_json(const char *bytes, size_t length, struct admit_report *report)
{
    json_error_t error;
    json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);

    if (root == NULL) {
        say_syntax(report->path, &error);
        return false;
    }
    bool done = read_root(root, report);
    json_decref(root);
    return done;
}

/* "Total bytes used: N (...)": what follows is rounded for people. */
static bool parse_total(const char *bytes, size_t length, struct admit_report *report)
{
    char line[sizeof TOTAL_LINE + 24] = "";
    uint64_t total_bytes;

    memcpy(line, bytes, length < sizeof line - 1 ? length : sizeof line - 1);
    char *digits = line + sizeof TOTAL_LINE - 1;
    char *end = digits + strspn(digits, DIGITS);
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

/* Says where the byte lies that is one too many. */
static void say_too_long(const char *path, const char *bytes)
{
    size_t line = 1, column = 1;

    for (size_t i = 0; i < ADMIT_REPORT_BYTES_MAX; i++) {
        column = bytes[i] == '\n' ? 1 : column + 1;
        line += bytes[i] == '\n';
    }
    say("%s: line %zu, column %zu: here end the %d bytes that are read of a report", path,
        line, column, ADMIT_REPORT_BYTES_MAX);
}

bool admit_report_parse(const char *path, const char *bytes, size_t length,
                        struct admit_report *report)
{
    size_t prefix = sizeof TOTAL_LINE - 1;

    *report = (struct admit_report){.path = path};
    if (length > ADMIT_REPORT_BYTES_MAX) {
        say_too_long(path, bytes);
        return false;
    }
    bool is_text = length >= prefix && memcmp(bytes, TOTAL_LINE, prefix) == 0;
    bool done =
        is_text ? parse_total(bytes, length, report) : parse_json(bytes, length, report);
    if (!done)
        admit_report_free(report);
    return done;
}

bool admit_report_read(const char *path, struct admit_report *report)
{
    size_t room = ADMIT_REPORT_BYTES_MAX + 1; /* to see that there is more */
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

/* Reads a compiler's memory report: what one program takes, on every device alike or for
   each device by name. Three forms are known: one JSON record, an array or object of
   records by device, and the text that XLA dumps, of which the first line is exact. What
   cannot be read, or leaves a counter open, is said with file, device and field. */
#ifndef TIDEMARK_ADMIT_REPORT_H
#define TIDEMARK_ADMIT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/reservation.h"

enum {
    ADMIT_REPORT_DEVICES_MAX = 1024, /* more than any host has */
    ADMIT_DEVICE_BYTES = 65,         /* of a device's name, with its NUL */
};

struct admit_record {
    char device[ADMIT_DEVICE_BYTES]; /* printable ASCII; "" counts on every device */
    bool is_total;                   /* only the peak is known, and is the total */
    bool is_reserved;                /* false: the sum cannot be represented */
    struct policy_record counters;
    struct policy_reservation reservation; /* when is_reserved */
};

struct admit_report {
    const char *path;
    struct admit_record *records;
    size_t record_count; /* at least 1 once read */
};

/* Reads the file `path`, which has to outlive *report. False, and said, when it is no
   whole report; then nothing is to be freed. */
bool admit_report_read(const char *path, struct admit_report *report);

/* The same of `length` bytes that were read already. */
bool admit_report_parse(const char *path, const char *bytes, size_t length,
                        struct admit_report *report);

/* The record that counts on the device; NULL when the report leaves it out. */
const struct admit_record *admit_report_find(const struct admit_report *report,
                                             const char *device);

void admit_report_free(struct admit_report *report);

#endif

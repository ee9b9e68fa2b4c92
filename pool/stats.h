/* What a run tells: one snapshot of all counters, and of each device, as text and as
   JSON. The renderers write what they are given and read nothing else. */
#ifndef POOL_STATS_H
#define POOL_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/ceiling.h"
#include "pool/text.h"

struct pool_stats {
#define STAT(group, name, help) uint64_t group##_##name;
#include "pool/stats.def"
#undef STAT
};

/* A device that the program used. */
struct pool_device_stats {
    uint32_t ordinal;
    struct policy_ceiling ceiling;
    uint64_t charged_bytes;
    uint64_t peak_charged_bytes;
    uint64_t managed_bytes; /* of charged_bytes */
    uint64_t refusals;
    /* When the driver itself was last seen to say what of the device is used, and what of
       that was not charged then. */
    bool is_observed;
    uint64_t observed_bytes;
    uint64_t external_bytes;
};

/* Host memory of one kind that was used or is limited. */
struct pool_host_stats {
    const char *name; /* "heap memory" */
    struct policy_ceiling ceiling;
    uint64_t charged_bytes;
    uint64_t peak_charged_bytes;
    uint64_t refusals;
};

struct pool_report {
    const char *version;
    const char *program;          /* name of the executable; NULL when it is not known */
    const char *retention;        /* "on", or why nothing is retained */
    const char *device_retention; /* the same for memory of drivers */
    uint64_t process_id;
    struct pool_stats stats;
    const struct pool_device_stats *devices;
    size_t device_count;
    const struct pool_host_stats *host;
    size_t host_count;
};

/* For people: a line a counter, sizes in bytes and IEC units. */
void pool_report_put_text(struct pool_text *text, const struct pool_report *report);

/* {"schema": "tidemark.report/1", ...}: integers in bytes and nanoseconds with the unit
   in the key, null for what is absent. Keys are only ever added within /1. */
void pool_report_put_json(struct pool_text *text, const struct pool_report *report);

#endif

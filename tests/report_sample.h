/* One report for all who look at one: no two counters have the same value, and every kind
   of device and of awkward name occurs. */
#ifndef TESTS_REPORT_SAMPLE_H
#define TESTS_REPORT_SAMPLE_H

#include "pool/stats.h"

/* The value of the counter in row `row` of pool/stats.def: none fits a double exactly. */
static inline uint64_t report_sample_value(unsigned row)
{
    return UINT64_MAX - 2 * (uint64_t)row;
}

static const struct pool_device_stats report_sample_devices[] = {
    {
        .ordinal = 0,
        .ceiling = {.bytes = 85899345920,
                    .requested_bytes = 101059813376,
                    .total_bytes = 101059813376,
                    .headroom_bytes = 15160467456,
                    .source = POLICY_CEILING_FROM_DEVICE},
        .charged_bytes = 1048576,
        .peak_charged_bytes = 2097152,
        .managed_bytes = 4096,
        .refusals = 3,
        .is_observed = true,
        .observed_bytes = 3145728,
        .external_bytes = 2097151,
    },
    {
        .ordinal = 1,
        .ceiling = {.bytes = 1000,
                    .requested_bytes = 1000,
                    .source = POLICY_CEILING_FROM_REQUEST},
        .charged_bytes = 999,
        .peak_charged_bytes = 1000,
        .refusals = UINT64_MAX,
    },
    {
        .ordinal = 7,
        .ceiling = {.bytes = UINT64_MAX,
                    .total_bytes = 101059813376,
                    .source = POLICY_CEILING_UNBUDGETED},
    },
};

static const struct pool_host_stats report_sample_host[] = {
    {
        .name = "page-locked memory",
        .ceiling = {.bytes = 4096,
                    .requested_bytes = 8192,
                    .total_bytes = 5000,
                    .headroom_bytes = 904,
                    .source = POLICY_CEILING_FROM_CAP},
        .charged_bytes = 7,
        .peak_charged_bytes = 4096,
        .refusals = 2,
    },
    {
        .name = "heap memory",
        .ceiling = {.bytes = UINT64_MAX, .source = POLICY_CEILING_UNBUDGETED},
        .charged_bytes = 65536,
        .peak_charged_bytes = 131072,
    },
};

static inline struct pool_report report_sample(void)
{
    struct pool_report report = {
        .version = "1.2.3",
        .program = "/opt/a \"b\"\\c\n\xc3\xa9",
        .retention = "on",
        .device_retention = "off: valgrind",
        .process_id = 4242,
        .devices = report_sample_devices,
        .device_count = 3,
        .host = report_sample_host,
        .host_count = 2,
    };
    unsigned row = 0;
#define STAT(group, name, help) report.stats.group##_##name = report_sample_value(row++);
#include "pool/stats.def"
#undef STAT
    return report;
}

#endif

#include "pool/stats.h"

#include <stdbool.h>
#include <string.h>

struct row {
    const char *group;
    const char *name;
    const char *help;
    size_t offset;
};

/* clang-format off */
static const struct row rows[] = {
#define STAT(group, name, help) {#group, #name, help, offsetof(struct pool_stats, group##_##name)},
#include "pool/stats.def"
#undef STAT
};
/* clang-format on */

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]), NAME_COLUMN = 24 };

static uint64_t value(const struct pool_stats *stats, const struct row *row)
{
    uint64_t number;
    memcpy(&number, (const char *)stats + row->offset, sizeof(number));
    return number;
}

static bool is_bytes(const struct row *row)
{
    size_t length = strlen(row->name);
    return length > 6 && strcmp(row->name + length - 6, "_bytes") == 0;
}

static void put_padded(struct pool_text *text, const char *string, size_t width)
{
    pool_text_put(text, string);
    for (size_t length = strlen(string); length < width; length++)
        pool_text_put(text, " ");
}

/* What is limited, after its name: the same of a device and of the host. */
struct account {
    const struct policy_ceiling *ceiling;
    uint64_t charged_bytes, peak_charged_bytes, refusals;
};

static void put_account_text(struct pool_text *text, struct account account)
{
    pool_text_put(text, "\n  ceiling             ");
    if (account.ceiling->source == POLICY_CEILING_UNBUDGETED)
        pool_text_put(text, "none");
    else
        pool_text_put_bytes(text, account.ceiling->bytes);
    pool_text_put(text, ", ");
    pool_text_put(text, policy_ceiling_source_text(account.ceiling->source));
    pool_text_put(text, "\n  charged             ");
    pool_text_put_bytes(text, account.charged_bytes);
    pool_text_put(text, "\n  most charged        ");
    pool_text_put_bytes(text, account.peak_charged_bytes);
    pool_text_put(text, "\n  refusals            ");
    pool_text_put_number(text, account.refusals);
    pool_text_put(text, "\n");
}

static void put_bytes_text(struct pool_text *text, const char *label, uint64_t bytes)
{
    pool_text_put(text, label);
    pool_text_put_bytes(text, bytes);
    pool_text_put(text, "\n");
}

static void put_device_text(struct pool_text *text,
                            const struct pool_device_stats *device)
{
    put_bytes_text(text, "  charged as managed  ", device->managed_bytes);
    if (!device->is_observed) {
        pool_text_put(text, "  in use on device    not observed\n"
                            "  external residency  not observed\n");
        return;
    }
    put_bytes_text(text, "  in use on device    ", device->observed_bytes);
    put_bytes_text(text, "  external residency  ", device->external_bytes);
}

static struct account of_device(const struct pool_device_stats *device)
{
    return (struct account){&device->ceiling, device->charged_bytes,
                            device->peak_charged_bytes, device->refusals};
}

static struct account of_host(const struct pool_host_stats *host)
{
    return (struct account){&host->ceiling, host->charged_bytes, host->peak_charged_bytes,
                            host->refusals};
}

void pool_report_put_text(struct pool_text *text, const struct pool_report *report)
{
    pool_text_put(text, "tidemark ");
    pool_text_put(text, report->version);
    pool_text_put(text, " report for process ");
    pool_text_put_number(text, report->process_id);
    if (report->program) {
        pool_text_put(text, ", ");
        pool_text_put(text, report->program);
    }
    pool_text_put(text, "\nretention             ");
    pool_text_put(text, report->retention);
    pool_text_put(text, "\ndevice retention      ");
    pool_text_put(text, report->device_retention);
    pool_text_put(text, "\n");
    for (size_t index = 0; index < ROW_COUNT; index++) {
        if (index == 0 || strcmp(rows[index].group, rows[index - 1].group) != 0) {
            pool_text_put(text, rows[index].group);
            pool_text_put(text, "\n");
        }
        pool_text_put(text, "  ");
        put_padded(text, rows[index].name, NAME_COLUMN - 4);
        if (is_bytes(&rows[index]))
            pool_text_put_bytes(text, value(&report->stats, &rows[index]));
        else
            pool_text_put_number(text, value(&report->stats, &rows[index]));
        pool_text_put(text, "\n");
    }
    for (size_t index = 0; index < report->host_count; index++) {
        pool_text_put(text, report->host[index].name);
        put_account_text(text, of_host(&report->host[index]));
    }
    for (size_t index = 0; index < report->device_count; index++) {
        pool_text_put(text, "device ");
        pool_text_put_number(text, report->devices[index].ordinal);
        put_account_text(text, of_device(&report->devices[index]));
        put_device_text(text, &report->devices[index]);
    }
}

static void put_member(struct pool_text *text, const char *name, uint64_t number)
{
    pool_text_put_json(text, name);
    pool_text_put(text, ": ");
    pool_text_put_number(text, number);
}

static void put_member_or_null(struct pool_text *text, const char *name, uint64_t number,
                               bool present)
{
    if (present) {
        put_member(text, name, number);
        return;
    }
    pool_text_put_json(text, name);
    pool_text_put(text, ": null");
}

/* `total_name` is the member that has all that there is. */
static void put_account_json(struct pool_text *text, const char *total_name,
                             struct account account)
{
    const struct policy_ceiling *ceiling = account.ceiling;
    pool_text_put(text, ", ");
    put_member_or_null(text, "ceiling_bytes", ceiling->bytes,
                       ceiling->source != POLICY_CEILING_UNBUDGETED);
    pool_text_put(text, ", \"ceiling_source\": ");
    pool_text_put_json(text, policy_ceiling_source_text(ceiling->source));
    pool_text_put(text, ", ");
    put_member_or_null(text, total_name, ceiling->total_bytes, ceiling->total_bytes != 0);
    pool_text_put(text, ", ");
    put_member(text, "charged_bytes", account.charged_bytes);
    pool_text_put(text, ", ");
    put_member(text, "peak_charged_bytes", account.peak_charged_bytes);
    pool_text_put(text, ", ");
    put_member(text, "refusals", account.refusals);
}

static void put_device_json(struct pool_text *text,
                            const struct pool_device_stats *device)
{
    pool_text_put(text, ", ");
    put_member(text, "managed_bytes", device->managed_bytes);
    pool_text_put(text, ", ");
    put_member_or_null(text, "observed_bytes", device->observed_bytes,
                       device->is_observed);
    pool_text_put(text, ", ");
    put_member_or_null(text, "external_bytes", device->external_bytes,
                       device->is_observed);
}

static void put_devices_json(struct pool_text *text, const struct pool_report *report)
{
    pool_text_put(text, "  \"devices\": [");
    for (size_t index = 0; index < report->device_count; index++) {
        pool_text_put(text, index ? ",\n    {" : "\n    {");
        put_member(text, "ordinal", report->devices[index].ordinal);
        put_account_json(text, "device_limit_bytes", of_device(&report->devices[index]));
        put_device_json(text, &report->devices[index]);
        pool_text_put(text, "}");
    }
    pool_text_put(text, report->device_count ? "\n  ]" : "]");
}

static void put_host_json(struct pool_text *text, const struct pool_report *report)
{
    pool_text_put(text, ",\n  \"host\": [");
    for (size_t index = 0; index < report->host_count; index++) {
        pool_text_put(text, index ? ",\n    {\"name\": " : "\n    {\"name\": ");
        pool_text_put_json(text, report->host[index].name);
        put_account_json(text, "usable_bytes", of_host(&report->host[index]));
        pool_text_put(text, "}");
    }
    pool_text_put(text, report->host_count ? "\n  ]" : "]");
}

static void put_groups_json(struct pool_text *text, const struct pool_stats *stats)
{
    for (size_t index = 0; index < ROW_COUNT; index++) {
        bool opens = index == 0 || strcmp(rows[index].group, rows[index - 1].group) != 0;
        if (opens) {
            pool_text_put(text, index == 0 ? "  " : "},\n  ");
            pool_text_put_json(text, rows[index].group);
            pool_text_put(text, ": {");
        } else {
            pool_text_put(text, ", ");
        }
        put_member(text, rows[index].name, value(stats, &rows[index]));
    }
    pool_text_put(text, "},\n");
}

void pool_report_put_json(struct pool_text *text, const struct pool_report *report)
{
    pool_text_put(text, "{\n  \"schema\": \"tidemark.report/1\",\n  \"tidemark\": ");
    pool_text_put_json(text, report->version);
    pool_text_put(text, ",\n  ");
    put_member(text, "process_id", report->process_id);
    pool_text_put(text, ",\n  \"program\": ");
    if (report->program)
        pool_text_put_json(text, report->program);
    else
        pool_text_put(text, "null");
    pool_text_put(text, ",\n  \"retention\": ");
    pool_text_put_json(text, report->retention);
    pool_text_put(text, ",\n  \"device_retention\": ");
    pool_text_put_json(text, report->device_retention);
    pool_text_put(text, ",\n");
    put_groups_json(text, &report->stats);
    put_devices_json(text, report);
    put_host_json(text, report);
    pool_text_put(text, "\n}\n");
}

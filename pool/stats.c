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

static void put_device_text(struct pool_text *text,
                            const struct pool_device_stats *device)
{
    pool_text_put(text, "device ");
    pool_text_put_number(text, device->ordinal);
    pool_text_put(text, "\n  ceiling             ");
    if (device->ceiling.source == POLICY_CEILING_UNBUDGETED)
        pool_text_put(text, "none");
    else
        pool_text_put_bytes(text, device->ceiling.bytes);
    pool_text_put(text, ", ");
    pool_text_put(text, policy_ceiling_source_text(device->ceiling.source));
    pool_text_put(text, "\n  charged             ");
    pool_text_put_bytes(text, device->charged_bytes);
    pool_text_put(text, "\n  most charged        ");
    pool_text_put_bytes(text, device->peak_charged_bytes);
    pool_text_put(text, "\n  refusals            ");
    pool_text_put_number(text, device->refusals);
    pool_text_put(text, "\n");
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
    for (size_t index = 0; index < report->device_count; index++)
        put_device_text(text, &report->devices[index]);
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

static void put_device_json(struct pool_text *text,
                            const struct pool_device_stats *device)
{
    const struct policy_ceiling *ceiling = &device->ceiling;
    pool_text_put(text, "\n    {");
    put_member(text, "ordinal", device->ordinal);
    pool_text_put(text, ", ");
    put_member_or_null(text, "ceiling_bytes", ceiling->bytes,
                       ceiling->source != POLICY_CEILING_UNBUDGETED);
    pool_text_put(text, ", \"ceiling_source\": ");
    pool_text_put_json(text, policy_ceiling_source_text(ceiling->source));
    pool_text_put(text, ", ");
    put_member_or_null(text, "device_limit_bytes", ceiling->device_limit_bytes,
                       ceiling->device_limit_bytes != 0);
    pool_text_put(text, ", ");
    put_member(text, "charged_bytes", device->charged_bytes);
    pool_text_put(text, ", ");
    put_member(text, "peak_charged_bytes", device->peak_charged_bytes);
    pool_text_put(text, ", ");
    put_member(text, "refusals", device->refusals);
    pool_text_put(text, "}");
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
    pool_text_put(text, ",\n");
    put_groups_json(text, &report->stats);
    pool_text_put(text, "  \"devices\": [");
    for (size_t index = 0; index < report->device_count; index++) {
        pool_text_put(text, index ? "," : "");
        put_device_json(text, &report->devices[index]);
    }
    pool_text_put(text, report->device_count ? "\n  ]\n}\n" : "]\n}\n");
}

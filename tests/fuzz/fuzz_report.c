/* Whatever bytes a report has, the reader either says what is wrong with it or gives records
   whose reservations are max(peak, argument + output - alias + temp), exactly. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/must.h"
#include "tools/tidemark/admit_report.h"
#include "tools/tidemark/say.h"

__extension__ typedef unsigned __int128 wide;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned lines_said;

/* What would go to standard error, which has to be lines that a terminal can bear. */
void say(const char *format, ...)
{
    char line[4096];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    must(length > 0 && length < (int)sizeof line);
    for (int i = 0; i < length; i++)
        must(line[i] >= ' ' && line[i] <= '~');
    lines_said++;
}

static void check(const struct admit_record *record)
{
    const uint64_t *bytes = record->counters.bytes;
    wide allocation = (wide)bytes[POLICY_COUNTER_ARGUMENT] +
                      bytes[POLICY_COUNTER_OUTPUT] - bytes[POLICY_COUNTER_ALIAS] +
                      bytes[POLICY_COUNTER_TEMP];
    wide peak = bytes[POLICY_COUNTER_PEAK];

    must(strlen(record->device) < ADMIT_DEVICE_BYTES);
    must(record->counters.is_known[POLICY_COUNTER_PEAK]);
    must(record->is_total || record->counters.is_known[POLICY_COUNTER_HOST_TEMP]);
    if (record->is_reserved) {
        must(record->reservation.bytes == (peak > allocation ? peak : allocation));
        must(record->reservation.largest_request_bytes >= bytes[POLICY_COUNTER_TEMP]);
    } else {
        must(allocation > UINT64_MAX || bytes[POLICY_COUNTER_TEMP] > UINT64_MAX - 255);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct admit_report report;

    lines_said = 0;
    if (!admit_report_parse("report", (const char *)data, size, &report)) {
        must(lines_said > 0);
        must(report.records == NULL);
        return 0;
    }
    must(lines_said == 0);
    must(report.record_count > 0);
    for (size_t i = 0; i < report.record_count; i++)
        check(&report.records[i]);
    must(admit_report_find(&report, report.records[0].device) == &report.records[0]);
    admit_report_free(&report);
    return 0;
}

#include "tools/tidemark/admit_json.h"

#include <string.h>

/* `key` begins with what goes before it: a comma, a brace, a line break. */
static void put_number(struct pool_text *text, const char *key, bool is_known,
                       uint64_t number)
{
    pool_text_put(text, key);
    if (is_known)
        pool_text_put_number(text, number);
    else
        pool_text_put(text, "null");
}

static void put_string(struct pool_text *text, const char *key, const char *string)
{
    pool_text_put(text, key);
    if (string != NULL)
        pool_text_put_json(text, string);
    else
        pool_text_put(text, "null");
}

static void put_flag(struct pool_text *text, const char *key, bool flag)
{
    pool_text_put(text, key);
    pool_text_put(text, flag ? "true" : "false");
}

/* A device of a report; every device is null. */
static void put_device(struct pool_text *text, const char *key, const char *device)
{
    put_string(text, key, device[0] != '\0' ? device : NULL);
}

static const char *origin_text(enum admit_origin origin)
{
    switch (origin) {
    case ADMIT_FROM_DEFAULT:
        return "default";
    case ADMIT_FROM_ENVIRONMENT:
        return "environment";
    case ADMIT_FROM_OPTION:
        return "option";
    }
    return NULL;
}

static void put_value(struct pool_text *text, const char *key,
                      const struct admit_value *value)
{
    pool_text_put(text, key);
    put_string(text, "{\"text\": ", value->text);
    put_string(text, ", \"origin\": ", origin_text(value->origin));
    put_string(text,
               ", \"name\": ", value->origin == ADMIT_FROM_DEFAULT ? NULL : value->name);
    pool_text_put(text, "}");
}

static void put_devices(struct pool_text *text, const struct admit_question *question,
                        const struct admit_answer *answer)
{
    pool_text_put(text, ",\n  \"devices\": [");
    for (size_t i = 0; i < question->device_count; i++) {
        const struct admit_device *device = &question->devices[i];
        bool is_known = device->limit_bytes > 0;
        pool_text_put(text, i > 0 ? "," : "");
        put_number(text, "\n    {\"device\": ", true, device->index);
        put_number(text, ", \"limit_bytes\": ", is_known, device->limit_bytes);
        put_number(text, ", \"headroom_bytes\": ", is_known,
                   answer->ceilings[i].headroom_bytes);
        pool_text_put(text, "}");
    }
    pool_text_put(text, "]");
}

static void put_record(struct pool_text *text, const struct admit_record *record)
{
    put_device(text, "\n      {\"device\": ", record->device);
    put_number(text, ", \"reservation_bytes\": ", record->is_reserved,
               record->reservation.bytes);
    for (size_t i = 0; i < POLICY_COUNTER_COUNT; i++) {
        if (policy_counter_rows[i].role != POLICY_ROLE_DEVICE)
            continue;
        put_string(text, ", ", policy_counter_rows[i].name);
        put_number(text, ": ", record->counters.is_known[i], record->counters.bytes[i]);
    }
    pool_text_put(text, "}");
}

static void put_programs(struct pool_text *text, const struct admit_question *question,
                         const struct admit_answer *answer)
{
    pool_text_put(text, ",\n  \"programs\": [");
    for (size_t i = 0; i < question->path_count && answer->is_read; i++) {
        const struct admit_report *report = &answer->reports[i];
        put_string(text,
                   i > 0 ? ",\n    {\"report\": " : "\n    {\"report\": ", report->path);
        pool_text_put(text, ", \"records\": [");
        for (size_t j = 0; j < report->record_count; j++) {
            pool_text_put(text, j > 0 ? "," : "");
            put_record(text, &report->records[j]);
        }
        pool_text_put(text, "]}");
    }
    pool_text_put(text, "]");
}

static void put_sums(struct pool_text *text, const struct admit_question *question,
                     const struct admit_answer *answer)
{
    const struct policy_reservation *most = &answer->most;
    bool is_refused = answer->verdict.kind != POLICY_ADMITTED;

    put_number(text, ",\n  \"reservation_bytes\": ", answer->is_reserved, most->bytes);
    put_device(text, ",\n  \"reservation_device\": ", answer->bytes_device);
    put_number(text, ",\n  \"peak_bytes\": ", answer->is_reserved, most->peak_bytes);
    put_device(text, ",\n  \"peak_device\": ", answer->peak_device);
    put_number(text, ",\n  \"resident_bytes\": ", true, question->resident_bytes);
    put_number(text, ",\n  \"total_bytes\": ", admit_has_total(answer),
               admit_total_bytes(answer));
    put_number(text,
               ",\n  \"short_bytes\": ", !is_refused || answer->verdict.short_bytes > 0,
               answer->verdict.short_bytes);
    put_number(text, ",\n  \"largest_request_bytes\": ",
               answer->is_reserved && most->largest_request_bytes > 0,
               most->largest_request_bytes);
    put_number(text, ",\n  \"largest_block_bytes\": ",
               question->largest_block_bytes != UINT64_MAX,
               question->largest_block_bytes);
    put_flag(text, ",\n  \"contiguity_risk\": ", admit_is_fragile(question, answer));
}

void admit_json_put(struct pool_text *text, const struct admit_question *question,
                    const struct admit_answer *answer)
{
    const struct policy_ceiling *ceiling = admit_ceiling(answer);
    bool is_budgeted = ceiling->source != POLICY_CEILING_UNBUDGETED;

    put_string(text, "{\n  \"schema\": ", "tidemark.admit/1");
    put_string(text, ",\n  \"tidemark\": ", TIDEMARK_VERSION);
    put_flag(text, ",\n  \"admitted\": ", answer->verdict.kind == POLICY_ADMITTED);
    put_string(text, ",\n  \"verdict\": ", policy_verdict_sentence(answer->verdict.kind));
    put_value(text, ",\n  \"budget\": ", &question->budget);
    put_value(text, ",\n  \"headroom\": ", &question->headroom);
    put_devices(text, question, answer);
    put_number(text, ",\n  \"requested_bytes\": ", is_budgeted, ceiling->requested_bytes);
    put_number(text, ",\n  \"effective_bytes\": ", is_budgeted, ceiling->bytes);
    put_string(
        text, ",\n  \"effective_source\": ", policy_ceiling_source_text(ceiling->source));
    put_flag(text, ",\n  \"reports_read\": ", answer->is_read);
    put_programs(text, question, answer);
    put_sums(text, question, answer);
    pool_text_put(text, "\n}\n");
}

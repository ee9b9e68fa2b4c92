#include "tools/tidemark/plan_json.h"

#include <stdio.h>

#include "pool/text.h"
#include "tools/tidemark/plan_decide.h"

enum { PART_BYTES = 4096 }; /* handed to standard output at once */

/* A pool_text sink. */
static void write_part(void *context, const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, context);
}

/* `key` begins with what goes before it. */
static void put_number(struct pool_text *text, const char *key, uint64_t number)
{
    pool_text_put(text, key);
    pool_text_put_number(text, number);
}

static void put_string(struct pool_text *text, const char *key, const char *string)
{
    pool_text_put(text, key);
    if (string != NULL)
        pool_text_put_json(text, string);
    else
        pool_text_put(text, "null");
}

static void put_limits(struct pool_text *text, const struct policy_space *limits)
{
    put_number(text, ", \"base\": ", limits->base);
    put_number(text, ", \"largest_address\": ", limits->largest_address);
    if (limits->capacity_bytes < UINT64_MAX)
        put_number(text, ", \"capacity_bytes\": ", limits->capacity_bytes);
    else
        pool_text_put(text, ", \"capacity_bytes\": null");
    put_number(text, ", \"unit_bytes\": ", limits->unit_bytes);
    put_number(text, ", \"external_peak_bytes\": ", limits->external_peak_bytes);
}

static void put_high_water(struct pool_text *text,
                           const struct policy_high_water *high_water)
{
    put_number(text, ",\n     \"logical_high_water_bytes\": ",
               high_water->logical_high_water_bytes);
    put_number(text, ", \"peak_live_bytes\": ", high_water->peak_live_bytes);
    put_number(text,
               ", \"artefact_overhead_bytes\": ", high_water->artefact_overhead_bytes);
    put_number(
        text, ", \"runtime_reservation_bytes\": ", high_water->runtime_reservation_bytes);
}

static void put_buffers(struct pool_text *text, const struct plan *plan, size_t space)
{
    const char *before = "";

    pool_text_put(text, ",\n     \"buffers\": [");
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const struct plan_buffer *buffer = &plan->buffers[i];
        if (buffer->space != space)
            continue;
        pool_text_put(text, before);
        put_string(text, "\n      {\"name\": ", buffer->name);
        put_number(text, ", \"offset\": ", buffer->offset);
        put_number(text,
                   ", \"reserved_bytes\": ", policy_buffer_reserved(&buffer->wanted));
        pool_text_put(text, "}");
        before = ",";
    }
    pool_text_put(text, "]");
}

static void put_refusal(struct pool_text *text, const struct plan_space *space)
{
    const struct policy_verdict *verdict = &space->verdict.verdict;

    put_string(text, ",\n     \"buffer\": ",
               space->refused != NULL ? space->refused->name : NULL);
    put_number(text, ", \"offset\": ", space->verdict.offset);
    put_number(text, ", \"asked_bytes\": ", verdict->asked_bytes);
    put_number(text, ", \"reserved_bytes\": ", verdict->reserved_bytes);
    put_number(text, ", \"held_bytes\": ", verdict->held_bytes);
    put_number(text, ", \"limit_bytes\": ", verdict->limit_bytes);
    put_string(text, ", \"limit_source\": ", policy_space_limit_source(verdict->kind));
    put_number(text, ", \"free_bytes\": ", policy_space_left(verdict));
    put_number(text, ", \"short_bytes\": ", verdict->short_bytes);
    /* It is not looked for when a buffer would not fit alone. */
    if (space->verdict.peak_live_bytes > 0)
        put_number(text, ", \"peak_live_bytes\": ", space->verdict.peak_live_bytes);
    else
        pool_text_put(text, ", \"peak_live_bytes\": null");
}

static void put_space(struct pool_text *text, const struct plan *plan, size_t index)
{
    const struct plan_space *space = &plan->spaces[index];
    enum policy_verdict_kind kind = space->verdict.verdict.kind;

    put_string(text, index > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ", space->name);
    pool_text_put(text, ", \"placed\": ");
    pool_text_put(text, kind == POLICY_ADMITTED ? "true" : "false");
    put_string(text, ", \"verdict\": ", policy_verdict_sentence(kind));
    put_limits(text, &space->limits);
    if (kind == POLICY_ADMITTED) {
        put_high_water(text, &space->high_water);
        put_buffers(text, plan, index);
    } else {
        put_refusal(text, space);
    }
    pool_text_put(text, "}");
}

void plan_json_print(const struct plan *plan)
{
    char part[PART_BYTES];
    struct pool_text text = {part, sizeof part, 0, write_part, stdout};

    put_string(&text, "{\n  \"schema\": ", "tidemark.plan/1");
    put_string(&text, ",\n  \"tidemark\": ", TIDEMARK_VERSION);
    pool_text_put(&text, ",\n  \"placed\": ");
    pool_text_put(&text, plan_is_placed(plan) ? "true" : "false");
    pool_text_put(&text, ",\n  \"spaces\": [");
    for (size_t i = 0; i < plan->space_count; i++)
        put_space(&text, plan, i);
    pool_text_put(&text, "]\n}\n");
    pool_text_flush(&text);
}

/* Whatever bytes a plan has, the reader either says what is wrong with it or gives a plan of
   which every space is refused, or placed within its limits with no address shared. */
#include <stdarg.h>
#include <stdio.h>

#include "policy/must.h"
#include "tools/tidemark/plan_decide.h"
#include "tools/tidemark/say.h"

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

static void check_apart(const struct plan_buffer *a, const struct plan_buffer *b)
{
    uint64_t a_bytes = policy_buffer_reserved(&a->wanted);
    uint64_t b_bytes = policy_buffer_reserved(&b->wanted);

    if (a->wanted.start >= b->wanted.end || b->wanted.start >= a->wanted.end ||
        a_bytes == 0 || b_bytes == 0)
        return;
    must(a->offset < b->offset ? b->offset - a->offset >= a_bytes
                               : a->offset - b->offset >= b_bytes);
}

static void check_buffer(const struct plan *plan, const struct plan_buffer *buffer)
{
    const struct plan_space *space = &plan->spaces[buffer->space];
    const struct policy_space *limits = &space->limits;
    const struct policy_high_water *high_water = &space->high_water;

    if (space->verdict.verdict.kind != POLICY_ADMITTED)
        return;
    uint64_t reserved = policy_buffer_reserved(&buffer->wanted);
    must((limits->base + buffer->offset) % buffer->wanted.alignment == 0);
    must(reserved <= high_water->logical_high_water_bytes);
    must(buffer->offset <= high_water->logical_high_water_bytes - reserved);
    must(high_water->runtime_reservation_bytes <= limits->largest_address - limits->base);
    must(high_water->runtime_reservation_bytes <=
         limits->capacity_bytes - limits->external_peak_bytes);
    for (const struct plan_buffer *other = plan->buffers; other < buffer; other++)
        if (other->space == buffer->space)
            check_apart(buffer, other);
}

static void check_space(const struct plan_space *space)
{
    const struct policy_high_water *high_water = &space->high_water;
    enum policy_verdict_kind kind = space->verdict.verdict.kind;

    must(kind != POLICY_MALFORMED);
    must((kind == POLICY_ADMITTED) == (space->verdict.verdict.short_bytes == 0));
    if (kind != POLICY_ADMITTED)
        return;
    must(high_water->peak_live_bytes <= high_water->logical_high_water_bytes);
    must(high_water->runtime_reservation_bytes % space->limits.unit_bytes == 0);
    must(high_water->runtime_reservation_bytes - high_water->logical_high_water_bytes <
         space->limits.unit_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plan plan;

    lines_said = 0;
    if (!plan_file_parse("plan", (const char *)data, size, &plan)) {
        must(lines_said > 0);
        return 0;
    }
    must(lines_said == plan.ignores_capacity);
    must(plan_decide(&plan));
    for (size_t i = 0; i < plan.space_count; i++)
        check_space(&plan.spaces[i]);
    for (size_t i = 0; i < plan.buffer_count; i++)
        check_buffer(&plan, &plan.buffers[i]);
    plan_file_free(&plan);
    return 0;
}

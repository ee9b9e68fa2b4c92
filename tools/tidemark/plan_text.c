#include "tools/tidemark/plan_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "policy/quantity.h"

enum { COLUMN_COUNT = 6 };

/* The numbers of one line of the table; the name follows them. */
struct line {
    uint64_t numbers[COLUMN_COUNT];
};

static const char *const titles[COLUMN_COUNT] = {"offset",   "size",  "alignment",
                                                 "reserved", "start", "end"};

static struct line line_of(const struct plan_buffer *buffer)
{
    const struct policy_buffer *wanted = &buffer->wanted;

    return (struct line){{buffer->offset, wanted->bytes, wanted->alignment,
                          policy_buffer_reserved(wanted), wanted->start, wanted->end}};
}

/* Every column is as wide as its widest cell. */
static void measure(const struct plan *plan, size_t space, int widths[COLUMN_COUNT])
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        widths[column] = snprintf(NULL, 0, "%s", titles[column]);
    for (size_t i = 0; i < plan->buffer_count; i++) {
        if (plan->buffers[i].space != space)
            continue;
        struct line line = line_of(&plan->buffers[i]);
        for (size_t column = 0; column < COLUMN_COUNT; column++) {
            int width = snprintf(NULL, 0, "%" PRIu64, line.numbers[column]);
            if (width > widths[column])
                widths[column] = width;
        }
    }
}

static void print_table(const struct plan *plan, size_t space)
{
    int widths[COLUMN_COUNT];

    measure(plan, space, widths);
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        printf("%*s  ", widths[column], titles[column]);
    puts("name");
    for (size_t i = 0; i < plan->buffer_count; i++) {
        if (plan->buffers[i].space != space)
            continue;
        struct line line = line_of(&plan->buffers[i]);
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            printf("%*" PRIu64 "  ", widths[column], line.numbers[column]);
        puts(plan->buffers[i].name);
    }
}

static void print_quantity(const char *label, uint64_t bytes)
{
    char text[POLICY_QUANTITY_TEXT_BYTES];

    policy_quantity_print(bytes, text);
    printf("%s%s", label, text);
}

static void print_limits(const struct plan_space *space)
{
    const struct policy_space *limits = &space->limits;

    printf("space %s: base %" PRIu64 ", largest address %" PRIu64, space->name,
           limits->base, limits->largest_address);
    if (limits->capacity_bytes < UINT64_MAX)
        print_quantity(", capacity ", limits->capacity_bytes);
    else
        printf(", no capacity");
    print_quantity(", unit ", limits->unit_bytes);
    if (limits->external_peak_bytes > 0)
        print_quantity(", external peak ", limits->external_peak_bytes);
    putchar('\n');
}

static void print_high_water(const struct policy_high_water *high_water)
{
    uint64_t logical = high_water->logical_high_water_bytes;
    uint64_t least = high_water->peak_live_bytes;

    print_quantity("logical high-water   ", logical);
    if (least > 0)
        printf(", %.3f times the lower bound", (double)logical / (double)least);
    print_quantity("\npeak live            ", least);
    print_quantity(", the lower bound\nartefact overhead    ",
                   high_water->artefact_overhead_bytes);
    print_quantity("\nruntime reservation  ", high_water->runtime_reservation_bytes);
    putchar('\n');
}

static void print_refusal(const struct plan_space *space)
{
    const struct policy_verdict *verdict = &space->verdict.verdict;
    uint64_t address;

    if (space->refused == NULL)
        printf("refused: space %s", space->name);
    else
        printf("refused: buffer %s in space %s", space->refused->name, space->name);
    printf(", %s", policy_verdict_sentence(verdict->kind));
    print_quantity(": asked ", verdict->asked_bytes);
    print_quantity(", would reserve ", verdict->reserved_bytes);
    printf(" from offset %" PRIu64, space->verdict.offset);
    if (policy_checked_add(space->limits.base, space->verdict.offset, &address))
        printf(" (address %" PRIu64 ")", address);
    print_quantity(" on, held ", verdict->held_bytes);
    print_quantity(", limit ", verdict->limit_bytes);
    printf(" from %s", policy_space_limit_source(verdict->kind));
    print_quantity(", free ", policy_space_left(verdict));
    print_quantity(", short by ", verdict->short_bytes);
    if (space->verdict.peak_live_bytes > 0)
        print_quantity("; peak live, the lower bound, is ",
                       space->verdict.peak_live_bytes);
    putchar('\n');
}

void plan_text_print(const struct plan *plan)
{
    for (size_t i = 0; i < plan->space_count; i++) {
        const struct plan_space *space = &plan->spaces[i];
        if (i > 0)
            putchar('\n');
        print_limits(space);
        if (space->verdict.verdict.kind != POLICY_ADMITTED) {
            print_refusal(space);
            continue;
        }
        print_table(plan, i);
        print_high_water(&space->high_water);
    }
}

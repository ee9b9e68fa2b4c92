#include "tools/tidemark/binds_print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/steady.h"
#include "tools/tidemark/say.h"

static const char *const stages[BINDS_STAGES] = {"cold", "decay", "steady"};

/* The binds of a stage are [first, end) of the order. */
struct range {
    size_t first, end;
};

static struct range range_of(const struct binds_result *result, int stage)
{
    switch (stage) {
    case BINDS_COLD:
        return (struct range){0, result->cold_count};
    case BINDS_DECAY:
        return (struct range){result->cold_count, result->first_steady};
    default:
        return (struct range){result->first_steady, result->file->bind_count};
    }
}

/* Where the numbers of the first binds were lost, the first that is there counts as cold. */
static bool is_cold(const struct binds_file *file, size_t bind)
{
    return file->binds[bind].number == 1 || bind == 0;
}

static void put_in_order(struct binds_result *result)
{
    const struct binds_file *file = result->file;
    size_t placed = 0;

    for (size_t i = 0; i < file->bind_count; i++)
        if (is_cold(file, i))
            result->order[placed++] = i;
    result->cold_count = placed;
    for (size_t i = 0; i < file->bind_count; i++)
        if (!is_cold(file, i))
            result->order[placed++] = i;
}

/* By counts, in the order. */
static size_t find_steady(const struct binds_result *result, const uint64_t *counts)
{
    size_t count = result->file->bind_count;
    size_t first = policy_steady_first(counts, count);

    if (first < result->cold_count)
        first = result->cold_count;
    return count - first < POLICY_STEADY_ROUNDS_MIN ? count : first;
}

bool binds_judge(struct binds_result *result, size_t steady_count)
{
    const struct binds_file *file = result->file;
    uint64_t *counts = calloc(file->bind_count, sizeof *counts);

    result->order = calloc(file->bind_count, sizeof *result->order);
    if (counts == NULL || result->order == NULL) {
        say("%s", strerror(errno));
        free(counts);
        free(result->order);
        return false;
    }
    put_in_order(result);
    for (size_t i = 0; i < file->bind_count; i++)
        counts[i] = file->binds[result->order[i]].figures[result->figure];
    result->first_steady =
        steady_count > 0 ? file->bind_count - steady_count : find_steady(result, counts);
    if (result->first_steady < result->cold_count)
        result->first_steady = result->cold_count;
    free(counts);
    return true;
}

struct summary {
    uint64_t min, median, max;
    bool is_known;
};

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* What one bind has of a figure: the whole bind, or one of its phases. */
static uint64_t value_of(const struct binds_bind *bind, int phase, int figure)
{
    if (phase < 0)
        return bind->figures[figure];
    return bind->phases == NULL ? 0 : bind->phases[phase][figure];
}

/* Of each bind the sum over its phases: the minimum of sums, not the sum of minima. */
static uint64_t sum_of(const struct binds_file *file, const struct binds_bind *bind,
                       int figure)
{
    uint64_t sum = 0;

    for (size_t phase = 0; phase < file->phase_count; phase++) {
        uint64_t value = value_of(bind, (int)phase, figure);
        if (value == BINDS_UNKNOWN)
            return BINDS_UNKNOWN;
        sum += value;
    }
    return sum;
}

enum { WHOLE = -1, SUM = -2 }; /* beside the phases */

static struct summary summarize(const struct binds_result *result, struct range range,
                                int phase, int figure)
{
    const struct binds_file *file = result->file;
    size_t count = range.end - range.first;
    uint64_t *values = count == 0 ? NULL : calloc(count, sizeof *values);
    struct summary summary = {.is_known = values != NULL};

    for (size_t i = 0; summary.is_known && i < count; i++) {
        const struct binds_bind *bind = &file->binds[result->order[range.first + i]];
        values[i] =
            phase == SUM ? sum_of(file, bind, figure) : value_of(bind, phase, figure);
        summary.is_known = values[i] != BINDS_UNKNOWN;
    }
    if (summary.is_known) {
        qsort(values, count, sizeof *values, by_value);
        summary.min = values[0];
        summary.median = values[(count - 1) / 2] / 2 + values[count / 2] / 2 +
                         (values[(count - 1) / 2] % 2 + values[count / 2] % 2) / 2;
        summary.max = values[count - 1];
    }
    free(values);
    return summary;
}

static void print_summary(const char *name, size_t binds, const char *what,
                          struct summary summary)
{
    printf("%-16s %5zu  %-20s", name, binds, what);
    if (summary.is_known)
        printf(" %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", summary.min,
               summary.median, summary.max);
    else
        printf(" %14s %14s %14s\n", "-", "-", "-");
}

static void print_stage(const struct binds_result *result, int stage)
{
    struct range range = range_of(result, stage);
    size_t count = range.end - range.first;

    if (count == 0) {
        printf("%-16s %5d  %s\n", stages[stage], 0,
               stage == BINDS_STEADY ? "the last counts do not agree: not steady yet"
                                     : "-");
        return;
    }
    for (int figure = 0; figure < BINDS_FIGURE_COUNT; figure++)
        print_summary(stages[stage], count, binds_figure_names[figure],
                      summarize(result, range, WHOLE, figure));
}

/* Phases are looked at where the binds are as warm as they get. */
static int warmest(const struct binds_result *result)
{
    int stage = BINDS_STEADY;

    while (range_of(result, stage).end == range_of(result, stage).first)
        stage--;
    return stage;
}

static void print_phases(const struct binds_result *result)
{
    static const int shown[] = {BINDS_wall_ns, BINDS_cpu_ns, BINDS_minor_faults,
                                BINDS_memory_calls};
    const struct binds_file *file = result->file;
    const int stage = warmest(result);
    struct range range = range_of(result, stage);
    size_t count = range.end - range.first;

    printf("\nphases of the %s binds, and the sum of each bind's phases\n",
           stages[stage]);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        const char *what = binds_figure_names[shown[i]];
        for (size_t phase = 0; phase < file->phase_count; phase++)
            print_summary(file->phase_names[phase], count, what,
                          summarize(result, range, (int)phase, shown[i]));
        print_summary("sum", count, what, summarize(result, range, SUM, shown[i]));
    }
}

static void print_sequence(const struct binds_result *result)
{
    const struct binds_file *file = result->file;

    printf("%s, bind by bind:", binds_figure_names[result->figure]);
    for (size_t i = 0; i < file->bind_count; i++) {
        uint64_t value = file->binds[i].figures[result->figure];
        if (value == BINDS_UNKNOWN)
            printf(" -");
        else
            printf(" %" PRIu64, value);
    }
    putchar('\n');
}

void binds_print_text(const struct binds_result *result)
{
    const struct binds_file *file = result->file;

    printf("%s, process %" PRIu64 ", tidemark %s: %zu binds, bounded by %s\n",
           file->program, file->process_id, file->version, file->bind_count,
           file->boundary);
    if (file->lost > 0)
        printf("%" PRIu64 " more were lost: there was no room to record them\n",
               file->lost);
    print_sequence(result);
    printf("\n%-16s %5s  %-20s %14s %14s %14s\n", "", "binds", "per bind", "min",
           "median", "max");
    for (int stage = 0; stage < BINDS_STAGES; stage++)
        print_stage(result, stage);
    if (file->phase_count > 0)
        print_phases(result);
}

static json_t *summary_json(struct summary summary)
{
    return summary.is_known
               ? json_pack("{s:I, s:I, s:I}", "min", (json_int_t)summary.min, "median",
                           (json_int_t)summary.median, "max", (json_int_t)summary.max)
               : json_null();
}

static json_t *figures_json(const struct binds_result *result, struct range range,
                            int phase)
{
    json_t *figures = json_object();

    for (int figure = 0; figure < BINDS_FIGURE_COUNT; figure++)
        json_object_set_new(figures, binds_figure_names[figure],
                            summary_json(summarize(result, range, phase, figure)));
    return figures;
}

static json_t *stage_json(const struct binds_result *result, int stage)
{
    struct range range = range_of(result, stage);

    if (range.end == range.first)
        return json_null();
    json_t *made = figures_json(result, range, WHOLE);
    json_object_set_new(made, "binds",
                        json_integer((json_int_t)(range.end - range.first)));
    return made;
}

static json_t *sequence_json(const struct binds_result *result)
{
    json_t *sequence = json_array();

    for (size_t i = 0; i < result->file->bind_count; i++) {
        uint64_t value = result->file->binds[i].figures[result->figure];
        json_array_append_new(sequence, value == BINDS_UNKNOWN
                                            ? json_null()
                                            : json_integer((json_int_t)value));
    }
    return sequence;
}

static json_t *phases_json(const struct binds_result *result)
{
    const struct binds_file *file = result->file;
    struct range range = range_of(result, warmest(result));
    json_t *phases = json_object();

    for (size_t phase = 0; phase < file->phase_count; phase++)
        json_object_set_new(phases, file->phase_names[phase],
                            figures_json(result, range, (int)phase));
    if (file->phase_count > 0)
        json_object_set_new(phases, "", figures_json(result, range, SUM));
    return phases;
}

void binds_print_json(const struct binds_result *result)
{
    const struct binds_file *file = result->file;
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "schema",
        "tidemark.binds-summary/1", "program", file->program, "boundary", file->boundary,
        "binds", (json_int_t)file->bind_count, "lost", (json_int_t)file->lost, "figure",
        binds_figure_names[result->figure], "sequence", sequence_json(result), "cold",
        stage_json(result, BINDS_COLD), "decay", stage_json(result, BINDS_DECAY),
        "steady", stage_json(result, BINDS_STEADY), "phases", phases_json(result));

    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

#include "tools/tidemark/compare_print.h"

#include <stdio.h>

static struct policy_compare judge(const struct compare_result *result,
                                   enum compare_measure measure)
{
    double a[POLICY_COMPARE_ROUNDS_MAX], b[POLICY_COMPARE_ROUNDS_MAX];

    compare_values(result->rounds, COMPARE_A, measure, a);
    compare_values(result->rounds, COMPARE_B, measure, b);
    return policy_compare_of(a, b, result->rounds->count);
}

/* A log may have been written by anybody. */
static void print_printable(const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        putchar(*text >= ' ' && *text <= '~' ? *text : '?');
}

static void print_arm(const struct compare_result *result, int arm)
{
    const json_t *command = json_object_get(result->stamps[arm], "command");
    const json_t *word;
    size_t i;

    printf("%c ", COMPARE_ARM_NAMES[arm]);
    json_array_foreach(command, i, word) printf(" %s", json_string_value(word));
    putchar('\n');
}

/* The value of each arm for variables in which they differ. */
static void print_setting(const struct compare_result *result)
{
    for (int arm = 0; arm < COMPARE_ARMS; arm++) {
        const json_t *environment = json_object_get(result->stamps[arm], "environment");
        const json_t *value = json_object_get(environment, result->what);
        if (value != NULL) {
            printf("%c  %s=", COMPARE_ARM_NAMES[arm], result->what);
            print_printable(json_string_value(value));
            putchar('\n');
        } else if (json_object_get(json_object_get(result->stamps[COMPARE_ARMS - 1 - arm],
                                                   "environment"),
                                   result->what) != NULL)
            printf("%c  without %s\n", COMPARE_ARM_NAMES[arm], result->what);
    }
}

static void print_values(const struct policy_estimate *value, double least, double most)
{
    char text[64];

    snprintf(text, sizeof text, "%.6g [%.6g-%.6g]", value->median, least, most);
    printf("  %-32s", text);
}

static void print_measure(const struct compare_result *result,
                          enum compare_measure measure)
{
    struct policy_compare found = judge(result, measure);
    char ratio[64] = "-";

    if (found.has_ratio)
        snprintf(ratio, sizeof ratio, "%.3f [%.3f-%.3f]", found.ratio.median,
                 found.ratio.low, found.ratio.high);
    printf("%-14s", compare_headings[measure]);
    print_values(&found.a, found.a_min, found.a_max);
    print_values(&found.b, found.b_min, found.b_max);
    printf("  %-22s  %s", ratio, policy_compare_text(found.verdict));
    if (found.verdict == POLICY_COMPARE_NOT_RESOLVABLE)
        printf(" (lower in %zu, higher in %zu of %zu)", found.lower, found.higher,
               found.repetitions);
    putchar('\n');
}

void compare_print_text(const struct compare_result *result)
{
    print_arm(result, COMPARE_A);
    print_arm(result, COMPARE_B);
    print_setting(result);
    printf("They differ in %s. %zu rounds, A and B in turns, %zu repetitions.\n\n",
           result->what, result->rounds->count,
           result->rounds->count / POLICY_COMPARE_EACH);
    printf("%-14s  %-32s  %-32s  %-22s  %s\n", "", "A: median [min-max]",
           "B: median [min-max]", "B/A [90 %]", "verdict");
    for (int measure = 0; measure < COMPARE_MEASURE_COUNT; measure++)
        print_measure(result, (enum compare_measure)measure);
}

static json_t *estimate_json(const struct policy_estimate *estimate)
{
    return json_pack("{s:f, s:f, s:f}", "median", estimate->median, "low", estimate->low,
                     "high", estimate->high);
}

static json_t *measure_json(const struct compare_result *result,
                            enum compare_measure measure)
{
    struct policy_compare found = judge(result, measure);

    return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o}",
                     "verdict", policy_compare_text(found.verdict), "repetitions",
                     (json_int_t)found.repetitions, "lower", (json_int_t)found.lower,
                     "higher", (json_int_t)found.higher, "a_min", found.a_min, "a_max",
                     found.a_max, "b_min", found.b_min, "b_max", found.b_max, "a",
                     estimate_json(&found.a), "b", estimate_json(&found.b), "difference",
                     estimate_json(&found.difference), "ratio",
                     found.has_ratio ? estimate_json(&found.ratio) : json_null());
}

void compare_print_json(const struct compare_result *result)
{
    json_t *measures = json_object();

    for (int measure = 0; measure < COMPARE_MEASURE_COUNT; measure++)
        json_object_set_new(measures, compare_keys[measure],
                            measure_json(result, (enum compare_measure)measure));
    json_t *all = json_pack(
        "{s:s, s:s, s:I, s:O, s:O, s:o}", "schema", "tidemark.compare/1", "differ_in",
        result->what, "rounds", (json_int_t)result->rounds->count, "a",
        result->stamps[COMPARE_A], "b", result->stamps[COMPARE_B], "measures", measures);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

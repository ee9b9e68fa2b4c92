#include "tools/tidemark/compare_log.h"

#include <errno.h>
#include <string.h>

#include "tools/tidemark/json_lines.h"
#include "tools/tidemark/say.h"

#define SCHEMA "tidemark.compare/1"

FILE *compare_log_create(const char *path)
{
    FILE *log = fopen(path, "wxe");

    if (log == NULL)
        say("%s: %s", path, errno == EEXIST ? "is there already" : strerror(errno));
    return log;
}

static bool put_line(FILE *log, json_t *line)
{
    bool is_written = line != NULL && json_dumpf(line, log, JSON_COMPACT) == 0 &&
                      fputc('\n', log) != EOF && fflush(log) == 0;

    if (!is_written)
        say("the log: %s", strerror(errno));
    json_decref(line);
    return is_written;
}

bool compare_log_stamp(FILE *log, int arm, const json_t *stamp)
{
    json_t *copy = log == NULL ? NULL : json_deep_copy(stamp);

    return log == NULL ||
           put_line(log, json_pack("{s:s, s:s#, s:o}", "schema", SCHEMA, "arm",
                                   &COMPARE_ARM_NAMES[arm], 1, "stamp", copy));
}

bool compare_log_sample(FILE *log, int arm, size_t round,
                        const struct compare_sample *sample)
{
    if (log == NULL)
        return true;
    json_t *line = json_pack("{s:I, s:s#}", "round", (json_int_t)round + 1, "arm",
                             &COMPARE_ARM_NAMES[arm], 1);
    for (size_t i = 0; i < COMPARE_MEASURE_COUNT; i++)
        json_object_set_new(line, compare_keys[i], json_real(sample->values[i]));
    return put_line(log, line);
}

struct reading {
    struct json_lines lines;
    json_t **stamps;
    struct compare_rounds *rounds;
    size_t sample_count; /* of both arms */
};

static bool complain(const struct reading *reading, const char *what)
{
    return json_lines_complain(&reading->lines, what);
}

static int arm_of(const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "arm"));

    if (name == NULL || strlen(name) != 1 || strchr(COMPARE_ARM_NAMES, *name) == NULL)
        return COMPARE_ARMS;
    return (int)(strchr(COMPARE_ARM_NAMES, *name) - COMPARE_ARM_NAMES);
}

static bool take_stamp(struct reading *reading, const json_t *line, int arm)
{
    const char *schema = json_string_value(json_object_get(line, "schema"));

    if (schema == NULL || strcmp(schema, SCHEMA) != 0)
        return complain(reading, "not of the schema " SCHEMA);
    if (reading->stamps[arm] != NULL)
        return complain(reading, "a second stamp of the same arm");
    reading->stamps[arm] = json_incref(json_object_get(line, "stamp"));
    return true;
}

/* A and B in turns, round after round. */
static bool take_sample(struct reading *reading, const json_t *line, int arm)
{
    size_t round = reading->sample_count / COMPARE_ARMS;

    if (reading->stamps[COMPARE_A] == NULL || reading->stamps[COMPARE_B] == NULL)
        return complain(reading, "a sample before both stamps");
    if (round == POLICY_COMPARE_ROUNDS_MAX)
        return complain(reading, "too many rounds");
    if (arm != (int)(reading->sample_count % COMPARE_ARMS) ||
        json_integer_value(json_object_get(line, "round")) != (json_int_t)round + 1)
        return complain(reading, "the samples did not take turns");
    for (size_t i = 0; i < COMPARE_MEASURE_COUNT; i++) {
        const json_t *value = json_object_get(line, compare_keys[i]);
        if (!json_is_number(value))
            return complain(reading, "a measure is missing");
        reading->rounds->samples[arm][round].values[i] = json_number_value(value);
    }
    reading->sample_count++;
    return true;
}

static bool take_line(void *context, const json_t *line)
{
    struct reading *reading = context;
    int arm = arm_of(line);

    if (arm == COMPARE_ARMS)
        return complain(reading, "not a line of such a log");
    return json_object_get(line, "stamp") != NULL ? take_stamp(reading, line, arm)
                                                  : take_sample(reading, line, arm);
}

bool compare_log_read(const char *path, json_t *stamps[COMPARE_ARMS],
                      struct compare_rounds *rounds)
{
    struct reading reading = {.lines.path = path, .stamps = stamps, .rounds = rounds};

    stamps[COMPARE_A] = stamps[COMPARE_B] = NULL;
    bool is_read = json_lines_read(&reading.lines, take_line, &reading) &&
                   (reading.sample_count > 0 || complain(&reading, "there is no sample"));
    rounds->count = reading.sample_count / COMPARE_ARMS;
    if (!is_read) {
        json_decref(stamps[COMPARE_A]);
        json_decref(stamps[COMPARE_B]);
    }
    return is_read;
}

#include "tools/simcuda/knobs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/quantity.h"
#include "tools/simcuda/log.h"
#include "tools/simcuda/version.h"

enum {
    MEM_UNIT_BYTES = 512,   /* the least that an allocation takes */
    COST_LIMIT_US = 1000000 /* so that no product of a cost and a size overflows */
};

static struct sim_knobs values;
static bool all_valid = true;

const struct sim_knobs *const sim_knobs = &values;

static bool parse_BYTES(const char *text, uint64_t *bytes)
{
    uint64_t parsed;
    if (!policy_quantity_parse_bytes(text, &parsed) || parsed < MEM_UNIT_BYTES)
        return false;
    *bytes = parsed;
    return true;
}

static bool parse_OVERHEAD(const char *text, uint64_t *bytes)
{
    return policy_quantity_parse_bytes(text, bytes);
}

/* A number and what follows it. strtoul() takes signs and spaces, which are no number
   here, and stops at its limit. */
static bool take_number(const char *text, uint64_t limit, uint64_t *number,
                        const char **rest)
{
    char *end;
    unsigned long parsed = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || parsed > limit)
        return false;
    *number = parsed;
    *rest = end;
    return true;
}

static bool parse_number(const char *text, uint64_t limit, uint64_t *number)
{
    const char *rest;
    return take_number(text, limit, number, &rest) && *rest == '\0';
}

static bool parse_COUNT(const char *text, int *count)
{
    uint64_t parsed;
    if (!parse_number(text, SIM_DEVICE_LIMIT, &parsed))
        return false;
    *count = (int)parsed;
    return true;
}

static bool parse_COST(const char *text, uint64_t *microseconds)
{
    return parse_number(text, COST_LIMIT_US, microseconds);
}

static bool parse_DELAY(const char *text, struct sim_delay *delay)
{
    const char *rest;
    if (!take_number(text, COST_LIMIT_US, &delay->low_us, &rest))
        return false;
    delay->high_us = delay->low_us;
    return *rest == '\0' ||
           (*rest == '-' && parse_number(rest + 1, COST_LIMIT_US, &delay->high_us) &&
            delay->low_us <= delay->high_us);
}

/* Not a choice: what is exported was decided when the library was linked. */
static bool parse_VERSION(const char *text, int *version)
{
    uint64_t parsed = (uint64_t)sim_version;
    bool valid = *text == '\0' || parse_number(text, parsed, &parsed);
    *version = sim_version;
    return valid && parsed == (uint64_t)sim_version;
}

static bool parse_FAULTS(const char *text, struct sim_fault_list *list)
{
    return sim_faults_parse(text, list);
}

static bool choose(const char *text, const char *yes, const char *no, bool *chosen)
{
    *chosen = strcmp(text, yes) == 0;
    return *chosen || strcmp(text, no) == 0;
}

static bool parse_KERNELS(const char *text, bool *skip)
{
    return choose(text, "skip", "refuse", skip);
}

static bool parse_FREED(const char *text, bool *unmap)
{
    return choose(text, "unmap", "keep", unmap);
}

static bool parse_SWITCH(const char *text, bool *on)
{
    return choose(text, "on", "off", on);
}

static bool parse_APPEND(const char *path, int *descriptor)
{
    *descriptor = -1;
    if (*path == '\0')
        return true;
    *descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return *descriptor >= 0;
}

static bool is_knob(const char *assignment)
{
    static const char *const environments[] = {
#define KNOB(field, type, initial, environment, rule, help) environment "=",
#include "tools/simcuda/knobs.def"
#undef KNOB
    };
    for (size_t i = 0; i < sizeof environments / sizeof *environments; i++)
        if (strncmp(assignment, environments[i], strlen(environments[i])) == 0)
            return true;
    return false;
}

/* A misspelt knob would otherwise be a silent default. */
static void report_unknown(void)
{
    static const char prefix[] = "SIMCUDA_";
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, prefix, sizeof prefix - 1) != 0 || is_knob(*entry))
            continue;
        all_valid = false;
        sim_log_say("simcuda: %s: no such knob; there are"
#define KNOB(field, type, initial, environment, rule, help) " " environment
#include "tools/simcuda/knobs.def"
#undef KNOB
                    "\n",
                    *entry);
    }
}

static const char *text_of(const char *environment, const char *initial)
{
    const char *text = getenv(environment);
    return text != NULL ? text : initial;
}

static void judge(const char *environment, const char *rule, const char *help, bool valid)
{
    if (valid)
        return;
    all_valid = false;
    sim_log_say("simcuda: %s=%s: must be %s (%s)\n", environment,
                text_of(environment, ""), rule, help);
}

void sim_knobs_read(void)
{
#define KNOB(field, type, initial, environment, rule, help)                              \
    judge(environment, rule, help,                                                       \
          parse_##type(text_of(environment, initial), &values.field));
#include "tools/simcuda/knobs.def"
#undef KNOB
    report_unknown();
}

bool sim_knobs_valid(void)
{
    return all_valid;
}

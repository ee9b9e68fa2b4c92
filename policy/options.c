#include "policy/options.h"

#include <assert.h>
#include <string.h>

#include "policy/must.h"

#define PREFIX "TIDEMARK_"

/* The one name with our prefix that is no option: `tidemark run` leaves word in it. */
#define RUN_NAME "TIDEMARK_RUN"

enum {
    NAME_LENGTH_MAX = 40,  /* of an environment name in the table; sizes a buffer */
    ENTRY_LENGTH_MAX = 60, /* of what is shown of an entry at fault */
    NEAR_EDITS_MAX = 3,    /* further away, a suggestion misleads more than it helps */
};

#define OPTION(field, type, initial, env, flag, argument, help)                          \
    static_assert(sizeof(env) <= NAME_LENGTH_MAX + 1, env " is too long");
#include "policy/options.def"
#undef OPTION

#define RULE_SWITCH "on or off"
#define RULE_CEILINGS                                                                    \
    "device, none, a size of at least 1 byte, or a percentage above 0 and at most 100, " \
    "or a list of these by device as in 0=8GiB,1=50%,*=none"
#define RULE_HOST_CEILING                                                                \
    "none, a size of at least 1 byte, or a percentage above 0 and at most 100"
#define RULE_FRACTION "a decimal fraction of at least 0 and below 1"
#define RULE_BYTES    "a size of at least 1 byte"
#define RULE_REPORT   "none, stderr or a file name"
#define RULE_FORMAT   "text or json"
#define RULE_DURATION "never, or a whole number followed by ms, s, m or h"
#define RULE_SHARE    "none, a size, or a percentage above 0 and at most 100"
#define RULE_KEEP     "off, a size, or a percentage above 0 and at most 100"
#define RULE_REUSE    "dirty, zero or poison"
#define RULE_HUGEPAGE "auto, never or always"
#define RULE_SCOPE    "tree or exec"
#define RULE_NAME     "staging, or the name of a driver function"
#define RULE_DEEPBIND "clear or keep"

// clang-format off
const struct policy_option_row policy_option_rows[POLICY_OPTION_COUNT] = {
#define OPTION(field, type, initial, env, flag, argument, help) \
    [POLICY_OPTION_##field] = {#field, initial, env, flag, argument, help, RULE_##type},
#include "policy/options.def"
#undef OPTION
};
// clang-format on

/* One spelling of a value that is chosen from a list; a list ends with a NULL text. */
struct word {
    const char *text;
    unsigned value;
};

static bool read_word(const char *text, const struct word *words, unsigned *value)
{
    for (; words->text != NULL; words++) {
        if (strcmp(text, words->text) == 0) {
            *value = words->value;
            return true;
        }
    }
    return false;
}

static bool read_flag(const char *text, const struct word *words, bool *flag)
{
    unsigned value;
    if (!read_word(text, words, &value))
        return false;
    *flag = value != 0;
    return true;
}

/* The parsers, one for each type. `field` points to a policy_option_<type>, which keeps
   its value unless the text is accepted. No parser accepts an empty text. */

// clang-format off
static bool parse_SWITCH(const char *text, void *field)
{
    static const struct word words[] = {
        {"on", true}, {"1", true}, {"yes", true}, {"true", true},
        {"off", false}, {"0", false}, {"no", false}, {"false", false},
        {NULL, false},
    };
    return read_flag(text, words, (policy_option_SWITCH *)field);
}
// clang-format on

static bool parse_CEILINGS(const char *text, void *field)
{
    struct policy_ceilings_fault fault;
    return policy_ceilings_parse(text, (policy_option_CEILINGS *)field, &fault);
}

static bool parse_HOST_CEILING(const char *text, void *field)
{
    return policy_ceiling_parse_host(text, (policy_option_HOST_CEILING *)field);
}

static bool parse_FRACTION(const char *text, void *field)
{
    return policy_quantity_parse_fraction(text, (policy_option_FRACTION *)field);
}

static bool parse_BYTES(const char *text, void *field)
{
    uint64_t bytes;
    if (!policy_quantity_parse_bytes(text, &bytes) || bytes == 0)
        return false;
    *(policy_option_BYTES *)field = bytes;
    return true;
}

static bool parse_REPORT(const char *text, void *field)
{
    if (*text == '\0')
        return false;
    *(policy_option_REPORT *)field = strcmp(text, "none") == 0 ? NULL : text;
    return true;
}

static bool parse_NAME(const char *text, void *field)
{
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        "0123456789_";
    if (*text == '\0' || text[strspn(text, characters)] != '\0')
        return false;
    *(policy_option_NAME *)field = text;
    return true;
}

static bool parse_DURATION(const char *text, void *field)
{
    uint64_t ms = UINT64_MAX;
    if (strcmp(text, "never") != 0 && !policy_quantity_parse_duration(text, &ms))
        return false;
    *(policy_option_DURATION *)field = ms;
    return true;
}

/* `word` is POLICY_CEILING_NONE. */
static bool read_share(const char *text, const char *word,
                       struct policy_ceiling_request *field)
{
    struct policy_ceiling_request share = {.kind = POLICY_CEILING_NONE};
    if (strcmp(text, word) == 0)
        share.kind = POLICY_CEILING_NONE;
    else if (policy_quantity_parse_bytes(text, &share.bytes))
        share.kind = POLICY_CEILING_BYTES;
    else if (policy_quantity_parse_percent(text, &share.share))
        share.kind = POLICY_CEILING_PERCENT;
    else
        return false;
    *field = share;
    return true;
}

static bool parse_SHARE(const char *text, void *field)
{
    return read_share(text, "none", (policy_option_SHARE *)field);
}

static bool parse_KEEP(const char *text, void *field)
{
    return read_share(text, "off", (policy_option_KEEP *)field);
}

static bool parse_REUSE(const char *text, void *field)
{
    static const struct word words[] = {
        {"dirty", POLICY_REUSE_DIRTY},
        {"zero", POLICY_REUSE_ZERO},
        {"poison", POLICY_REUSE_POISON},
        {NULL, 0},
    };
    unsigned value;
    if (!read_word(text, words, &value))
        return false;
    *(policy_option_REUSE *)field = (enum policy_reuse)value;
    return true;
}

static bool parse_HUGEPAGE(const char *text, void *field)
{
    static const struct word words[] = {
        {"auto", POLICY_HUGE_AUTO},
        {"never", POLICY_HUGE_NEVER},
        {"always", POLICY_HUGE_ALWAYS},
        {NULL, 0},
    };
    unsigned value;
    if (!read_word(text, words, &value))
        return false;
    *(policy_option_HUGEPAGE *)field = (enum policy_huge_pages)value;
    return true;
}

static bool parse_FORMAT(const char *text, void *field)
{
    static const struct word words[] = {
        {"text", POLICY_REPORT_TEXT},
        {"json", POLICY_REPORT_JSON},
        {NULL, 0},
    };
    unsigned value;
    if (!read_word(text, words, &value))
        return false;
    *(policy_option_FORMAT *)field = (enum policy_report_form)value;
    return true;
}

static bool parse_SCOPE(const char *text, void *field)
{
    static const struct word words[] = {
        {"tree", POLICY_SCOPE_TREE}, {"exec", POLICY_SCOPE_EXEC}, {NULL, 0}};
    unsigned value;
    if (!read_word(text, words, &value))
        return false;
    *(policy_option_SCOPE *)field = (enum policy_scope)value;
    return true;
}

static bool parse_DEEPBIND(const char *text, void *field)
{
    static const struct word words[] = {{"clear", true}, {"keep", false}, {NULL, false}};
    return read_flag(text, words, (policy_option_DEEPBIND *)field);
}

bool policy_options_set(struct policy_options *options, enum policy_option_id id,
                        const char *text)
{
    // clang-format off
    static const struct {
        size_t offset;
        bool (*parse)(const char *text, void *field);
    } fields[POLICY_OPTION_COUNT] = {
#define OPTION(field, type, initial, env, flag, argument, help) \
        [POLICY_OPTION_##field] = {offsetof(struct policy_options, field), parse_##type},
#include "policy/options.def"
#undef OPTION
    };
    // clang-format on
    return fields[id].parse(text, (char *)options + fields[id].offset);
}

/* Appends at most `length` characters, as far as there is room; where the text ends now. */
static char *append(char *to, const char *end, const char *text, size_t length)
{
    while (length > 0 && *text != '\0' && to < end) {
        *to++ = *text++;
        length--;
    }
    *to = '\0';
    return to;
}

static bool is_of_devices(const struct policy_option_row *row)
{
    return row == &policy_option_rows[POLICY_OPTION_device_mem];
}

void policy_options_explain(const struct policy_option_row *row, const char *text,
                            char reason[POLICY_OPTIONS_REASON_BYTES])
{
    struct policy_ceilings ceilings;
    struct policy_ceilings_fault fault = {.sentence = NULL};
    const char *end = reason + POLICY_OPTIONS_REASON_BYTES - 1;

    if (is_of_devices(row))
        (void)!policy_ceilings_parse(text, &ceilings, &fault);
    if (fault.sentence == NULL) {
        reason = append(reason, end, "must be ", SIZE_MAX);
        (void)append(reason, end, row->rule, SIZE_MAX);
        return;
    }
    if (fault.entry_length > 0) {
        reason = append(reason, end, fault.entry,
                        fault.entry_length < ENTRY_LENGTH_MAX ? fault.entry_length
                                                              : ENTRY_LENGTH_MAX);
        reason = append(reason, end, " ", 1);
    }
    (void)append(reason, end, fault.sentence, SIZE_MAX);
}

/* Whether the first `length` characters of `text` are exactly `name`. */
static bool is_name(const char *text, size_t length, const char *name)
{
    return strncmp(text, name, length) == 0 && name[length] == '\0';
}

/* Whether `name` is one whole item of a list separated by commas. */
static bool list_has(const char *list, const char *name)
{
    while (list != NULL) {
        size_t length = strcspn(list, ",");
        if (is_name(list, length, name))
            return true;
        list = list[length] == ',' ? list + length + 1 : NULL;
    }
    return false;
}

void policy_options_read(struct policy_options *options,
                         struct policy_option_value values[POLICY_OPTION_COUNT],
                         policy_option_lookup lookup, policy_option_complaint complain,
                         void *context, const char *run_fields)
{
    for (enum policy_option_id id = 0; id < POLICY_OPTION_COUNT; id++) {
        const struct policy_option_row *row = &policy_option_rows[id];
        must(policy_options_set(options, id, row->initial));
        values[id] = (struct policy_option_value){row->initial, POLICY_ORIGIN_DEFAULT};
        const char *text = lookup(context, row->environment);
        if (text == NULL)
            continue;
        if (!policy_options_set(options, id, text)) {
            complain(context, row, text);
            continue;
        }
        values[id].text = text;
        values[id].origin = list_has(run_fields, row->environment)
                                ? POLICY_ORIGIN_RUN
                                : POLICY_ORIGIN_ENVIRONMENT;
    }
}

bool policy_options_unknown(const char *assignment)
{
    size_t length = strcspn(assignment, "=");
    if (strncmp(assignment, PREFIX, strlen(PREFIX)) != 0)
        return false;
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        if (is_name(assignment, length, policy_option_rows[i].environment))
            return false;
    }
    return !is_name(assignment, length, RUN_NAME);
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t lesser = a < b ? a : b;
    return lesser < c ? lesser : c;
}

/* The fewest edits that turn `length` characters of `text` into `name` (Levenshtein), one
   row of the table at a time: edits[j] turns what was read of `text` into j characters of
   `name`. */
static size_t edit_distance(const char *text, size_t length, const char *name)
{
    size_t edits[NAME_LENGTH_MAX + 1];
    size_t name_length = strlen(name);
    for (size_t j = 0; j <= name_length; j++)
        edits[j] = j;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = edits[0];
        edits[0] = i + 1;
        for (size_t j = 1; j <= name_length; j++) {
            size_t replaced = diagonal + (text[i] != name[j - 1]);
            diagonal = edits[j];
            edits[j] = least(edits[j] + 1, edits[j - 1] + 1, replaced);
        }
    }
    return edits[name_length];
}

const char *policy_options_nearest(const char *name)
{
    size_t length = strcspn(name, "=");
    size_t nearest_edits = NEAR_EDITS_MAX + 1;
    const char *nearest = NULL;
    /* A text this much longer than every name is near none, however long it is. */
    if (length > NAME_LENGTH_MAX + NEAR_EDITS_MAX)
        return NULL;
    for (size_t i = 0; i < POLICY_OPTION_COUNT; i++) {
        const char *candidate = policy_option_rows[i].environment;
        size_t edits = edit_distance(name, length, candidate);
        if (edits < nearest_edits) {
            nearest_edits = edits;
            nearest = candidate;
        }
    }
    return nearest;
}

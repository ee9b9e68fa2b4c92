/* All options of a process: read once, from texts that a caller looks up, so that life
   asks the environment and tests ask a table. Never prints, never fails: a bad value is
   handed to the caller's complaint, and the default stays. */
#ifndef POLICY_OPTIONS_H
#define POLICY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/ceilings.h"
#include "policy/quantity.h"

enum policy_huge_pages { POLICY_HUGE_AUTO, POLICY_HUGE_NEVER, POLICY_HUGE_ALWAYS };
enum policy_reuse { POLICY_REUSE_DIRTY, POLICY_REUSE_ZERO, POLICY_REUSE_POISON };
enum policy_scope { POLICY_SCOPE_TREE, POLICY_SCOPE_EXEC };
enum policy_report_form { POLICY_REPORT_TEXT, POLICY_REPORT_JSON };

/* A SWITCH reads on, off, 1, 0, yes, no, true, false; REPORT keeps the text, NULL for
   "none". */
typedef bool policy_option_SWITCH;
typedef struct policy_ceilings policy_option_CEILINGS;
typedef struct policy_ceiling_request policy_option_HOST_CEILING; /* no DEVICE */
typedef struct policy_fraction policy_option_FRACTION;
typedef uint64_t policy_option_BYTES;
typedef const char *policy_option_REPORT;
typedef enum policy_report_form policy_option_FORMAT;
typedef uint64_t policy_option_DURATION; /* milliseconds; UINT64_MAX: never */
typedef struct policy_ceiling_request policy_option_SHARE; /* NONE, BYTES or PERCENT */
typedef struct policy_ceiling_request policy_option_KEEP; /* NONE (off), BYTES, PERCENT */
typedef enum policy_reuse policy_option_REUSE;
typedef enum policy_huge_pages policy_option_HUGEPAGE;
typedef enum policy_scope policy_option_SCOPE;
typedef const char *policy_option_NAME; /* letters, digits and _ */
typedef bool policy_option_DEEPBIND;    /* true: clear */

struct policy_options {
#define OPTION(field, type, initial, env, flag, argument, help)                          \
    policy_option_##type field;
#include "policy/options.def"
#undef OPTION
};

enum policy_option_id {
#define OPTION(field, type, initial, env, flag, argument, help) POLICY_OPTION_##field,
#include "policy/options.def"
#undef OPTION
    POLICY_OPTION_COUNT
};

/* One row as data, for help, tables and the verbose start. */
struct policy_option_row {
    const char *field;
    const char *initial;     /* the default, as text */
    const char *environment; /* "TIDEMARK_..." */
    const char *flag;        /* of `tidemark run`, without dashes; "" if there is none */
    const char *argument;    /* what a value looks like */
    const char *help;
    const char *rule; /* what a value must be: "a size of at least 1 byte" */
};

extern const struct policy_option_row policy_option_rows[POLICY_OPTION_COUNT];

/* Where a value came from. */
enum policy_option_origin {
    POLICY_ORIGIN_DEFAULT,
    POLICY_ORIGIN_ENVIRONMENT,
    POLICY_ORIGIN_RUN, /* the environment, put there by `tidemark run` */
};

/* What was read for one option; `text` lives as long as what the lookup returned. */
struct policy_option_value {
    const char *text;
    enum policy_option_origin origin;
};

/* Looks a name up; NULL when it is not set. */
typedef const char *(*policy_option_lookup)(void *context, const char *name);

/* Told of a value that was refused, with the rule it breaks. */
typedef void (*policy_option_complaint)(void *context,
                                        const struct policy_option_row *row,
                                        const char *text);

/* Parses one value into its field. False, and nothing changed, when the text breaks the
   row's rule. The text must outlive *options. */
POLICY_MUST_CHECK bool policy_options_set(struct policy_options *options,
                                          enum policy_option_id id, const char *text);

/* Room for policy_options_explain. */
enum { POLICY_OPTIONS_REASON_BYTES = 256 };

/* Why a row refused a text: its rule, "must be on or off", or what is wrong with an entry of a
   list. */
void policy_options_explain(const struct policy_option_row *row, const char *text,
                            char reason[POLICY_OPTIONS_REASON_BYTES]);

/* Reads every row: the default first, then what `lookup` knows. `run_fields` names,
   separated by commas, the environment names that `tidemark run` set itself (NULL: none);
   they get POLICY_ORIGIN_RUN. */
void policy_options_read(struct policy_options *options,
                         struct policy_option_value values[POLICY_OPTION_COUNT],
                         policy_option_lookup lookup, policy_option_complaint complain,
                         void *context, const char *run_fields);

/* Whether "NAME=..." is a TIDEMARK name that no row has (TIDEMARK_RUN, which `tidemark
   run` uses itself, excepted). */
bool policy_options_unknown(const char *assignment);

/* The environment name of a row that is fewest edits (characters added, dropped or
   replaced) from `name`, which may go on with "=..."; NULL when it takes more than 3. */
const char *policy_options_nearest(const char *name);

#endif

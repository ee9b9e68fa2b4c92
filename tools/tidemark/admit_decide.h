/* The question whether programs fit, and its answer with every number that is needed to
   check it by hand. Reads the reports only when they can change the answer. */
#ifndef TIDEMARK_ADMIT_DECIDE_H
#define TIDEMARK_ADMIT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/admit.h"
#include "policy/options.h"
#include "tools/tidemark/admit_devices.h"
#include "tools/tidemark/admit_report.h"
#include "tools/tidemark/verb.h"

enum admit_origin { ADMIT_FROM_DEFAULT, ADMIT_FROM_ENVIRONMENT, ADMIT_FROM_OPTION };

/* A value as it was written, and where. */
struct admit_value {
    const char *text;
    const char *name; /* "--budget", "TIDEMARK_DEVICE_MEM" */
    enum admit_origin origin;
};

/* All zero but for what admit_ask sets: no device, nothing resident. */
struct admit_question {
    struct admit_value budget, headroom;
    struct policy_ceilings requests; /* of budget.text */
    struct policy_fraction fraction; /* of headroom.text */
    struct admit_device devices[ADMIT_DEVICES_MAX];
    size_t device_count;
    uint64_t resident_bytes;
    uint64_t largest_block_bytes; /* UINT64_MAX: not known */
    bool pool_grows;
    const char *const *paths;
    size_t path_count;
};

struct admit_answer {
    struct policy_ceiling ceilings[ADMIT_DEVICES_MAX]; /* of each device asked about */
    size_t least; /* the one in force; 0 where there is no device */
    struct policy_verdict verdict;
    struct admit_report *reports;           /* as many as there are paths */
    bool is_read;                           /* the reports were read, all of them */
    bool is_reserved;                       /* the reservation can be represented */
    struct policy_reservation most;         /* over devices, when is_reserved */
    const char *bytes_device, *peak_device; /* where `most` was found; "" is everywhere */
};

/* Starts a question with the budget and the headroom of `options`. An option of the
   command line, when it gave the value, is named; else NULL. */
void admit_ask(struct admit_question *question, const struct policy_options *options,
               const struct policy_option_value values[POLICY_OPTION_COUNT],
               const char *budget_option, const char *headroom_option);

/* The devices that count: those selected, else those that have a limit, else those of which the
   budget names one. */
void admit_ask_devices(struct admit_question *question,
                       const struct admit_devices *selected,
                       const struct admit_devices *limits);

/* Whether nothing could be checked, since the budget depends on a limit and none is known. */
bool admit_is_blind(const struct admit_question *question,
                    const struct admit_answer *answer);

/* VERB_DONE when the programs may start, VERB_REFUSED, or VERB_USAGE when a report was
   malformed, which has been said; then the answer is incomplete. */
enum verb_exit admit_decide(const struct admit_question *question,
                            struct admit_answer *answer);

/* What was requested on the device of the ceiling in force, and that ceiling. */
const struct policy_ceiling_request *admit_request(const struct admit_question *question,
                                                   const struct admit_answer *answer);
const struct policy_ceiling *admit_ceiling(const struct admit_answer *answer);

/* Whether what is resident and reserved has a sum that can be represented, and the sum. */
bool admit_has_total(const struct admit_answer *answer);
uint64_t admit_total_bytes(const struct admit_answer *answer);

/* Whether the largest single request may find no block. */
bool admit_is_fragile(const struct admit_question *question,
                      const struct admit_answer *answer);

void admit_answer_free(const struct admit_question *question,
                       struct admit_answer *answer);

#endif

/* The question whether programs fit, and its answer with every number that is needed to
   check it by hand. Reads the reports only when they can change the answer. */
#ifndef TIDEMARK_ADMIT_DECIDE_H
#define TIDEMARK_ADMIT_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/admit.h"
#include "policy/options.h"
#include "tools/tidemark/admit_report.h"
#include "tools/tidemark/verb.h"

enum { ADMIT_DEVICES_MAX = 64 }; /* more than one host has */

enum admit_origin { ADMIT_FROM_DEFAULT, ADMIT_FROM_ENVIRONMENT, ADMIT_FROM_OPTION };

/* A value as it was written, and where. */
struct admit_value {
    const char *text;
    const char *name; /* "--budget", "TIDEMARK_DEVICE_MEM" */
    enum admit_origin origin;
};

struct admit_device {
    uint64_t index;
    uint64_t limit_bytes; /* 0: none is known, which adds no cap */
};

/* All zero but for what admit_ask sets: no device, nothing resident. */
struct admit_question {
    struct admit_value budget, headroom;
    struct policy_ceiling_request request; /* of budget.text */
    struct policy_fraction fraction;       /* of headroom.text */
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

/* VERB_DONE when the programs may start, VERB_REFUSED, or VERB_USAGE when a report was
   malformed, which has been said; then the answer is incomplete. */
enum verb_exit admit_decide(const struct admit_question *question,
                            struct admit_answer *answer);

/* The ceiling in force. */
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

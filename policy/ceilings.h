/* What the user asked for on each device: one request for all of them, or a list of requests by
   device, "0=8GiB,1=50%,*=none". */
#ifndef POLICY_CEILINGS_H
#define POLICY_CEILINGS_H

#include <stddef.h>

#include "policy/ceiling.h"

enum {
    POLICY_CEILINGS_DEVICES = 64
}; /* that can be named, from 0; more than one host has */

struct policy_ceilings {
    struct policy_ceiling_request others; /* of every device that is not named */
    uint64_t named;                       /* bit N: device N has a request of its own */
    struct policy_ceiling_request of[POLICY_CEILINGS_DEVICES];
};

/* Why a text is refused. */
struct policy_ceilings_fault {
    const char *sentence; /* NULL: a text that is no list, and not a request either */
    const char *entry;    /* of the list, the one at fault, within the text */
    size_t entry_length;  /* 0: none in particular */
};

/* Reads a request for all devices (policy_ceiling_parse), or a list: DEVICE=REQUEST, separated
   by commas, each device once, `*` for the devices that are not named. Without a `*` these have
   the default, "device", and none below a named one may be left out: that would be a slip
   rather than a wish. False, *ceilings untouched and *fault written, for anything else. */
POLICY_MUST_CHECK bool policy_ceilings_parse(const char *text,
                                             struct policy_ceilings *ceilings,
                                             struct policy_ceilings_fault *fault);

/* The request for a device. */
const struct policy_ceiling_request *
policy_ceilings_of(const struct policy_ceilings *ceilings, uint64_t device);

#endif

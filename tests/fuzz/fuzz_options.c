/* Whatever text a value has, every option either refuses it and keeps the value it had, or
   takes a value that keeps the option's rule, the same one each time. */
#include <stdlib.h>
#include <string.h>

#include "policy/must.h"
#include "policy/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { UNTOUCHED = 0xa5 };

static void check_request(const struct policy_ceiling_request *request,
                          uint64_t least_bytes)
{
    if (request->kind == POLICY_CEILING_BYTES)
        must(request->bytes >= least_bytes);
    if (request->kind != POLICY_CEILING_PERCENT)
        return;
    must(request->share.numerator > 0);
    must(request->share.numerator <= request->share.denominator);
}

/* Only the rows whose rule is about numbers: the others are chosen from a list. */
static void check_value(const struct policy_options *options, enum policy_option_id id)
{
    if (id == POLICY_OPTION_device_mem)
        for (unsigned device = 0; device <= POLICY_CEILINGS_DEVICES; device++)
            check_request(policy_ceilings_of(&options->device_mem, device), 1);
    else if (id == POLICY_OPTION_pinned_mem)
        check_request(&options->pinned_mem, 1);
    else if (id == POLICY_OPTION_heap_mem)
        check_request(&options->heap_mem, 1);
    else if (id == POLICY_OPTION_retain)
        check_request(&options->retain, 0);
    else if (id == POLICY_OPTION_headroom)
        must(options->headroom.numerator < options->headroom.denominator);
    else if (id == POLICY_OPTION_staging_min)
        must(options->staging_min > 0);
}

static void set_twice(enum policy_option_id id, const char *text)
{
    struct policy_options untouched, options, again;

    memset(&untouched, UNTOUCHED, sizeof untouched);
    memset(&options, UNTOUCHED, sizeof options);
    memset(&again, UNTOUCHED, sizeof again);
    if (policy_options_set(&options, id, text)) {
        must(policy_options_set(&again, id, text));
        check_value(&options, id);
    } else {
        must(memcmp(&options, &untouched, sizeof options) == 0);
    }
    must(memcmp(&options, &again, sizeof options) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (enum policy_option_id id = 0; id < POLICY_OPTION_COUNT; id++) {
        char reason[POLICY_OPTIONS_REASON_BYTES];
        set_twice(id, text);
        policy_options_explain(&policy_option_rows[id], text, reason);
        must(reason[0] != '\0' && strlen(reason) < sizeof reason);
    }
    (void)policy_options_unknown(text);
    (void)policy_options_nearest(text);
    free(text);
    return 0;
}

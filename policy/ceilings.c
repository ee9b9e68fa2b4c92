#include "policy/ceilings.h"

#include <string.h>

enum {
    VALUE_LENGTH_MAX =
        40, /* of a request; longer ones, all zeros and decimals, are none */
    OTHERS = POLICY_CEILINGS_DEVICES,
};

/* A list while it is read. */
struct reading {
    struct policy_ceilings ceilings;
    bool has_others;
};

/* Reads "12=" or "*=" and moves *at past it. False for anything else. */
static bool read_device(const char **at, const char *end, unsigned *device)
{
    const char *digit = *at;
    unsigned number = 0;

    if (digit < end && *digit == '*') {
        number = OTHERS;
        digit++;
    } else {
        for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
            number = number * 10 + (unsigned)(*digit - '0');
            if (number >= POLICY_CEILINGS_DEVICES)
                return false;
        }
    }
    if (digit == *at || digit == end || *digit != '=')
        return false;
    *at = digit + 1;
    *device = number;
    return true;
}

static bool read_request(const char *at, const char *end,
                         struct policy_ceiling_request *request)
{
    char text[VALUE_LENGTH_MAX + 1] = "";
    size_t length = (size_t)(end - at);

    if (length > VALUE_LENGTH_MAX)
        return false;
    memcpy(text, at, length);
    return policy_ceiling_parse(text, request);
}

/* Where the request of a device goes; NULL when it has one already. */
static struct policy_ceiling_request *room_for(struct reading *reading, unsigned device)
{
    uint64_t bit = device == OTHERS ? 0 : UINT64_C(1) << device;

    if (device == OTHERS ? reading->has_others : (reading->ceilings.named & bit) != 0)
        return NULL;
    reading->has_others = reading->has_others || device == OTHERS;
    reading->ceilings.named |= bit;
    return device == OTHERS ? &reading->ceilings.others : &reading->ceilings.of[device];
}

/* NULL when there is nothing wrong with it. */
static const char *read_entry(struct reading *reading, const char *at, const char *end)
{
    unsigned device = 0;

    if (at == end)
        return "an entry of the list is empty";
    if (!read_device(&at, end, &device))
        return "does not begin with a device below 64 and =, or with *=";
    struct policy_ceiling_request *request = room_for(reading, device);
    if (!request)
        return "names a device for the second time";
    if (!read_request(at, end, request))
        return "is neither device, none, a size of at least 1 byte, nor a percentage "
               "above 0 and at most 100";
    return NULL;
}

/* Whether the devices that are named are all from 0 up to the last of them. */
static bool is_gapless(uint64_t named)
{
    return (named & (named + 1)) == 0;
}

static bool parse_list(const char *text, struct reading *reading,
                       struct policy_ceilings_fault *fault)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        fault->sentence = read_entry(reading, at, at + length);
        fault->entry = at;
        fault->entry_length = length;
        if (fault->sentence)
            return false;
        at += length;
        if (*at == '\0')
            break;
    }
    if (reading->has_others || is_gapless(reading->ceilings.named))
        return true;
    *fault = (struct policy_ceilings_fault){
        .sentence = "a device below the last one is not named, and there is no *"};
    return false;
}

bool policy_ceilings_parse(const char *text, struct policy_ceilings *ceilings,
                           struct policy_ceilings_fault *fault)
{
    struct reading reading = {.ceilings = {.others = {.kind = POLICY_CEILING_DEVICE}}};

    *fault = (struct policy_ceilings_fault){.sentence = NULL};
    if (strchr(text, '=') ? !parse_list(text, &reading, fault)
                          : !policy_ceiling_parse(text, &reading.ceilings.others))
        return false;
    *ceilings = reading.ceilings;
    return true;
}

const struct policy_ceiling_request *
policy_ceilings_of(const struct policy_ceilings *ceilings, uint64_t device)
{
    bool is_named = device < POLICY_CEILINGS_DEVICES && ceilings->named >> device & 1;
    return is_named ? &ceilings->of[device] : &ceilings->others;
}

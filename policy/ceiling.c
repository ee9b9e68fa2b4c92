#include "policy/ceiling.h"

#include <string.h>

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* No ceiling is 0 bytes: a request or a limit of 0 says that there is none. */
static uint64_t at_least_one(uint64_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

/* B_requested; 0 when nothing is to be limited. `cap_bytes` is what headroom leaves. */
static uint64_t requested_bytes(const struct policy_ceiling_request *request,
                                uint64_t total_bytes, uint64_t cap_bytes)
{
    switch (request->kind) {
    case POLICY_CEILING_DEVICE:
        return total_bytes;
    case POLICY_CEILING_BYTES:
        return at_least_one(request->bytes);
    case POLICY_CEILING_PERCENT:
        /* A share of an unknown amount limits nothing. */
        if (total_bytes == 0)
            return 0;
        return at_least_one(policy_quantity_share_down(request->share, cap_bytes));
    case POLICY_CEILING_NONE:
        break;
    }
    return 0;
}

/* Only an explicit size can be cut: a percentage is already of what headroom leaves. */
static enum policy_ceiling_source source_of(const struct policy_ceiling_request *request,
                                            bool cut)
{
    if (request->kind == POLICY_CEILING_DEVICE)
        return POLICY_CEILING_FROM_DEVICE;
    return cut ? POLICY_CEILING_FROM_CAP : POLICY_CEILING_FROM_REQUEST;
}

struct policy_ceiling policy_ceiling_resolve(const struct policy_ceiling_request *request,
                                             struct policy_fraction headroom,
                                             uint64_t total_bytes)
{
    struct policy_ceiling ceiling = {
        .bytes = UINT64_MAX,
        .total_bytes = total_bytes,
        .headroom_bytes = policy_quantity_share_up(headroom, total_bytes),
        .source = POLICY_CEILING_UNBUDGETED,
    };
    /* Headroom is a fraction of the limit, so never more than the limit. */
    uint64_t cap_bytes = total_bytes - ceiling.headroom_bytes;
    uint64_t requested = requested_bytes(request, total_bytes, cap_bytes);
    if (requested == 0)
        return ceiling;
    ceiling.requested_bytes = requested;
    ceiling.bytes =
        total_bytes == 0 ? requested : at_least_one(lesser(requested, cap_bytes));
    ceiling.source = source_of(request, ceiling.bytes < requested);
    return ceiling;
}

/* Writes *request only when `text` is a size of at least one byte. */
static bool parse_size(const char *text, struct policy_ceiling_request *request)
{
    uint64_t bytes;
    if (!policy_quantity_parse_bytes(text, &bytes) || bytes == 0)
        return false;
    *request =
        (struct policy_ceiling_request){.kind = POLICY_CEILING_BYTES, .bytes = bytes};
    return true;
}

static bool parse_percent(const char *text, struct policy_ceiling_request *request)
{
    struct policy_fraction share;
    if (!policy_quantity_parse_percent(text, &share))
        return false;
    *request =
        (struct policy_ceiling_request){.kind = POLICY_CEILING_PERCENT, .share = share};
    return true;
}

static bool parse_word(const char *text, const char *word, enum policy_ceiling_kind kind,
                       struct policy_ceiling_request *request)
{
    if (strcmp(text, word) != 0)
        return false;
    *request = (struct policy_ceiling_request){.kind = kind};
    return true;
}

bool policy_ceiling_parse_host(const char *text, struct policy_ceiling_request *request)
{
    return parse_word(text, "none", POLICY_CEILING_NONE, request) ||
           parse_size(text, request) || parse_percent(text, request);
}

bool policy_ceiling_parse(const char *text, struct policy_ceiling_request *request)
{
    return parse_word(text, "device", POLICY_CEILING_DEVICE, request) ||
           policy_ceiling_parse_host(text, request);
}

const char *policy_ceiling_source_text(enum policy_ceiling_source source)
{
    static const char *const texts[] = {
        [POLICY_CEILING_FROM_REQUEST] = "request",
        [POLICY_CEILING_FROM_CAP] = "request capped by headroom",
        [POLICY_CEILING_FROM_DEVICE] = "device less headroom",
        [POLICY_CEILING_UNBUDGETED] = "unbudgeted",
    };
    return texts[source];
}

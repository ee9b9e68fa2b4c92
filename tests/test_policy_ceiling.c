/* Defends: a ceiling is max(1, min(requested, limit - ceil(f * limit))), with the
   headroom taken off once and exactly, and nothing malformed ever reads as "no limit". */
#include "policy/ceiling.h"

#include "tests/suite.h"

#define GB UINT64_C(1000000000)

static const struct policy_fraction fifteen_hundredths = {15, 100};
static const struct policy_fraction nothing = {0, 1};

static struct policy_ceiling_request request_of(const char *text)
{
    struct policy_ceiling_request request;
    ck_assert_msg(policy_ceiling_parse(text, &request), "refused: \"%s\"", text);
    return request;
}

static struct policy_fraction fraction_of(const char *text)
{
    struct policy_fraction fraction;
    ck_assert_msg(policy_quantity_parse_fraction(text, &fraction), "refused: %s", text);
    return fraction;
}

/* The ceiling as the options write it. */
static struct policy_ceiling ceiling_of(const char *request_text, const char *headroom,
                                        uint64_t device_limit_bytes)
{
    struct policy_ceiling_request request = request_of(request_text);
    return policy_ceiling_resolve(&request, fraction_of(headroom), device_limit_bytes);
}

static void device_leaves(const char *headroom, uint64_t limit, uint64_t headroom_bytes,
                          uint64_t bytes)
{
    struct policy_ceiling ceiling = ceiling_of("device", headroom, limit);
    ck_assert_uint_eq(ceiling.headroom_bytes, headroom_bytes);
    ck_assert_uint_eq(ceiling.bytes, bytes);
    ck_assert_uint_eq(ceiling.requested_bytes, limit);
    ck_assert_uint_eq(ceiling.total_bytes, limit);
    ck_assert_int_eq(ceiling.source, POLICY_CEILING_FROM_DEVICE);
}

static void is_unbudgeted(struct policy_ceiling ceiling, uint64_t limit)
{
    ck_assert_int_eq(ceiling.source, POLICY_CEILING_UNBUDGETED);
    ck_assert_uint_eq(ceiling.bytes, UINT64_MAX);
    ck_assert_uint_eq(ceiling.requested_bytes, 0);
    ck_assert_uint_eq(ceiling.total_bytes, limit);
}

START_TEST(a_device_keeps_its_headroom_rounded_up)
{
    device_leaves("0.15", 48 * GB, 7200000000, 40800000000);
    device_leaves("0.15", 10 * GB, 1500000000, 8500000000);
    device_leaves("0.15", UINT64_C(1) << 30, 161061274, 912680550);
    device_leaves("0.25", 48 * GB, 12 * GB, 36 * GB);
    device_leaves("0.15", 7, 2, 5);
}
END_TEST

START_TEST(headroom_is_an_exact_decimal)
{
    device_leaves("0.07", 100, 7, 93);
}
END_TEST

START_TEST(no_headroom_leaves_the_whole_device)
{
    device_leaves("0", 48 * GB, 0, 48 * GB);
    device_leaves("0.0", UINT64_MAX, 0, UINT64_MAX);
}
END_TEST

START_TEST(a_ceiling_is_never_below_one_byte)
{
    device_leaves("0.15", 1, 1, 1);
    device_leaves("0.999999", 5, 5, 1);
    ck_assert_uint_eq(ceiling_of("1GiB", "0.15", 1).bytes, 1);
    ck_assert_uint_eq(ceiling_of("50%", "0.15", 1).bytes, 1);
}
END_TEST

START_TEST(a_request_below_the_cap_is_not_reduced_again)
{
    struct policy_ceiling ceiling = ceiling_of("1000000", "0.15", 48 * GB);
    ck_assert_uint_eq(ceiling.bytes, 1000000);
    ck_assert_uint_eq(ceiling.requested_bytes, 1000000);
    ck_assert_uint_eq(ceiling.headroom_bytes, 7200000000);
    ck_assert_int_eq(ceiling.source, POLICY_CEILING_FROM_REQUEST);
}
END_TEST

START_TEST(a_request_is_capped_one_byte_past_what_headroom_leaves)
{
    struct policy_ceiling fits = ceiling_of("40800000000", "0.15", 48 * GB);
    ck_assert_uint_eq(fits.bytes, 40800000000);
    ck_assert_int_eq(fits.source, POLICY_CEILING_FROM_REQUEST);
    struct policy_ceiling cut = ceiling_of("40800000001", "0.15", 48 * GB);
    ck_assert_uint_eq(cut.bytes, 40800000000);
    ck_assert_uint_eq(cut.requested_bytes, 40800000001);
    ck_assert_int_eq(cut.source, POLICY_CEILING_FROM_CAP);
}
END_TEST

START_TEST(a_request_of_the_least_size_was_not_cut)
{
    struct policy_ceiling ceiling = ceiling_of("1", "0.999999", 5);
    ck_assert_uint_eq(ceiling.bytes, 1);
    ck_assert_int_eq(ceiling.source, POLICY_CEILING_FROM_REQUEST);
}
END_TEST

START_TEST(a_device_that_reports_no_limit_adds_no_cap)
{
    struct policy_ceiling ceiling = ceiling_of("48GiB", "0.15", 0);
    ck_assert_uint_eq(ceiling.bytes, UINT64_C(48) << 30);
    ck_assert_uint_eq(ceiling.headroom_bytes, 0);
    ck_assert_int_eq(ceiling.source, POLICY_CEILING_FROM_REQUEST);
}
END_TEST

START_TEST(without_a_limit_to_share_or_to_take_nothing_is_limited)
{
    is_unbudgeted(ceiling_of("device", "0.15", 0), 0);
    is_unbudgeted(ceiling_of("50%", "0.15", 0), 0);
}
END_TEST

START_TEST(none_is_unbudgeted_although_the_limit_is_known)
{
    is_unbudgeted(ceiling_of("none", "0.15", 48 * GB), 48 * GB);
}
END_TEST

START_TEST(a_percentage_is_a_share_of_what_headroom_leaves)
{
    struct policy_ceiling half = ceiling_of("50%", "0.15", 48 * GB);
    ck_assert_uint_eq(half.bytes, 20400000000);
    ck_assert_uint_eq(half.requested_bytes, 20400000000);
    ck_assert_int_eq(half.source, POLICY_CEILING_FROM_REQUEST);
    ck_assert_uint_eq(ceiling_of("100%", "0.15", 48 * GB).bytes, 40800000000);
    ck_assert_uint_eq(ceiling_of("50%", "0.15", 7).bytes, 2);
}
END_TEST

START_TEST(shares_that_add_up_to_100_percent_fit_together)
{
    static const char *const shares[] = {"33.3%", "33.3%", "33.4%"};
    for (uint64_t limit = 1000; limit < 2000; limit++) {
        uint64_t total_bytes = 0;
        for (size_t i = 0; i < 3; i++)
            total_bytes += ceiling_of(shares[i], "0.15", limit).bytes;
        ck_assert_uint_le(total_bytes, ceiling_of("device", "0.15", limit).bytes);
    }
}
END_TEST

START_TEST(small_devices_agree_with_the_formula)
{
    for (uint64_t limit = 1; limit <= 1000; limit++) {
        uint64_t cap_bytes = limit - (limit * 15 + 99) / 100;
        for (uint64_t bytes = 1; bytes <= 100; bytes++) {
            struct policy_ceiling_request request = {.kind = POLICY_CEILING_BYTES,
                                                     .bytes = bytes};
            uint64_t least = bytes < cap_bytes ? bytes : cap_bytes;
            ck_assert_uint_eq(
                policy_ceiling_resolve(&request, fifteen_hundredths, limit).bytes,
                least > 0 ? least : 1);
            ck_assert_uint_eq(policy_ceiling_resolve(&request, nothing, limit).bytes,
                              bytes < limit ? bytes : limit);
        }
    }
}
END_TEST

START_TEST(each_form_of_a_request_is_read)
{
    ck_assert_int_eq(request_of("device").kind, POLICY_CEILING_DEVICE);
    ck_assert_int_eq(request_of("none").kind, POLICY_CEILING_NONE);
    struct policy_ceiling_request size = request_of("1.5GiB");
    ck_assert_int_eq(size.kind, POLICY_CEILING_BYTES);
    ck_assert_uint_eq(size.bytes, UINT64_C(3) << 29);
    struct policy_ceiling_request share = request_of("37.5%");
    ck_assert_int_eq(share.kind, POLICY_CEILING_PERCENT);
    ck_assert_uint_eq(share.share.numerator, 375);
    ck_assert_uint_eq(share.share.denominator, 1000);
}
END_TEST

START_TEST(a_malformed_request_is_refused_and_leaves_the_result)
{
    static const char *const texts[] = {
        "",       "0",       "0B",    "0GiB",
        "-1",     "1.5",     "0%",    "101%",
        "DEVICE", "None",    "nones", "unlimited",
        "max",    "device ", "100x",  "18446744073709551616"};
    struct policy_ceiling_request request = {.kind = POLICY_CEILING_BYTES, .bytes = 77};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!policy_ceiling_parse(texts[i], &request), "accepted: \"%s\"",
                      texts[i]);
    ck_assert_int_eq(request.kind, POLICY_CEILING_BYTES);
    ck_assert_uint_eq(request.bytes, 77);
}
END_TEST

START_TEST(memory_of_the_host_has_every_form_but_the_limit_of_a_device)
{
    struct policy_ceiling_request request = {.kind = POLICY_CEILING_BYTES, .bytes = 77};
    ck_assert(!policy_ceiling_parse_host("device", &request));
    ck_assert(!policy_ceiling_parse_host("0", &request));
    ck_assert_int_eq(request.kind, POLICY_CEILING_BYTES);
    ck_assert_uint_eq(request.bytes, 77);
    ck_assert(policy_ceiling_parse_host("2KiB", &request));
    ck_assert_uint_eq(request.bytes, 2048);
    ck_assert(policy_ceiling_parse_host("50%", &request));
    ck_assert_int_eq(request.kind, POLICY_CEILING_PERCENT);
    ck_assert(policy_ceiling_parse_host("none", &request));
    ck_assert_int_eq(request.kind, POLICY_CEILING_NONE);
}
END_TEST

START_TEST(each_source_has_its_words)
{
    ck_assert_str_eq(policy_ceiling_source_text(POLICY_CEILING_FROM_REQUEST), "request");
    ck_assert_str_eq(policy_ceiling_source_text(POLICY_CEILING_FROM_CAP),
                     "request capped by headroom");
    ck_assert_str_eq(policy_ceiling_source_text(POLICY_CEILING_FROM_DEVICE),
                     "device less headroom");
    ck_assert_str_eq(policy_ceiling_source_text(POLICY_CEILING_UNBUDGETED), "unbudgeted");
}
END_TEST

SUITE_MAIN("policy/ceiling", a_device_keeps_its_headroom_rounded_up,
           headroom_is_an_exact_decimal, no_headroom_leaves_the_whole_device,
           a_ceiling_is_never_below_one_byte,
           a_request_below_the_cap_is_not_reduced_again,
           a_request_is_capped_one_byte_past_what_headroom_leaves,
           a_request_of_the_least_size_was_not_cut,
           a_device_that_reports_no_limit_adds_no_cap,
           without_a_limit_to_share_or_to_take_nothing_is_limited,
           none_is_unbudgeted_although_the_limit_is_known,
           a_percentage_is_a_share_of_what_headroom_leaves,
           shares_that_add_up_to_100_percent_fit_together,
           small_devices_agree_with_the_formula, each_form_of_a_request_is_read,
           a_malformed_request_is_refused_and_leaves_the_result,
           memory_of_the_host_has_every_form_but_the_limit_of_a_device,
           each_source_has_its_words)

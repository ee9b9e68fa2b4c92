/* Defends: a list gives each device its own request, names each once and leaves none out by a
   slip; and a refusal says which entry is at fault. */
#include "policy/ceilings.h"

#include <stdio.h>
#include <string.h>

#include "tests/suite.h"

static struct policy_ceilings list_of(const char *text)
{
    struct policy_ceilings ceilings;
    struct policy_ceilings_fault fault;
    ck_assert_msg(policy_ceilings_parse(text, &ceilings, &fault), "refused: \"%s\"",
                  text);
    return ceilings;
}

static void requests(const char *text, uint64_t device, uint64_t bytes)
{
    struct policy_ceilings ceilings = list_of(text);
    const struct policy_ceiling_request *request = policy_ceilings_of(&ceilings, device);
    ck_assert_int_eq(request->kind, POLICY_CEILING_BYTES);
    ck_assert_uint_eq(request->bytes, bytes);
}

static enum policy_ceiling_kind kind_of(const char *text, uint64_t device)
{
    struct policy_ceilings ceilings = list_of(text);
    return policy_ceilings_of(&ceilings, device)->kind;
}

START_TEST(one_request_is_for_every_device)
{
    requests("2GiB", 0, UINT64_C(2) << 30);
    requests("2GiB", 63, UINT64_C(2) << 30);
    requests("2GiB", 1000, UINT64_C(2) << 30);
    ck_assert_int_eq(kind_of("none", 5), POLICY_CEILING_NONE);
    ck_assert_int_eq(kind_of("device", 5), POLICY_CEILING_DEVICE);
    ck_assert_uint_eq(list_of("50%").named, 0);
}
END_TEST

START_TEST(a_list_has_a_request_for_each_device)
{
    static const char text[] = "0=8GiB,1=50%,3=1B,*=none";
    requests(text, 0, UINT64_C(8) << 30);
    ck_assert_int_eq(kind_of(text, 1), POLICY_CEILING_PERCENT);
    ck_assert_int_eq(kind_of(text, 2), POLICY_CEILING_NONE);
    requests(text, 3, 1);
    ck_assert_int_eq(kind_of(text, 4), POLICY_CEILING_NONE);
    ck_assert_int_eq(kind_of(text, 64), POLICY_CEILING_NONE);
    ck_assert_uint_eq(list_of(text).named, 0xb);
}
END_TEST

START_TEST(the_others_may_be_named_anywhere_and_alone)
{
    requests("*=1GiB", 7, UINT64_C(1) << 30);
    requests("*=1GiB,2=1MiB", 2, 1 << 20);
    requests("*=1GiB,2=1MiB", 1, 1 << 30);
}
END_TEST

START_TEST(devices_that_are_not_named_have_the_default)
{
    ck_assert_int_eq(kind_of("0=1GiB", 1), POLICY_CEILING_DEVICE);
    ck_assert_int_eq(kind_of("1=1GiB,0=2GiB", 2), POLICY_CEILING_DEVICE);
    requests("1=1GiB,0=2GiB", 0, UINT64_C(2) << 30);
}
END_TEST

START_TEST(the_last_device_that_can_be_named_is_63)
{
    requests("63=7B,*=none", 63, 7);
    ck_assert_uint_eq(list_of("63=7B,*=none").named, UINT64_C(1) << 63);
    requests("00063=7B,*=none", 63, 7);
    static char all[64 * sizeof("63=64B")];
    size_t length = 0;
    for (unsigned device = 0; device < 64; device++)
        length += (size_t)sprintf(all + length, "%s%u=%uB", device ? "," : "", device,
                                  device + 1);
    requests(all, 63, 64);
    requests(all, 0, 1);
    ck_assert_int_eq(kind_of(all, 64), POLICY_CEILING_DEVICE);
}
END_TEST

/* The entry, "" for none, and the sentence that follow. */
static void is_refused(const char *text, const char *entry, const char *sentence)
{
    struct policy_ceilings ceilings, untouched;
    struct policy_ceilings_fault fault;
    memset(&ceilings, 0x5a, sizeof ceilings);
    memset(&untouched, 0x5a, sizeof untouched);
    ck_assert_msg(!policy_ceilings_parse(text, &ceilings, &fault), "accepted: \"%s\"",
                  text);
    ck_assert_mem_eq(&ceilings, &untouched, sizeof ceilings);
    ck_assert_str_eq(fault.sentence, sentence);
    ck_assert_uint_eq(fault.entry_length, strlen(entry));
    ck_assert(strncmp(entry, entry[0] ? fault.entry : "", strlen(entry)) == 0);
}

#define NO_DEVICE "does not begin with a device below 64 and =, or with *="
#define NO_VALUE                                                                         \
    "is neither device, none, a size of at least 1 byte, nor a percentage above 0 and "  \
    "at most 100"
#define TWICE "names a device for the second time"
#define EMPTY "an entry of the list is empty"
#define GAP   "a device below the last one is not named, and there is no *"

START_TEST(an_entry_that_is_wrong_is_shown)
{
    is_refused("0=1GiB,1GiB", "1GiB", NO_DEVICE);
    is_refused("0=1GiB,x=1GiB", "x=1GiB", NO_DEVICE);
    is_refused("0=1GiB,**=1GiB", "**=1GiB", NO_DEVICE);
    is_refused("64=1GiB,*=none", "64=1GiB", NO_DEVICE);
    is_refused("18446744073709551616=1,*=none", "18446744073709551616=1", NO_DEVICE);
    is_refused("-1=1GiB", "-1=1GiB", NO_DEVICE);
    is_refused("=1GiB", "=1GiB", NO_DEVICE);
    is_refused("0 =1GiB", "0 =1GiB", NO_DEVICE);
    is_refused("0=", "0=", NO_VALUE);
    is_refused("0=0", "0=0", NO_VALUE);
    is_refused("0=101%,1=1GiB", "0=101%", NO_VALUE);
    is_refused("0==1GiB", "0==1GiB", NO_VALUE);
    is_refused("0=1GiB,1=much", "1=much", NO_VALUE);
    is_refused("0=00000000000000000000000000000000000000001", /* 41 digits */
               "0=00000000000000000000000000000000000000001", NO_VALUE);
}
END_TEST

START_TEST(a_device_is_named_once)
{
    is_refused("0=1GiB,0=2GiB", "0=2GiB", TWICE);
    is_refused("0=1GiB,00=1GiB", "00=1GiB", TWICE);
    is_refused("*=1GiB,0=1GiB,*=2GiB", "*=2GiB", TWICE);
    is_refused("63=1,*=1,63=1", "63=1", TWICE);
}
END_TEST

START_TEST(nothing_is_left_out)
{
    is_refused("0=1GiB,,1=1GiB", "", EMPTY);
    is_refused(",0=1GiB", "", EMPTY);
    is_refused("0=1GiB,", "", EMPTY);
    is_refused("1=1GiB", "", GAP);
    is_refused("0=1GiB,2=1GiB", "", GAP);
    is_refused("63=1GiB", "", GAP);
}
END_TEST

START_TEST(what_is_no_list_is_held_to_the_rule_of_one_request)
{
    static const char *const texts[] = {"", "0", "none,none", "1GiB,2GiB", "1,", "*"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct policy_ceilings ceilings;
        struct policy_ceilings_fault fault;
        ck_assert_msg(!policy_ceilings_parse(texts[i], &ceilings, &fault),
                      "accepted: \"%s\"", texts[i]);
        ck_assert_ptr_null(fault.sentence);
    }
}
END_TEST

SUITE_MAIN("policy/ceilings", one_request_is_for_every_device,
           a_list_has_a_request_for_each_device,
           the_others_may_be_named_anywhere_and_alone,
           devices_that_are_not_named_have_the_default,
           the_last_device_that_can_be_named_is_63, an_entry_that_is_wrong_is_shown,
           a_device_is_named_once, nothing_is_left_out,
           what_is_no_list_is_held_to_the_rule_of_one_request)

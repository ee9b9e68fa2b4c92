/* Defends: a text is read as exactly the number it says or not at all, shares are exact,
   and printing is correct to the digits shown. */
#include "policy/quantity.h"

#include <string.h>

#include "tests/suite.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static void bytes_are(const char *text, uint64_t expected)
{
    uint64_t bytes = 77;
    ck_assert_msg(policy_quantity_parse_bytes(text, &bytes), "refused: \"%s\"", text);
    ck_assert_msg(bytes == expected, "\"%s\" was read as %ju", text, (uintmax_t)bytes);
}

static void bytes_are_refused(const char *text)
{
    uint64_t bytes = 77;
    ck_assert_msg(!policy_quantity_parse_bytes(text, &bytes), "accepted: \"%s\"", text);
    ck_assert_msg(bytes == 77, "\"%s\" was refused but written", text);
}

static void fraction_is(const char *text, uint64_t numerator, uint64_t denominator)
{
    struct policy_fraction fraction;
    ck_assert_msg(policy_quantity_parse_fraction(text, &fraction), "refused: %s", text);
    ck_assert_uint_eq(fraction.numerator, numerator);
    ck_assert_uint_eq(fraction.denominator, denominator);
}

static void percent_is(const char *text, uint64_t numerator, uint64_t denominator)
{
    struct policy_fraction fraction;
    ck_assert_msg(policy_quantity_parse_percent(text, &fraction), "refused: %s", text);
    ck_assert_uint_eq(fraction.numerator, numerator);
    ck_assert_uint_eq(fraction.denominator, denominator);
}

static void prints(uint64_t bytes, const char *expected)
{
    char text[POLICY_QUANTITY_TEXT_BYTES];
    size_t length = policy_quantity_print(bytes, text);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(length, strlen(expected));
}

START_TEST(a_plain_number_is_bytes)
{
    bytes_are("0", 0);
    bytes_are("1", 1);
    bytes_are("007", 7);
    bytes_are("48000000000", UINT64_C(48000000000));
    bytes_are("18446744073709551615", UINT64_MAX);
}
END_TEST

START_TEST(every_spelling_of_a_unit_is_a_power_of_1024)
{
    bytes_are("100B", 100);
    bytes_are("100b", 100);
    bytes_are("1K", KIB);
    bytes_are("1k", KIB);
    bytes_are("64KB", 64 * KIB);
    bytes_are("64KiB", 64 * KIB);
    bytes_are("64kib", 64 * KIB);
    bytes_are("64KIB", 64 * KIB);
    bytes_are("3M", 3 * MIB);
    bytes_are("3MiB", 3 * MIB);
    bytes_are("2gb", 2 * GIB);
    bytes_are("16777215TiB", 16777215 * TIB);
}
END_TEST

START_TEST(decimals_are_read_when_they_make_whole_bytes)
{
    bytes_are("1.5GiB", 3 * GIB / 2);
    bytes_are("0.5K", 512);
    bytes_are(".5K", 512);
    bytes_are("1.0B", 1);
    bytes_are("0.0009765625K", 1);
    bytes_are("16777215.75T", 16777215 * TIB + 3 * (TIB / 4));
}
END_TEST

START_TEST(decimals_that_make_no_whole_byte_are_refused)
{
    bytes_are_refused("1.5");
    bytes_are_refused("1.0");
    bytes_are_refused("1.3B");
    bytes_are_refused("0.3K");
    bytes_are_refused("1.G");
    bytes_are_refused(".G");
    bytes_are_refused(".");
    bytes_are_refused("1.5.5G");
}
END_TEST

START_TEST(whatever_is_no_size_is_refused_and_leaves_the_result)
{
    static const char *const texts[] = {
        "",    "-1",   "+1",  "100x", " 1",   "1 ",   "1 K", "0x10", "K",    "B",
        "iB",  "1iB",  "1Ki", "1KK",  "1KiK", "1KBB", "1BK", "1E",   "1P",   "1e3",
        "1_0", "1,5G", "1%",  "nan",  "inf",  "abc",  "1\n", "١",    "1KiBs"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        bytes_are_refused(texts[i]);
}
END_TEST

START_TEST(a_size_beyond_64_bits_is_refused)
{
    bytes_are_refused("18446744073709551616");
    bytes_are_refused("99999999999999999999999999999999999999999");
    bytes_are_refused("16777216T");
    bytes_are_refused("17179869184G");
    bytes_are_refused("18446744073709551615.5K");
    bytes_are("18014398509481983.9990234375K", UINT64_MAX);
}
END_TEST

START_TEST(a_fraction_is_exact)
{
    fraction_is("0", 0, 1);
    fraction_is("0.0", 0, 10);
    fraction_is("0.15", 15, 100);
    fraction_is(".5", 5, 10);
    fraction_is("00.25", 25, 100);
    fraction_is("0.999999999999999999", UINT64_C(999999999999999999),
                UINT64_C(1000000000000000000));
}
END_TEST

START_TEST(what_is_no_fraction_below_one_is_refused)
{
    static const char *const texts[] = {"",
                                        "1.0",
                                        "1",
                                        "1.5",
                                        "-0.1",
                                        "nan",
                                        "inf",
                                        "abc",
                                        "0.",
                                        ".",
                                        "0.1.2",
                                        "0,1",
                                        " 0",
                                        "0 ",
                                        "15%",
                                        "1e-1",
                                        "0.1f",
                                        "+0.1",
                                        "0.0000000000000000001"};
    struct policy_fraction fraction = {7, 10};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!policy_quantity_parse_fraction(texts[i], &fraction),
                      "accepted: \"%s\"", texts[i]);
    ck_assert_uint_eq(fraction.numerator, 7);
    ck_assert_uint_eq(fraction.denominator, 10);
}
END_TEST

START_TEST(a_percentage_is_read_as_hundredths)
{
    percent_is("100%", 100, 100);
    percent_is("37.5%", 375, 1000);
    percent_is(".5%", 5, 1000);
    percent_is("100.0%", 1000, 1000);
    percent_is("0.0000000000000001%", 1, UINT64_C(1000000000000000000));
}
END_TEST

START_TEST(what_is_no_percentage_of_something_is_refused)
{
    static const char *const texts[] = {"",
                                        "%",
                                        "0%",
                                        "0.0%",
                                        "100.1%",
                                        "101%",
                                        "-5%",
                                        "50",
                                        "50%%",
                                        "50 %",
                                        "5.%",
                                        "%50",
                                        "50%B",
                                        "nan%",
                                        "18446744073709551617%",
                                        "0.00000000000000001%"};
    struct policy_fraction fraction = {7, 10};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!policy_quantity_parse_percent(texts[i], &fraction),
                      "accepted: \"%s\"", texts[i]);
    ck_assert_uint_eq(fraction.numerator, 7);
    ck_assert_uint_eq(fraction.denominator, 10);
}
END_TEST

START_TEST(a_share_is_rounded_only_where_it_is_no_whole_byte)
{
    struct policy_fraction seven_percent = {7, 100};
    ck_assert_uint_eq(policy_quantity_share_up(seven_percent, 100), 7);
    ck_assert_uint_eq(policy_quantity_share_down(seven_percent, 100), 7);
    ck_assert_uint_eq(policy_quantity_share_up(seven_percent, 101), 8);
    ck_assert_uint_eq(policy_quantity_share_down(seven_percent, 101), 7);
    ck_assert_uint_eq(policy_quantity_share_up(seven_percent, 0), 0);
    ck_assert_uint_eq(policy_quantity_share_down(seven_percent, 0), 0);
}
END_TEST

START_TEST(a_share_of_the_largest_size_does_not_wrap)
{
    struct policy_fraction all = {UINT64_C(1000000000000000000),
                                  UINT64_C(1000000000000000000)};
    struct policy_fraction nearly_all = {UINT64_C(999999999999999999),
                                         UINT64_C(1000000000000000000)};
    ck_assert_uint_eq(policy_quantity_share_up(all, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(policy_quantity_share_down(all, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(policy_quantity_share_up(nearly_all, UINT64_MAX), UINT64_MAX - 18);
    ck_assert_uint_eq(policy_quantity_share_down(nearly_all, UINT64_MAX),
                      UINT64_MAX - 19);
}
END_TEST

static void share_above_one(void)
{
    (void)policy_quantity_share_up((struct policy_fraction){11, 10}, 100);
}

static void share_of_no_fraction(void)
{
    (void)policy_quantity_share_down((struct policy_fraction){0, 0}, 100);
}

START_TEST(a_share_that_is_no_fraction_traps)
{
    ck_assert(suite_traps(share_above_one));
    ck_assert(suite_traps(share_of_no_fraction));
}
END_TEST

START_TEST(a_size_prints_its_bytes_and_a_rounded_binary_unit)
{
    prints(0, "0 B");
    prints(512, "512 B");
    prints(1023, "1023 B");
    prints(1024, "1024 B (1.00 KiB)");
    prints(1536, "1536 B (1.50 KiB)");
    prints(104857600, "104857600 B (100.00 MiB)");
    prints(UINT64_C(48000000000), "48000000000 B (44.70 GiB)");
    prints(UINT64_MAX, "18446744073709551615 B (16777216.00 TiB)");
}
END_TEST

START_TEST(a_size_that_rounds_up_to_1024_prints_in_the_next_unit)
{
    prints(MIB - 1, "1048575 B (1.00 MiB)");
    prints(MIB - 6, "1048570 B (1023.99 KiB)");
    prints(GIB - 1, "1073741823 B (1.00 GiB)");
    prints(TIB - 1, "1099511627775 B (1.00 TiB)");
}
END_TEST

START_TEST(the_longest_printed_size_fits_its_room)
{
    char text[POLICY_QUANTITY_TEXT_BYTES];
    ck_assert_uint_lt(policy_quantity_print(UINT64_MAX, text), sizeof text);
}
END_TEST

SUITE_MAIN("policy/quantity", a_plain_number_is_bytes,
           every_spelling_of_a_unit_is_a_power_of_1024,
           decimals_are_read_when_they_make_whole_bytes,
           decimals_that_make_no_whole_byte_are_refused,
           whatever_is_no_size_is_refused_and_leaves_the_result,
           a_size_beyond_64_bits_is_refused, a_fraction_is_exact,
           what_is_no_fraction_below_one_is_refused, a_percentage_is_read_as_hundredths,
           what_is_no_percentage_of_something_is_refused,
           a_share_is_rounded_only_where_it_is_no_whole_byte,
           a_share_of_the_largest_size_does_not_wrap, a_share_that_is_no_fraction_traps,
           a_size_prints_its_bytes_and_a_rounded_binary_unit,
           a_size_that_rounds_up_to_1024_prints_in_the_next_unit,
           the_longest_printed_size_fits_its_room)

/* Defends: what is put arrives byte for byte, in a buffer of any size; without a sink the
   text ends where the buffer does; and a JSON string reads back as what was put. */
#include "pool/text.h"

#include <string.h>

#include "tests/suite.h"

enum { ROOM = 256 };

/* What a sink was handed. */
struct taken {
    char bytes[ROOM];
    size_t length;
    unsigned calls;
    size_t part_max;
};

static void take(void *context, const char *bytes, size_t length)
{
    struct taken *taken = context;
    ck_assert_uint_gt(length, 0);
    ck_assert_uint_le(taken->length + length, sizeof(taken->bytes));
    memcpy(taken->bytes + taken->length, bytes, length);
    taken->length += length;
    taken->calls++;
    if (length > taken->part_max)
        taken->part_max = length;
}

static void text_is(const struct pool_text *text, const char *expected)
{
    ck_assert_uint_eq(text->length, strlen(expected));
    ck_assert_mem_eq(text->bytes, expected, text->length);
}

static char buffer[ROOM];

static struct pool_text text_of(size_t capacity)
{
    memset(buffer, '#', sizeof(buffer));
    return (struct pool_text){.bytes = buffer, .capacity = capacity};
}

static void number_is(uint64_t number, const char *expected)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put_number(&text, number);
    text_is(&text, expected);
}

static void address_is(uint64_t address, const char *expected)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put_address(&text, address);
    text_is(&text, expected);
}

static void json_is(const char *string, const char *expected)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put_json(&text, string);
    text_is(&text, expected);
}

START_TEST(numbers_are_decimal_and_addresses_hexadecimal)
{
    number_is(0, "0");
    number_is(9, "9");
    number_is(10, "10");
    number_is(UINT64_MAX, "18446744073709551615");
    address_is(0, "0x0");
    address_is(0x7f00dead0000, "0x7f00dead0000");
    address_is(UINT64_MAX, "0xffffffffffffffff");
}
END_TEST

START_TEST(a_size_is_put_in_bytes_and_a_binary_unit)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put_bytes(&text, 104857600);
    text_is(&text, "104857600 B (100.00 MiB)");
}
END_TEST

START_TEST(parts_follow_each_other)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put(&text, "held ");
    pool_text_put_number(&text, 42);
    pool_text_put(&text, "");
    pool_text_put(&text, " of 50");
    text_is(&text, "held 42 of 50");
}
END_TEST

START_TEST(a_json_string_escapes_quotes_and_backslashes)
{
    json_is("", "\"\"");
    json_is("plain /text/", "\"plain /text/\"");
    json_is("say \"no\"", "\"say \\\"no\\\"\"");
    json_is("C:\\dir\\", "\"C:\\\\dir\\\\\"");
}
END_TEST

START_TEST(a_json_string_escapes_what_is_not_printable_ascii_byte_by_byte)
{
    json_is("\x01\t\n\x1f", "\"\\u0001\\u0009\\u000a\\u001f\"");
    json_is(" ~\x7f", "\" ~\\u007f\"");
    json_is("\x80\xc3\xa9\xff", "\"\\u0080\\u00c3\\u00a9\\u00ff\"");
}
END_TEST

START_TEST(without_a_sink_a_text_ends_where_the_buffer_does)
{
    struct pool_text text = text_of(10);
    pool_text_put(&text, "0123456");
    pool_text_put(&text, "789abc");
    pool_text_put(&text, "more");
    pool_text_put_json(&text, "more");
    text_is(&text, "0123456789");
    ck_assert_int_eq(buffer[10], '#');
}
END_TEST

START_TEST(without_a_sink_or_room_nothing_is_written)
{
    struct pool_text text = text_of(0);
    pool_text_put(&text, "text");
    text_is(&text, "");
    ck_assert_int_eq(buffer[0], '#');
}
END_TEST

START_TEST(without_a_sink_a_flush_keeps_the_text)
{
    struct pool_text text = text_of(ROOM);
    pool_text_put(&text, "kept");
    pool_text_flush(&text);
    text_is(&text, "kept");
}
END_TEST

START_TEST(a_sink_gets_every_byte_once_for_every_size_of_buffer)
{
    static const char expected[] = "a line of text 18446744073709551615 \"\\u000a\\\"\"";
    for (size_t capacity = 1; capacity <= sizeof(expected); capacity++) {
        struct taken taken = {0};
        struct pool_text text = text_of(capacity);
        text.sink = take;
        text.context = &taken;
        pool_text_put(&text, "a line of text ");
        pool_text_put_number(&text, UINT64_MAX);
        pool_text_put(&text, " ");
        pool_text_put_json(&text, "\n\"");
        pool_text_flush(&text);
        ck_assert_uint_eq(taken.length, strlen(expected));
        ck_assert_mem_eq(taken.bytes, expected, taken.length);
        ck_assert_uint_le(taken.part_max, capacity);
        ck_assert_uint_eq(taken.calls, (strlen(expected) + capacity - 1) / capacity);
        ck_assert_uint_eq(text.length, 0);
        ck_assert_int_eq(buffer[capacity], '#');
    }
}
END_TEST

START_TEST(a_flush_of_nothing_calls_no_sink)
{
    struct taken taken = {0};
    struct pool_text text = text_of(ROOM);
    text.sink = take;
    text.context = &taken;
    pool_text_flush(&text);
    pool_text_put(&text, "x");
    pool_text_flush(&text);
    pool_text_flush(&text);
    ck_assert_uint_eq(taken.calls, 1);
}
END_TEST

SUITE_MAIN("pool/text", numbers_are_decimal_and_addresses_hexadecimal,
           a_size_is_put_in_bytes_and_a_binary_unit, parts_follow_each_other,
           a_json_string_escapes_quotes_and_backslashes,
           a_json_string_escapes_what_is_not_printable_ascii_byte_by_byte,
           without_a_sink_a_text_ends_where_the_buffer_does,
           without_a_sink_or_room_nothing_is_written,
           without_a_sink_a_flush_keeps_the_text,
           a_sink_gets_every_byte_once_for_every_size_of_buffer,
           a_flush_of_nothing_calls_no_sink)

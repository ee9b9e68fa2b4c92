#include "policy/quantity.h"

#include "policy/must.h"

/* Wide enough for any 64-bit size times any numerator. */
__extension__ typedef unsigned __int128 wide;

/* 18 decimals: with them the numerator of a percentage, too, fits 64 bits. */
static const uint64_t DENOMINATOR_MAX = 1000000000000000000;

/* A decimal number as it was written: whole + part, part below 1. The part's denominator
   is 1 exactly when there was no point. */
struct decimal {
    uint64_t whole;
    struct policy_fraction part;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* tolower() would ask the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The digits at *cursor, none of them being 0; false when they exceed UINT64_MAX. */
static bool scan_whole(const char **cursor, uint64_t *whole)
{
    *whole = 0;
    for (; is_digit(**cursor); ++*cursor) {
        uint64_t digit = (uint64_t)(**cursor - '0');
        if (!policy_checked_multiply(*whole, 10, whole) ||
            !policy_checked_add(*whole, digit, whole))
            return false;
    }
    return true;
}

/* A point and its decimals, if there is a point; false for a point without decimals and
   for more decimals than are exact. */
static bool scan_part(const char **cursor, struct policy_fraction *part)
{
    *part = (struct policy_fraction){.numerator = 0, .denominator = 1};
    if (**cursor != '.')
        return true;
    for (++*cursor; is_digit(**cursor); ++*cursor) {
        if (part->denominator == DENOMINATOR_MAX)
            return false;
        /* Cannot wrap: the numerator stays below the denominator. */
        part->numerator = part->numerator * 10 + (uint64_t)(**cursor - '0');
        part->denominator *= 10;
    }
    return part->denominator > 1;
}

/* Moves *cursor past "12", "12.5" or ".5". */
static bool scan_decimal(const char **cursor, struct decimal *decimal)
{
    const char *start = *cursor;
    return scan_whole(cursor, &decimal->whole) && scan_part(cursor, &decimal->part) &&
           *cursor != start;
}

/* Moves *cursor past K, M, G or T and returns the power of two it stands for, else 0. */
static unsigned scan_prefix(const char **cursor)
{
    static const char prefixes[] = "kmgt";
    for (unsigned i = 0; prefixes[i] != '\0'; i++) {
        if (lower(**cursor) == prefixes[i]) {
            ++*cursor;
            return 10 * (i + 1);
        }
    }
    return 0;
}

/* Reads all of `text` as "", B, or K M G T with an optional B or iB. */
static bool read_unit(const char *text, uint64_t *unit_bytes)
{
    unsigned shift = scan_prefix(&text);
    if (shift > 0 && lower(text[0]) == 'i' && lower(text[1]) == 'b')
        text++;
    if (lower(*text) == 'b')
        text++;
    *unit_bytes = UINT64_C(1) << shift;
    return *text == '\0';
}

/* part * unit; false unless that is a whole number of bytes. */
static bool part_of_unit(struct policy_fraction part, uint64_t unit_bytes,
                         uint64_t *bytes)
{
    wide product = (wide)part.numerator * unit_bytes;
    *bytes = (uint64_t)(product / part.denominator);
    return product % part.denominator == 0;
}

bool policy_quantity_parse_bytes(const char *text, uint64_t *bytes)
{
    struct decimal decimal;
    if (!scan_decimal(&text, &decimal))
        return false;
    /* "1.0" without a unit is more likely a forgotten unit than one byte. */
    if (decimal.part.denominator > 1 && *text == '\0')
        return false;
    uint64_t unit_bytes, whole_bytes, part_bytes;
    return read_unit(text, &unit_bytes) &&
           policy_checked_multiply(decimal.whole, unit_bytes, &whole_bytes) &&
           part_of_unit(decimal.part, unit_bytes, &part_bytes) &&
           policy_checked_add(whole_bytes, part_bytes, bytes);
}

bool policy_quantity_parse_fraction(const char *text, struct policy_fraction *fraction)
{
    struct decimal decimal;
    if (!scan_decimal(&text, &decimal) || *text != '\0' || decimal.whole != 0)
        return false;
    *fraction = decimal.part;
    return true;
}

bool policy_quantity_parse_percent(const char *text, struct policy_fraction *fraction)
{
    struct decimal decimal;
    if (!scan_decimal(&text, &decimal) || text[0] != '%' || text[1] != '\0')
        return false;
    /* Two decimals fewer than a fraction has, since a percent is a hundredth. */
    if (decimal.whole > 100 || decimal.part.denominator > DENOMINATOR_MAX / 100)
        return false;
    struct policy_fraction share = {
        .numerator = decimal.whole * decimal.part.denominator + decimal.part.numerator,
        .denominator = decimal.part.denominator * 100,
    };
    if (share.numerator == 0 || share.numerator > share.denominator)
        return false;
    *fraction = share;
    return true;
}

/* fraction * bytes, times the denominator. A fraction of at most 1 is what keeps a share
   within `bytes`, so that callers may subtract it. */
static wide scaled_share(struct policy_fraction fraction, uint64_t bytes)
{
    must(fraction.denominator > 0);
    must(fraction.numerator <= fraction.denominator);
    return (wide)fraction.numerator * bytes;
}

/* Whether `text` is exactly `unit`. */
static bool is_unit(const char *text, const char *unit)
{
    while (*text == *unit && *unit != '\0') {
        text++;
        unit++;
    }
    return *text == *unit;
}

bool policy_quantity_parse_duration(const char *text, uint64_t *ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    const char *cursor = text;
    uint64_t count, product;
    if (!scan_whole(&cursor, &count) || cursor == text)
        return false;
    if (count == 0 && *cursor == '\0') {
        *ms = 0;
        return true;
    }
    for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!is_unit(cursor, units[i].unit))
            continue;
        if (!policy_checked_multiply(count, units[i].ms, &product))
            return false;
        *ms = product;
        return true;
    }
    return false;
}

uint64_t policy_quantity_share_up(struct policy_fraction fraction, uint64_t bytes)
{
    wide scaled = scaled_share(fraction, bytes);
    return (uint64_t)((scaled + fraction.denominator - 1) / fraction.denominator);
}

uint64_t policy_quantity_share_down(struct policy_fraction fraction, uint64_t bytes)
{
    return (uint64_t)(scaled_share(fraction, bytes) / fraction.denominator);
}

static char *put_text(char *at, const char *text)
{
    while (*text != '\0')
        *at++ = *text++;
    return at;
}

/* `value` in decimal, with leading zeros up to `width`. */
static char *put_number(char *at, uint64_t value, size_t width)
{
    size_t digit_count = 1;
    for (uint64_t rest = value / 10; rest > 0; rest /= 10)
        digit_count++;
    if (digit_count < width)
        digit_count = width;
    for (size_t i = digit_count; i > 0; i--, value /= 10)
        at[i - 1] = (char)('0' + value % 10);
    return at + digit_count;
}

/* Hundredths of 2^shift bytes, to the nearest; shift 10 to 40, so nothing here wraps. */
static uint64_t hundredths(uint64_t bytes, unsigned shift)
{
    uint64_t unit = UINT64_C(1) << shift;
    return bytes / unit * 100 + (bytes % unit * 100 + unit / 2) / unit;
}

/* "100.00 MiB" in the unit that keeps the rounded number below 1024, TiB at most. */
static char *put_binary(char *at, uint64_t bytes)
{
    static const char *const units[] = {" KiB", " MiB", " GiB", " TiB"};
    unsigned i = 0;
    while (i < 3 && hundredths(bytes, 10 * (i + 1)) >= 1024 * 100)
        i++;
    uint64_t rounded = hundredths(bytes, 10 * (i + 1));
    at = put_number(at, rounded / 100, 1);
    *at++ = '.';
    at = put_number(at, rounded % 100, 2);
    return put_text(at, units[i]);
}

size_t policy_quantity_print(uint64_t bytes, char text[POLICY_QUANTITY_TEXT_BYTES])
{
    char *at = put_text(put_number(text, bytes, 1), " B");
    if (bytes >= 1024) {
        at = put_text(at, " (");
        at = put_binary(at, bytes);
        at = put_text(at, ")");
    }
    *at = '\0';
    return (size_t)(at - text);
}

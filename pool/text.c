#include "pool/text.h"

#include <string.h>

#include "policy/quantity.h"

static void put(struct pool_text *text, const char *bytes, size_t length)
{
    while (length > 0) {
        if (text->length == text->capacity) {
            if (!text->sink)
                return;
            pool_text_flush(text);
        }
        size_t room = text->capacity - text->length;
        size_t part = length < room ? length : room;
        memcpy(text->bytes + text->length, bytes, part);
        text->length += part;
        bytes += part;
        length -= part;
    }
}

void pool_text_flush(struct pool_text *text)
{
    if (!text->sink)
        return;
    if (text->length > 0)
        text->sink(text->context, text->bytes, text->length);
    text->length = 0;
}

void pool_text_put(struct pool_text *text, const char *string)
{
    put(text, string, strlen(string));
}

static void put_digits(struct pool_text *text, uint64_t number, unsigned base)
{
    char digits[20];
    size_t start = sizeof(digits);
    do {
        digits[--start] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    put(text, digits + start, sizeof(digits) - start);
}

void pool_text_put_number(struct pool_text *text, uint64_t number)
{
    put_digits(text, number, 10);
}

void pool_text_put_address(struct pool_text *text, uint64_t address)
{
    pool_text_put(text, "0x");
    put_digits(text, address, 16);
}

void pool_text_put_bytes(struct pool_text *text, uint64_t bytes)
{
    char quantity[POLICY_QUANTITY_TEXT_BYTES];
    put(text, quantity, policy_quantity_print(bytes, quantity));
}

void pool_text_put_json(struct pool_text *text, const char *string)
{
    pool_text_put(text, "\"");
    for (; *string; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte == '"' || byte == '\\') {
            put(text, "\\", 1);
            put(text, string, 1);
        } else if (byte >= 0x20 && byte < 0x7f) {
            put(text, string, 1);
        } else {
            const char hex[] = "0123456789abcdef";
            const char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
            put(text, escape, sizeof(escape));
        }
    }
    pool_text_put(text, "\"");
}

#include "tools/tidemark/json_input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/quantity.h"
#include "tools/tidemark/json_place.h"
#include "tools/tidemark/printable.h"
#include "tools/tidemark/say.h"

enum { COMPLAINT_BYTES = 512 };

void json_input_complain(const struct json_input *input, const char *where,
                         const char *format, ...)
{
    struct json_place place = json_place_find(input->bytes, input->length, where);
    char what[COMPLAINT_BYTES];
    va_list arguments;

    int length = snprintf(what, sizeof what, "%s%s", where, where[0] == '\0' ? "" : " ");
    va_start(arguments, format);
    if (length < COMPLAINT_BYTES)
        vsnprintf(what + length, sizeof what - (size_t)length, format, arguments);
    va_end(arguments);
    make_printable(what);
    say("%s: line %zu, column %zu: %s", input->path, place.line, place.column, what);
}

bool json_input_number(const json_t *value, uint64_t *number)
{
    if (json_is_integer(value)) {
        if (json_integer_value(value) < 0)
            return false;
        *number = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_string(value))
        return false;
    /* Readers of JSON differ above 2^63, so it is digits alone: no unit, no sign. */
    const char *text = json_string_value(value);
    return text[strspn(text, "0123456789")] == '\0' &&
           policy_quantity_parse_bytes(text, number);
}

static void say_syntax(const char *path, json_error_t *error)
{
    bool is_overflow = json_error_code(error) == json_error_numeric_overflow;

    make_printable(error->text);
    say("%s: line %d, column %d: %s%s", path, error->line, error->column, error->text,
        is_overflow ? ": must be " JSON_INPUT_NUMBER_RULE : "");
}

/* Parses input->bytes, which are freed when that fails. */
static bool parse(struct json_input *input)
{
    json_error_t error;

    if (input->length > JSON_INPUT_BYTES_MAX) {
        struct json_place place =
            json_place_of(input->bytes, input->length, JSON_INPUT_BYTES_MAX);
        say("%s: line %zu, column %zu: here end the %d bytes that are read of a file",
            input->path, place.line, place.column, JSON_INPUT_BYTES_MAX);
    } else {
        input->root =
            json_loadb(input->bytes, input->length, JSON_REJECT_DUPLICATES, &error);
        if (input->root == NULL)
            say_syntax(input->path, &error);
    }
    if (input->root == NULL)
        free(input->bytes);
    return input->root != NULL;
}

bool json_input_open(const char *path, struct json_input *input)
{
    size_t room = JSON_INPUT_BYTES_MAX + 1; /* to see that there is more */
    FILE *file = fopen(path, "re");

    *input = (struct json_input){.path = path, .bytes = malloc(room)};
    if (file != NULL && input->bytes != NULL)
        input->length = fread(input->bytes, 1, room, file);
    bool is_read = file != NULL && input->bytes != NULL && !ferror(file);
    if (!is_read) {
        say("%s: %s", path, strerror(errno));
        free(input->bytes);
    }
    if (file != NULL)
        fclose(file);
    return is_read && parse(input);
}

bool json_input_parse(const char *path, const char *bytes, size_t length,
                      struct json_input *input)
{
    *input =
        (struct json_input){.path = path, .bytes = malloc(length + 1), .length = length};
    if (input->bytes == NULL) {
        say("%s: %s", path, strerror(errno));
        return false;
    }
    memcpy(input->bytes, bytes, length);
    return parse(input);
}

void json_input_close(struct json_input *input)
{
    json_decref(input->root);
    free(input->bytes);
}

#include "tools/tidemark/json_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SPACE    " \t\r\n"
#define STEP_END ".["

/* What is left of the text. */
struct cursor {
    const char *at;
    const char *end;
};

/* NUL at the end, which no valid text has within. */
static char peek(const struct cursor *cursor)
{
    return cursor->at < cursor->end ? *cursor->at : '\0';
}

static void skip_space(struct cursor *cursor)
{
    while (peek(cursor) != '\0' && strchr(SPACE, peek(cursor)) != NULL)
        cursor->at++;
}

/* Space around one character. */
static void skip_mark(struct cursor *cursor)
{
    skip_space(cursor);
    if (cursor->at < cursor->end)
        cursor->at++;
    skip_space(cursor);
}

static void skip_string(struct cursor *cursor)
{
    for (cursor->at++; peek(cursor) != '"' && peek(cursor) != '\0'; cursor->at++)
        if (peek(cursor) == '\\')
            cursor->at++;
    if (cursor->at < cursor->end)
        cursor->at++;
}

/* A string, a number, a word, or everything between two brackets. */
static void skip_value(struct cursor *cursor)
{
    size_t depth = 0;

    do {
        char first = peek(cursor);
        if (first == '"') {
            skip_string(cursor);
        } else if (first == '{' || first == '[') {
            depth++;
            cursor->at++;
        } else if (first == '}' || first == ']') {
            depth--;
            cursor->at++;
        } else if (depth > 0 && first != '\0') {
            cursor->at++;
        } else {
            while (peek(cursor) != '\0' && strchr(SPACE ",]}", peek(cursor)) == NULL)
                cursor->at++;
        }
    } while (depth > 0 && peek(cursor) != '\0');
}

/* From an object to the value of one of its members; false when there is none so named. */
static bool enter_member(struct cursor *cursor, const char *name, size_t length)
{
    skip_mark(cursor);
    while (peek(cursor) == '"') {
        const char *key = cursor->at + 1;
        skip_string(cursor);
        bool is_named =
            (size_t)(cursor->at - key) == length + 1 && memcmp(key, name, length) == 0;
        skip_mark(cursor);
        if (is_named)
            return true;
        skip_value(cursor);
        skip_mark(cursor);
    }
    return false;
}

/* From an array to one of its elements. */
static bool enter_element(struct cursor *cursor, unsigned long index)
{
    skip_mark(cursor);
    for (; index > 0 && peek(cursor) != '\0' && peek(cursor) != ']'; index--) {
        skip_value(cursor);
        skip_mark(cursor);
    }
    return index == 0 && peek(cursor) != ']';
}

/* One step along the path, which is moved past it. */
static bool enter(struct cursor *cursor, const char **path)
{
    if (**path == '[') {
        char *end;
        unsigned long index = strtoul(*path + 1, &end, 10);
        *path = *end == ']' ? end + 1 : end;
        return peek(cursor) == '[' && enter_element(cursor, index);
    }
    const char *name = *path + (**path == '.');
    size_t length = strcspn(name, STEP_END);
    *path = name + length;
    return peek(cursor) == '{' && enter_member(cursor, name, length);
}

struct json_place json_place_of(const char *bytes, size_t length, size_t offset)
{
    struct json_place place = {1, 1};

    for (size_t i = 0; i < offset && i < length; i++) {
        bool is_continued = ((unsigned char)bytes[i] & 0xc0) == 0x80;
        place.column += !is_continued;
        if (bytes[i] == '\n')
            place = (struct json_place){place.line + 1, 1};
    }
    return place;
}

struct json_place json_place_find(const char *bytes, size_t length, const char *path)
{
    struct cursor cursor = {bytes, bytes + length};

    skip_space(&cursor);
    struct cursor found = cursor;
    while (*path != '\0' && enter(&cursor, &path))
        found = cursor;
    return json_place_of(bytes, length, (size_t)(found.at - bytes));
}

#include "tools/tidemark/json_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tidemark/say.h"

bool json_lines_complain(const struct json_lines *lines, const char *what)
{
    say("%s: line %zu: %s", lines->path, lines->number, what);
    return false;
}

static bool take_text(const struct json_lines *lines, const char *text, size_t length,
                      bool (*take)(void *context, const json_t *line), void *context)
{
    json_error_t error;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    bool is_taken = json_is_object(line)
                        ? take(context, line)
                        : json_lines_complain(lines, "not a JSON object");

    json_decref(line);
    return is_taken;
}

bool json_lines_read(struct json_lines *lines,
                     bool (*take)(void *context, const json_t *line), void *context)
{
    FILE *file = fopen(lines->path, "re");
    char *text = NULL;
    size_t room = 0;
    ssize_t length;
    bool is_read = file != NULL;

    lines->number = 0;
    if (file == NULL) {
        say("%s: %s", lines->path, strerror(errno));
        return false;
    }
    while (is_read && (length = getline(&text, &room, file)) > 0) {
        lines->number++;
        if (text[length - 1] == '\n')
            is_read = take_text(lines, text, (size_t)length, take, context);
    }
    if (is_read && ferror(file)) {
        say("%s: %s", lines->path, strerror(errno));
        is_read = false;
    }
    free(text);
    fclose(file);
    return is_read;
}

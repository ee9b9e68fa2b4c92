#include "tools/tidemark/binds_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tidemark/json_input.h"
#include "tools/tidemark/json_lines.h"
#include "tools/tidemark/printable.h"
#include "tools/tidemark/say.h"

#define SCHEMA "tidemark.binds/1"

/* clang-format off */
const char *const binds_figure_names[BINDS_FIGURE_COUNT] = {
#define FIGURE(name, help) #name,
#include "pool/bind_figures.def"
#undef FIGURE
};
/* clang-format on */

struct reading {
    struct json_lines lines;
    struct binds_file *file;
    bool has_head;
};

static bool complain(const struct reading *reading, const char *what)
{
    return json_lines_complain(&reading->lines, what);
}

static void copy(char *to, size_t room, const json_t *from)
{
    const char *text = json_string_value(from);

    snprintf(to, room, "%s", text == NULL ? "" : text);
    make_printable(to);
}

static bool take_head(struct reading *reading, const json_t *line)
{
    const char *schema = json_string_value(json_object_get(line, "schema"));
    struct binds_file *file = reading->file;

    if (schema == NULL || strcmp(schema, SCHEMA) != 0)
        return complain(reading, "not a record of binds, whose first line has the schema "
                                 "\"" SCHEMA "\"");
    copy(file->program, sizeof file->program, json_object_get(line, "program"));
    copy(file->boundary, sizeof file->boundary, json_object_get(line, "boundary"));
    copy(file->version, sizeof file->version, json_object_get(line, "tidemark"));
    (void)json_input_number(json_object_get(line, "process_id"), &file->process_id);
    reading->has_head = true;
    return true;
}

/* Phases come before their bind, which is the last one of its slot and number. */
static struct binds_bind *find(struct binds_file *file, uint64_t number, int64_t slot)
{
    for (size_t i = file->bind_count; i-- > 0;)
        if (file->binds[i].number == number && file->binds[i].slot == slot)
            return &file->binds[i];
    return NULL;
}

static struct binds_bind *add(struct binds_file *file, uint64_t number, int64_t slot)
{
    if (file->bind_count == file->room) {
        size_t room = file->room == 0 ? 64 : 2 * file->room;
        struct binds_bind *binds = realloc(file->binds, room * sizeof *binds);
        if (binds == NULL)
            return NULL;
        file->binds = binds;
        file->room = room;
    }
    struct binds_bind *bind = &file->binds[file->bind_count++];
    *bind = (struct binds_bind){.number = number, .slot = slot};
    return bind;
}

/* The number of a phase's name; BINDS_PHASES_MAX when there are too many. */
static size_t phase_of(struct binds_file *file, const char *name)
{
    size_t phase = 0;

    while (phase < file->phase_count && strcmp(file->phase_names[phase], name) != 0)
        phase++;
    if (phase == file->phase_count && phase < BINDS_PHASES_MAX) {
        snprintf(file->phase_names[phase], POOL_BIND_PHASE_BYTES, "%s", name);
        file->phase_count++;
    }
    return phase;
}

static bool read_figures(const json_t *line, uint64_t figures[BINDS_FIGURE_COUNT])
{
    for (size_t i = 0; i < BINDS_FIGURE_COUNT; i++) {
        const json_t *value = json_object_get(line, binds_figure_names[i]);
        figures[i] = BINDS_UNKNOWN;
        if (value == NULL ||
            (!json_is_null(value) && !json_input_number(value, &figures[i])))
            return false;
    }
    return true;
}

/* A phase may be entered more than once in a bind. */
static void add_figures(uint64_t sum[BINDS_FIGURE_COUNT],
                        const uint64_t figures[BINDS_FIGURE_COUNT])
{
    for (size_t i = 0; i < BINDS_FIGURE_COUNT; i++) {
        bool is_known = sum[i] != BINDS_UNKNOWN && figures[i] != BINDS_UNKNOWN;
        sum[i] = is_known ? sum[i] + figures[i] : BINDS_UNKNOWN;
    }
}

static bool take_phase(struct reading *reading, struct binds_bind *bind,
                       const json_t *written, const uint64_t figures[BINDS_FIGURE_COUNT])
{
    char name[POOL_BIND_PHASE_BYTES];

    copy(name, sizeof name, written);
    size_t phase = phase_of(reading->file, name);

    if (phase == BINDS_PHASES_MAX)
        return complain(reading, "more than 32 names of phases");
    if (bind->phases == NULL)
        bind->phases = calloc(BINDS_PHASES_MAX, sizeof *bind->phases);
    if (bind->phases == NULL)
        return complain(reading, strerror(ENOMEM));
    add_figures(bind->phases[phase], figures);
    return true;
}

static bool take_record(struct reading *reading, const json_t *line)
{
    const json_t *slot_value = json_object_get(line, "slot");
    const json_t *phase = json_object_get(line, "phase");
    uint64_t figures[BINDS_FIGURE_COUNT], number, slot = 0;

    if (!json_input_number(json_object_get(line, "bind"), &number) || number == 0 ||
        (slot_value != NULL && !json_is_null(slot_value) &&
         !json_input_number(slot_value, &slot)) ||
        !read_figures(line, figures))
        return complain(reading, "not the record of a bind");
    int64_t which = slot_value == NULL || json_is_null(slot_value) ? -1 : (int64_t)slot;
    struct binds_bind *bind = find(reading->file, number, which);
    if (bind != NULL && bind->has_total)
        bind = NULL; /* another set's */
    if (bind == NULL)
        bind = add(reading->file, number, which);
    if (bind == NULL)
        return complain(reading, strerror(ENOMEM));
    if (json_is_string(phase))
        return take_phase(reading, bind, phase, figures);
    memcpy(bind->figures, figures, sizeof figures);
    bind->has_total = true;
    return true;
}

static bool take_line(void *context, const json_t *line)
{
    struct reading *reading = context;

    if (!reading->has_head)
        return take_head(reading, line);
    if (json_object_get(line, "lost") != NULL)
        return json_input_number(json_object_get(line, "lost"), &reading->file->lost) ||
               complain(reading, "not a number");
    return take_record(reading, line);
}

/* What the whole bind cost, where only its phases were recorded. */
static void add_up(struct binds_bind *bind, size_t phase_count)
{
    if (bind->has_total)
        return;
    for (size_t i = 0; i < phase_count; i++)
        add_figures(bind->figures, bind->phases[i]);
}

bool binds_file_read(const char *path, struct binds_file *file)
{
    struct reading reading = {.lines.path = path, .file = file};

    *file = (struct binds_file){.bind_count = 0};
    bool is_read = json_lines_read(&reading.lines, take_line, &reading);
    if (is_read && file->bind_count == 0) {
        say("%s: no bind was recorded%s", path,
            strcmp(file->boundary, "staging") == 0
                ? ": staging was live all the time, or there was none; "
                  "TIDEMARK_BIND_ON=<driver function> bounds binds by its calls"
                : "");
        is_read = false;
    }
    for (size_t i = 0; i < file->bind_count; i++)
        add_up(&file->binds[i], file->phase_count);
    if (!is_read)
        binds_file_free(file);
    return is_read;
}

void binds_file_free(struct binds_file *file)
{
    for (size_t i = 0; i < file->bind_count; i++)
        free(file->binds[i].phases);
    free(file->binds);
    file->binds = NULL;
    file->bind_count = 0;
}

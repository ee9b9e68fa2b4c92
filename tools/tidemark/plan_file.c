#include "tools/tidemark/plan_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tidemark/say.h"
#include "tools/tidemark/usage.h"

enum {
    FIELDS_MAX = 8,    /* more than any object has */
    WHERE_BYTES = 192, /* of the path to a field, which is cut if it is longer */
};

struct field {
    const char *name;
    enum { FIELD_OPTIONAL, FIELD_REQUIRED, FIELD_OTHER } use; /* OTHER is no number */
    size_t place;                                             /* of a number */
    uint64_t least;
};

/* What an object may hold; a field without a name is the end. A comment may be anywhere. */
static const struct field root_fields[] = {
    {"spaces", FIELD_OTHER, 0, 0},
    {"buffers", FIELD_OTHER, 0, 0},
    {0},
};
static const struct field space_fields[] = {
    {"name", FIELD_OTHER, 0, 0},
    {"base", FIELD_REQUIRED, offsetof(struct policy_space, base), 0},
    {"largest_address", FIELD_REQUIRED, offsetof(struct policy_space, largest_address),
     0},
    {"capacity", FIELD_OPTIONAL, offsetof(struct policy_space, capacity_bytes), 0},
    {"unit", FIELD_OPTIONAL, offsetof(struct policy_space, unit_bytes), 1},
    {"external_peak", FIELD_OPTIONAL, offsetof(struct policy_space, external_peak_bytes),
     0},
    {0},
};
static const struct field buffer_fields[] = {
    {"name", FIELD_OTHER, 0, 0},
    {"size", FIELD_REQUIRED, offsetof(struct policy_buffer, bytes), 0},
    {"alignment", FIELD_REQUIRED, offsetof(struct policy_buffer, alignment), 1},
    {"start", FIELD_REQUIRED, offsetof(struct policy_buffer, start), 0},
    {"end", FIELD_REQUIRED, offsetof(struct policy_buffer, end), 0},
    {"space", FIELD_OTHER, 0, 0},
    {0},
};

/* One object of the file. */
struct object {
    struct plan *plan;
    json_t *json;
    char where[WHERE_BYTES / 2];
};

static struct object root_of(struct plan *plan)
{
    return (struct object){.plan = plan, .json = plan->input.root};
}

static struct object object_at(struct plan *plan, const char *list, size_t index)
{
    json_t *array = json_object_get(plan->input.root, list);
    struct object object = {.plan = plan, .json = json_array_get(array, index)};

    snprintf(object.where, sizeof object.where, "%s[%zu]", list, index);
    return object;
}

/* Says what is wrong with a field, and is false. */
static bool refuse(const struct object *object, const char *field, const char *what)
{
    char where[WHERE_BYTES];

    snprintf(where, sizeof where, "%s%s%s", object->where,
             object->where[0] == '\0' ? "" : ".", field);
    json_input_complain(&object->plan->input, where, "%s", what);
    return false;
}

static bool refuse_absent(const struct object *object, const char *field)
{
    json_input_complain(&object->plan->input, object->where, "has no \"%s\"", field);
    return false;
}

static bool read_number(const struct object *object, const struct field *field,
                        void *numbers)
{
    const json_t *value = json_object_get(object->json, field->name);
    uint64_t number;

    if (value == NULL)
        return field->use == FIELD_OPTIONAL || refuse_absent(object, field->name);
    if (!json_input_number(value, &number))
        return refuse(object, field->name, "must be " JSON_INPUT_NUMBER_RULE);
    if (number < field->least)
        return refuse(object, field->name, "must be at least 1");
    memcpy((char *)numbers + field->place, &number, sizeof number);
    return true;
}

static bool read_numbers(const struct object *object, const struct field *fields,
                         void *numbers)
{
    for (; fields->name != NULL; fields++)
        if (fields->use != FIELD_OTHER && !read_number(object, fields, numbers))
            return false;
    return true;
}

/* A capacity by another name says nothing about the storage that there is. The first one is
   mentioned: a thousand lines would say no more. */
static void ignore_stale(const struct object *object, const char *name)
{
    if (!object->plan->ignores_capacity)
        (void)refuse(object, name, "is ignored: only \"capacity\" of a space is a limit");
    object->plan->ignores_capacity = true;
}

static bool judge_unknown(const struct object *object, const char *name,
                          const struct field *fields)
{
    const char *known[FIELDS_MAX];
    char what[WHERE_BYTES];
    size_t count = 0;

    if (strstr(name, "capacity") != NULL && strcmp(name, "capacity") != 0) {
        ignore_stale(object, name);
        return true;
    }
    for (; fields[count].name != NULL; count++)
        known[count] = fields[count].name;
    const char *nearest = usage_nearest(name, known, count);
    snprintf(what, sizeof what, "is not a field that is known here%s%s%s",
             nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
             nearest == NULL ? "" : "\"?");
    return refuse(object, name, what);
}

static bool check_fields(const struct object *object, const struct field *fields)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object->json)) {
        json_input_complain(&object->plan->input, object->where, "must be an object");
        return false;
    }
    json_object_foreach(object->json, name, value)
    {
        const struct field *field = fields;
        while (field->name != NULL && strcmp(field->name, name) != 0)
            field++;
        if (field->name == NULL && strcmp(name, "comment") != 0 &&
            !judge_unknown(object, name, fields))
            return false;
    }
    return true;
}

/* Names are printed, so they have to be printable. */
static bool read_name(const struct object *object, const char *field, const char **name)
{
    const json_t *value = json_object_get(object->json, field);
    const char *text = json_string_value(value);
    size_t length = 0;

    if (value == NULL)
        return refuse_absent(object, field);
    while (text != NULL && text[length] >= ' ' && text[length] <= '~')
        length++;
    if (length == 0 || length >= PLAN_NAME_BYTES || text[length] != '\0')
        return refuse(object, field, "must be 1 to 127 characters of printable ASCII");
    *name = text;
    return true;
}

/* The space of this name among the first `count`, or `count`. */
static size_t find_space(const struct plan *plan, size_t count, const char *name)
{
    size_t i = 0;

    while (i < count && strcmp(plan->spaces[i].name, name) != 0)
        i++;
    return i;
}

static bool read_space(struct plan *plan, size_t index)
{
    struct object object = object_at(plan, "spaces", index);
    struct plan_space *space = &plan->spaces[index];

    space->limits.capacity_bytes = UINT64_MAX;
    space->limits.unit_bytes = 1;
    if (!check_fields(&object, space_fields) ||
        !read_name(&object, "name", &space->name) ||
        !read_numbers(&object, space_fields, &space->limits))
        return false;
    if (find_space(plan, index, space->name) < index)
        return refuse(&object, "name", "is the name of another space too");
    return true;
}

static bool read_buffer(struct plan *plan, size_t index)
{
    struct object object = object_at(plan, "buffers", index);
    struct plan_buffer *buffer = &plan->buffers[index];
    const char *space;

    if (!check_fields(&object, buffer_fields) ||
        !read_name(&object, "name", &buffer->name) ||
        !read_numbers(&object, buffer_fields, &buffer->wanted) ||
        !read_name(&object, "space", &space))
        return false;
    if (buffer->wanted.end <= buffer->wanted.start)
        return refuse(&object, "end", "must be later than start");
    buffer->space = find_space(plan, plan->space_count, space);
    if (buffer->space == plan->space_count)
        return refuse(&object, "space", "is the name of no space");
    return true;
}

/* How many the list has; false unless it is a list of at most `most`. */
static bool count_list(struct plan *plan, const char *list, size_t most, size_t *count)
{
    struct object root = root_of(plan);
    const json_t *array = json_object_get(plan->input.root, list);
    char what[WHERE_BYTES];

    if (array == NULL)
        return refuse_absent(&root, list);
    *count = json_array_size(array);
    snprintf(what, sizeof what, "must be an array of at most %zu", most);
    return (json_is_array(array) && *count <= most) || refuse(&root, list, what);
}

static bool allocate(struct plan *plan)
{
    /* One more, since calloc of none may give NULL. */
    plan->spaces = calloc(plan->space_count + 1, sizeof *plan->spaces);
    plan->buffers = calloc(plan->buffer_count + 1, sizeof *plan->buffers);
    if (plan->spaces == NULL || plan->buffers == NULL)
        say("%s: %s", plan->input.path, strerror(errno));
    return plan->spaces != NULL && plan->buffers != NULL;
}

static bool read_root(struct plan *plan)
{
    struct object root = root_of(plan);

    if (!check_fields(&root, root_fields) ||
        !count_list(plan, "spaces", PLAN_SPACES_MAX, &plan->space_count) ||
        !count_list(plan, "buffers", PLAN_BUFFERS_MAX, &plan->buffer_count) ||
        !allocate(plan))
        return false;
    if (plan->space_count == 0)
        return refuse(&root, "spaces", "must name a space");
    for (size_t i = 0; i < plan->space_count; i++)
        if (!read_space(plan, i))
            return false;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (!read_buffer(plan, i))
            return false;
    return true;
}

/* Of a plan whose input is open. */
static bool read_or_free(struct plan *plan)
{
    bool done = read_root(plan);

    if (!done)
        plan_file_free(plan);
    return done;
}

bool plan_file_read(const char *path, struct plan *plan)
{
    *plan = (struct plan){.space_count = 0};
    return json_input_open(path, &plan->input) && read_or_free(plan);
}

bool plan_file_parse(const char *path, const char *bytes, size_t length,
                     struct plan *plan)
{
    *plan = (struct plan){.space_count = 0};
    return json_input_parse(path, bytes, length, &plan->input) && read_or_free(plan);
}

void plan_file_free(struct plan *plan)
{
    free(plan->spaces);
    free(plan->buffers);
    json_input_close(&plan->input);
}

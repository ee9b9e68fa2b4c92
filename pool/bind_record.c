#include "pool/bind_record.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define FIGURE(name, help) {#name, offsetof(struct pool_bind_figures, name)},
#include "pool/bind_figures.def"
#undef FIGURE
};
/* clang-format on */

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

struct pool_bind_figures pool_bind_figures_between(const struct pool_bind_figures *before,
                                                   const struct pool_bind_figures *after)
{
    return (struct pool_bind_figures){
#define FIGURE(name, help) .name = after->name - before->name,
#include "pool/bind_figures.def"
#undef FIGURE
    };
}

static void put_name(struct pool_text *text, const char *name)
{
    pool_text_put_json(text, name);
    pool_text_put(text, ": ");
}

static void put_number(struct pool_text *text, const char *name, uint64_t number)
{
    put_name(text, name);
    pool_text_put_number(text, number);
}

/* Null where there is none. */
static void put_string(struct pool_text *text, const char *name, const char *string)
{
    put_name(text, name);
    if (string)
        pool_text_put_json(text, string);
    else
        pool_text_put(text, "null");
}

static void put_figure(struct pool_text *text, const struct pool_bind_record *record,
                       size_t row)
{
    uint64_t number;
    memcpy(&number, (const char *)&record->figures + rows[row].offset, sizeof(number));
    pool_text_put(text, ", ");
    if (!record->has_thread && strncmp(rows[row].name, "thread_", 7) == 0)
        put_string(text, rows[row].name, NULL);
    else
        put_number(text, rows[row].name, number);
}

void pool_bind_record_put(struct pool_text *text, const struct pool_bind_record *record)
{
    pool_text_put(text, "{");
    put_number(text, "bind", record->number);
    pool_text_put(text, ", ");
    if (record->slot >= 0)
        put_number(text, "slot", (uint64_t)record->slot);
    else
        put_string(text, "slot", NULL);
    pool_text_put(text, ", ");
    put_string(text, "phase", record->phase[0] ? record->phase : NULL);
    pool_text_put(text, ", ");
    put_number(text, "start_ns", record->start_ns);
    for (size_t row = 0; row < ROW_COUNT; row++)
        put_figure(text, record, row);
    pool_text_put(text, "}\n");
}

void pool_bind_record_put_lost(struct pool_text *text, uint64_t count)
{
    pool_text_put(text, "{");
    put_number(text, "lost", count);
    pool_text_put(text, "}\n");
}

void pool_bind_record_put_head(struct pool_text *text, const char *version,
                               const char *program, uint64_t process_id,
                               const char *boundary)
{
    pool_text_put(text, "{");
    put_string(text, "schema", "tidemark.binds/1");
    pool_text_put(text, ", ");
    put_string(text, "tidemark", version);
    pool_text_put(text, ", ");
    put_number(text, "process_id", process_id);
    pool_text_put(text, ", ");
    put_string(text, "program", program);
    pool_text_put(text, ", ");
    put_string(text, "boundary", boundary);
    pool_text_put(text, "}\n");
}

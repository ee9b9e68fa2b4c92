#include "tools/simcuda/program.h"

#include <string.h>

static const char image_text[] = "simcuda";
static const char until_prefix[] = "until_";

bool sim_program_is_image(const char *image)
{
    return strncmp(image, image_text, sizeof image_text) == 0;
}

bool sim_program_find(const char *name, struct sim_program *program)
{
    static const struct {
        const char *name;
        enum sim_program_kind kind;
    } rows[] = {
        {"fill", SIM_PROGRAM_FILL},
        {"copy", SIM_PROGRAM_COPY},
        {"hold", SIM_PROGRAM_HOLD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            program->kind = rows[i].kind;
            return true;
        }
    }
    program->kind = SIM_PROGRAM_UNTIL;
    if (strncmp(name, until_prefix, sizeof until_prefix - 1) != 0)
        return false;
    name += sizeof until_prefix - 1;
    return sim_entry_find(name, strlen(name), &program->call);
}

/* Kernels are given the addresses of their arguments, and read them at the launch. */
static uint64_t word(void *const *arguments, size_t index)
{
    uint64_t value;
    memcpy(&value, arguments[index], sizeof value);
    return value;
}

/* What a kernel touches is not checked before it runs. */
static void prepare_fill(void *const *arguments, struct sim_op *op)
{
    op->kind = SIM_OP_FILL;
    op->fill = (struct sim_fill){.address = word(arguments, 0),
                                 .row_bytes = word(arguments, 1),
                                 .height = 1,
                                 .value_bytes = 1};
    memcpy(op->fill.value, arguments[2], 1);
}

static void prepare_copy(void *const *arguments, struct sim_op *op)
{
    op->kind = SIM_OP_COPY;
    op->copy = (struct sim_copy){.to = {.first = word(arguments, 0), .known = true},
                                 .from = {.first = word(arguments, 1), .known = true},
                                 .width_bytes = word(arguments, 2),
                                 .height = 1,
                                 .depth = 1};
}

bool sim_program_prepare(const struct sim_program *program, void *const *arguments,
                         struct sim_op *op)
{
    if (program->kind == SIM_PROGRAM_UNTIL) {
        op->kind = SIM_OP_UNTIL;
        op->until.call = program->call;
        op->until.begun_count = sim_entry_count(program->call);
        return true;
    }
    if (arguments == NULL)
        return false;
    if (program->kind == SIM_PROGRAM_FILL) {
        prepare_fill(arguments, op);
    } else if (program->kind == SIM_PROGRAM_COPY) {
        prepare_copy(arguments, op);
    } else {
        op->kind = SIM_OP_HOLD;
        op->ticket = word(arguments, 0);
    }
    return true;
}

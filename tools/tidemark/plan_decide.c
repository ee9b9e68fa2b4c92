#include "tools/tidemark/plan_decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tidemark/say.h"

/* The buffers of one space, side by side, and what placing them takes. */
struct desk {
    size_t *indices; /* of the buffers, in the plan */
    struct policy_buffer *buffers;
    uint64_t *offsets;
    struct policy_placement_work work;
};

/* Room for `count` buffers; to be cleared also when it is false. */
static bool open_desk(struct desk *desk, size_t count)
{
    /* One more, since calloc of none may give NULL. */
    size_t room = count + 1;

    *desk = (struct desk){
        .indices = calloc(room, sizeof *desk->indices),
        .buffers = calloc(room, sizeof *desk->buffers),
        .offsets = calloc(room, sizeof *desk->offsets),
        .work.ranks = calloc(2 * room, sizeof *desk->work.ranks),
        .work.places = calloc(room, sizeof *desk->work.places),
        .work.offsets = calloc(room, sizeof *desk->work.offsets),
    };
    return desk->indices != NULL && desk->buffers != NULL && desk->offsets != NULL &&
           desk->work.ranks != NULL && desk->work.places != NULL &&
           desk->work.offsets != NULL;
}

static void clear_desk(const struct desk *desk)
{
    free(desk->indices);
    free(desk->buffers);
    free(desk->offsets);
    free(desk->work.ranks);
    free(desk->work.places);
    free(desk->work.offsets);
}

/* How many buffers the space has. */
static size_t gather(const struct plan *plan, size_t space, const struct desk *desk)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->buffer_count; i++) {
        if (plan->buffers[i].space != space)
            continue;
        desk->indices[count] = i;
        desk->buffers[count++] = plan->buffers[i].wanted;
    }
    return count;
}

static void decide_space(struct plan *plan, size_t index, const struct desk *desk)
{
    struct plan_space *space = &plan->spaces[index];
    size_t count = gather(plan, index, desk);

    space->buffer_count = count;
    space->verdict =
        policy_placement_plan(&space->limits, desk->buffers, count, &desk->work,
                              desk->offsets, &space->high_water);
    if (space->verdict.buffer < count)
        space->refused = &plan->buffers[desk->indices[space->verdict.buffer]];
    for (size_t i = 0; i < count && space->verdict.verdict.kind == POLICY_ADMITTED; i++)
        plan->buffers[desk->indices[i]].offset = desk->offsets[i];
}

bool plan_decide(struct plan *plan)
{
    struct desk desk;
    bool done = open_desk(&desk, plan->buffer_count);

    for (size_t i = 0; i < plan->space_count && done; i++)
        decide_space(plan, i, &desk);
    if (!done)
        say("%s: %s", plan->input.path, strerror(errno));
    clear_desk(&desk);
    return done;
}

bool plan_is_placed(const struct plan *plan)
{
    for (size_t i = 0; i < plan->space_count; i++)
        if (plan->spaces[i].verdict.verdict.kind != POLICY_ADMITTED)
            return false;
    return true;
}

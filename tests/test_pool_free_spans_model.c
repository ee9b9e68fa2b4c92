/* Defends: whatever is claimed, given back and given to the source, in any order, free spans are
   what a model of every single granule says: where they lie, in which state, what fits best,
   how many granules are dirty and how few there were. */
#include "tests/free_spans_fixture.h"

enum {
    MODEL_STEPS = 4000,
    MODEL_SEEDS = 8,
};

/* What a test that knows every granule says of them. */
struct model {
    enum pool_state states[END]; /* of each granule: LIVE, FREE, CLEAN */
    uint32_t starts[END];        /* where the block or span that it is in begins */
    uint32_t low;
};

/* Where the block or span ends that this granule is in. */
static uint32_t model_end(const struct model *model, uint32_t granule)
{
    uint32_t end = granule;
    while (end < END && model->starts[end] == model->starts[granule])
        end++;
    return end;
}

static uint32_t model_dirty(const struct model *model)
{
    uint32_t dirty = 0;
    for (uint32_t index = 1; index < END; index++)
        dirty += model->states[index] == POOL_FREE;
    return dirty;
}

static void model_set(struct model *model, uint32_t start, uint32_t end,
                      enum pool_state state)
{
    for (uint32_t index = start; index < end; index++) {
        model->starts[index] = start;
        model->states[index] = state;
    }
}

static void model_note(struct model *model)
{
    uint32_t dirty = model_dirty(model);
    model->low = dirty < model->low ? dirty : model->low;
}

static void model_check(const struct model *model)
{
    uint32_t count = 0, last = 0;
    for (uint32_t index = 1; index < END; index = model_end(model, index)) {
        if (model->states[index] == POOL_LIVE)
            continue;
        if (!is_span(index, model_end(model, index) - index, model->states[index]))
            ck_abort_msg("no span at %u", index);
        last = model->states[index] == POOL_FREE ? index : last;
        count++;
    }
    holds(count, model_dirty(model));
    ck_assert_uint_eq(pool_free_spans_last_dirty(&spans), last);
}

/* The first free granule before which none is, and how many follow without a gap. */
static uint32_t model_run_start(const struct model *model, uint32_t granule)
{
    while (granule > 1 && model->states[granule - 1] != POOL_LIVE)
        granule--;
    return granule;
}

static uint32_t model_run_end(const struct model *model, uint32_t granule)
{
    while (granule < END && model->states[granule] != POOL_LIVE)
        granule++;
    return granule;
}

/* The first of the shortest spans, or runs of spans, of at least so many granules. */
static uint32_t model_best(const struct model *model, uint32_t granules, bool runs)
{
    uint32_t best = 0, best_length = UINT32_MAX;
    for (uint32_t index = 1; index < END; index = model_end(model, index)) {
        uint32_t end = runs ? model_run_end(model, index) : model_end(model, index);
        if (model->states[index] == POOL_LIVE || end - index < granules ||
            (runs && model_run_start(model, index) != index))
            continue;
        if (end - index < best_length) {
            best = index;
            best_length = end - index;
        }
    }
    return best;
}

static void model_fit(struct model *model, uint32_t granules)
{
    uint32_t best = model_best(model, granules, false);
    if (!best)
        best = model_best(model, granules, true);
    if (best && model_end(model, best) != best + granules)
        best = model_run_start(model, best);
    bool fresh = false;
    ck_assert_uint_eq(fit_and_take(granules, END, &fresh), best);
    if (!best)
        return;
    bool clean = true;
    for (uint32_t index = best; index < best + granules; index++)
        clean = clean && model->states[index] == POOL_CLEAN;
    ck_assert_int_eq(fresh, clean);
    uint32_t rest = best + granules;
    if (rest < END && model->states[rest] != POOL_LIVE)
        model_set(model, rest, model_end(model, rest), model->states[rest]);
    model_set(model, best, rest, POOL_LIVE);
    POOL_SET(&records[best], granules, granules);
    POOL_SET(&records[best], state, POOL_LIVE);
    model_note(model);
}

/* Makes a stretch free in this state, one with its neighbours of the same state. */
static void model_free(struct model *model, uint32_t start, uint32_t end,
                       enum pool_state state)
{
    if (end < END && model->states[end] == state)
        end = model_end(model, end);
    if (start > 1 && model->states[start - 1] == state)
        start = model->starts[start - 1];
    model_set(model, start, end, state);
}

/* Gives the live block back that holds this granule, or none. */
static void model_return(struct model *model, uint32_t granule, enum pool_state state)
{
    uint32_t start = model->starts[granule], end = model_end(model, start);
    if (model->states[start] != POOL_LIVE)
        return;
    merge(start, end - start, state);
    model_free(model, start, end, state);
}

static void model_clean(struct model *model, uint32_t granules)
{
    uint32_t start = pool_free_spans_last_dirty(&spans);
    if (!start)
        return;
    uint32_t end = model_end(model, start);
    if (granules > end - start)
        granules = end - start;
    model_free(model, end - granules, end, POOL_CLEAN);
    ck_assert_uint_eq(pool_free_spans_clean_tail(&spans, start, granules, END),
                      model->starts[end - 1]);
    model_note(model);
}

static void model_unneeded(struct model *model)
{
    uint32_t dirty = model_dirty(model);
    ck_assert_uint_eq(pool_free_spans_unneeded(&spans),
                      model->low < dirty ? model->low : dirty);
    model->low = dirty;
}

static void model_step(struct model *model, uint64_t dice)
{
    uint32_t granules = 1 + (uint32_t)(dice >> 8) % (UINT32_C(1) << (dice >> 40) % 8);
    uint32_t granule = 1 + (uint32_t)(dice >> 16) % (END - 1);
    if (dice % 16 < 8)
        model_fit(model, granules);
    else if (dice % 16 < 13)
        model_return(model, granule, dice >> 60 ? POOL_FREE : POOL_CLEAN);
    else if (dice % 16 < 15)
        model_clean(model, granules);
    else
        model_unneeded(model);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

START_TEST(random_use_is_what_a_model_of_every_granule_says)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= MODEL_SEEDS; seed++) {
        uint64_t random = seed;
        setup();
        model.low = 0;
        model_set(&model, 1, END, POOL_FREE);
        merge(1, END - 1, POOL_FREE);
        for (unsigned step = 0; step < MODEL_STEPS; step++) {
            model_step(&model, next_random(&random));
            model_check(&model);
        }
        for (uint32_t granule = 1; granule < END; granule++)
            model_return(&model, granule, POOL_CLEAN);
        model_check(&model);
        fit_gives(END - 1, 1, model_dirty(&model) == 0);
        holds(0, 0);
    }
}
END_TEST

SUITE_MAIN_WITH("pool/free_spans, a model", setup, teardown,
                random_use_is_what_a_model_of_every_granule_says)

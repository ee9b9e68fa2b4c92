/* Defends: whatever is claimed, returned and trimmed in whatever order, no granule is in two
   blocks, the area stays tiled, and memory said to be fresh is zero. */
#include "tests/spans_fixture.h"

/* What a test that knows every block says of the area. */
struct model {
    uint32_t owner[AREA_GRANULES]; /* index of the live block a granule is in */
    uint32_t live[64];
    unsigned live_count;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The pages of a block in which the test reads and writes: the first of each granule. */
static void model_check_fresh(uint32_t index, uint32_t granules)
{
    static const char zero[1 << POOL_PAGE_SHIFT];
    for (uint32_t i = index; i < index + granules; i++)
        ck_assert_mem_eq(address_of(i), zero, sizeof(zero));
}

static void model_claim(struct model *model, uint32_t granules)
{
    bool due, fresh;
    uint32_t index = pool_spans_claim(&spans, granules, &fresh, &due);
    if (index == 0)
        return;
    uint32_t have = granules_of(index);
    ck_assert_uint_ge(have, granules);
    if (fresh)
        model_check_fresh(index, have);
    for (uint32_t i = index; i < index + have; i++) {
        ck_assert_msg(model->owner[i] == 0, "granule %u belongs to block %u and %u", i,
                      model->owner[i], index);
        model->owner[i] = index;
        memset(address_of(i), 1, 1 << POOL_PAGE_SHIFT);
    }
    model->live[model->live_count++] = index;
}

static void model_return(struct model *model, unsigned which)
{
    uint32_t index = model->live[which];
    model->live[which] = model->live[--model->live_count];
    for (uint32_t i = index; i < index + granules_of(index); i++)
        model->owner[i] = 0;
    give_back(index);
}

static void model_step(struct model *model, uint64_t *random)
{
    uint64_t dice = next_random(random);
    if (dice >> 58 == 0)
        (void)pool_spans_trim(&spans);
    bool full = model->live_count == sizeof(model->live) / sizeof(*model->live);
    if (model->live_count > 0 && (full || dice % 2))
        model_return(model, (unsigned)(dice >> 8) % model->live_count);
    else
        model_claim(model,
                    1 + (uint32_t)(dice >> 8) % (UINT32_C(1) << (dice >> 40) % 10));
}

START_TEST(random_claims_and_returns_never_overlap_and_fresh_memory_is_zero)
{
    static struct model model;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t random = seed;
        setup();
        memset(&model, 0, sizeof(model));
        for (unsigned step = 0; step < 3000; step++) {
            model_step(&model, &random);
            if (step % 16 == 0)
                ck_assert_msg(pool_spans_valid(&spans), "seed %ju, step %u",
                              (uintmax_t)seed, step);
        }
        while (model.live_count > 0)
            model_return(&model, 0);
        ck_assert(pool_spans_valid(&spans));
    }
}
END_TEST

SUITE_MAIN_WITH("pool/spans against a model", setup, teardown,
                random_claims_and_returns_never_overlap_and_fresh_memory_is_zero)

/* Defends: whatever is opened, opened again and closed in whatever order, the leases that are
   open are those of a plain array; and of threads that race for one, one gets it. */
#include "tests/lease_fixture.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

enum { MODEL_ADDRESSES = 10000 };

/* What is open, by address: bytes, 0 where nothing is, and the owner. */
struct model {
    uint64_t bytes[MODEL_ADDRESSES];
    unsigned owners[MODEL_ADDRESSES];
};

static uint64_t model_address(uint64_t n)
{
    return (n + 1) << 21;
}

static void model_open(struct model *model, uint64_t n, uint64_t bytes, unsigned owner)
{
    struct pool_lease lease = lease_of(model_address(n), bytes, owner), ended;
    if (!pool_lease_open(&leases, &lease, &ended))
        ck_abort_msg("no lease of %#jx", (uintmax_t)lease.address);
    if (model->bytes[n] > 0)
        lease_is(&ended, model_address(n), model->bytes[n], model->owners[n]);
    else
        ck_assert_uint_eq(ended.address, 0);
    model->bytes[n] = bytes;
    model->owners[n] = owner;
}

static void model_close(struct model *model, uint64_t n)
{
    if (model->bytes[n] > 0)
        closes(model_address(n), model->bytes[n], model->owners[n]);
    else
        is_not_open(model_address(n));
    model->bytes[n] = 0;
}

static void model_close_owner(struct model *model, unsigned owner)
{
    unsigned count = 0;
    uint64_t bytes = 0;
    for (unsigned n = 0; n < MODEL_ADDRESSES; n++) {
        if (model->bytes[n] == 0 || model->owners[n] != owner)
            continue;
        count++;
        bytes += model->bytes[n];
        model->bytes[n] = 0;
    }
    close_owner(owner, count, bytes);
}

START_TEST(random_use_agrees_with_a_plain_array)
{
    static struct model model;
    uint64_t random = 1;
    for (unsigned step = 0; step < 400000; step++) {
        uint64_t dice = next_random(&random);
        uint64_t n = dice % MODEL_ADDRESSES;
        unsigned owner = (unsigned)(dice >> 40) % 4;
        if (dice >> 49 == 0)
            model_close_owner(&model, owner);
        else if (dice >> 48 & 1)
            model_open(&model, n, 1 + (dice >> 20) % 1000000, owner);
        else
            model_close(&model, n);
    }
    for (uint64_t n = 0; n < MODEL_ADDRESSES; n++)
        model_close(&model, n);
}
END_TEST

enum { RACE_THREADS = 4, RACE_ADDRESSES = 2000, RACE_ROUNDS = 20 };

struct race {
    pthread_barrier_t meet;
    _Atomic unsigned closed_counts[RACE_ROUNDS];
};

/* Each thread opens a quarter of the addresses; then all try to close all of them. */
static void race_body(unsigned index, void *shared)
{
    struct race *race = shared;
    for (unsigned round = 0; round < RACE_ROUNDS; round++) {
        struct pool_lease lease, ended;
        for (uint64_t n = index; n < RACE_ADDRESSES; n += RACE_THREADS) {
            lease = lease_of(model_address(n), n, index);
            (void)pool_lease_open(&leases, &lease, &ended);
        }
        pthread_barrier_wait(&race->meet);
        unsigned closed = 0;
        for (uint64_t n = 0; n < RACE_ADDRESSES; n++)
            closed += pool_lease_close(&leases, model_address(n), &lease);
        atomic_fetch_add_explicit(&race->closed_counts[round], closed,
                                  memory_order_relaxed);
        pthread_barrier_wait(&race->meet);
    }
}

START_TEST(of_threads_that_close_a_lease_exactly_one_gets_it)
{
    static struct race race;
    pthread_barrier_init(&race.meet, NULL, RACE_THREADS);
    suite_run_threads(RACE_THREADS, race_body, &race);
    for (unsigned round = 0; round < RACE_ROUNDS; round++)
        ck_assert_uint_eq(
            atomic_load_explicit(&race.closed_counts[round], memory_order_relaxed),
            RACE_ADDRESSES);
}
END_TEST

SUITE_MAIN_WITH("pool/lease against a model", setup, NULL,
                random_use_agrees_with_a_plain_array,
                of_threads_that_close_a_lease_exactly_one_gets_it)

/* Threads that take, give back and end contexts at once leave what is charged exactly what the
   driver holds, and at no moment is more than the ceiling charged. */
#include "tests/accounts_calls.h"

enum {
    THREADS = 4,
    ROUNDS = 120000,
    HELD_MOST = 24,
    LIFE = 1000, /* rounds of a context */
    DEVICES = 2,
};

struct held {
    enum kind kind;
    uint64_t address;
    uint64_t bytes;
};

struct walk {
    uint64_t state;
    struct held held[HELD_MOST];
    unsigned count;
};

static void take(struct walk *walk)
{
    const struct taker *taker = &takers[random_below(&walk->state, TAKERS)];
    struct request request = request_roll(taker, &walk->state);
    /* Mostly of one size, so that an address goes from thread to thread. */
    if (random_below(&walk->state, 8) != 0) {
        taker = &takers[0];
        request.width = UNIT_BYTES;
        request.height = 1;
    }
    CUresult result = taker->take(&request);
    if (result == CUDA_SUCCESS)
        walk->held[walk->count++] =
            (struct held){taker->kind, request.address, request_bytes(taker, &request)};
    else
        ck_assert_int_eq(result, CUDA_ERROR_OUT_OF_MEMORY);
}

static void forget(struct walk *walk, unsigned index)
{
    if (walk->held[index].kind == LOCKED)
        munmap((void *)(uintptr_t)walk->held[index].address, walk->held[index].bytes);
    walk->held[index] = walk->held[--walk->count];
}

static void give(struct walk *walk)
{
    unsigned index = (unsigned)random_below(&walk->state, walk->count);
    const struct held *held = &walk->held[index];
    for (unsigned i = 0; i < GIVERS; i++) {
        if (givers[i].kind != held->kind)
            continue;
        ck_assert_int_eq(givers[i].give(held->address), CUDA_SUCCESS);
        break;
    }
    forget(walk, index);
}

static void look(void)
{
    size_t free_bytes, total_bytes;
    ck_assert_int_eq(sim.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
    ck_assert_uint_eq(total_bytes, CEILING);
    ck_assert_uint_le(free_bytes, CEILING);
    /* Of a device the driver may hold more for a moment: rows that turn out too long. */
    ck_assert_uint_le(pinned_oracle(), PINNED_CEILING);
}

static pthread_barrier_t meeting;

/* While nobody does anything the driver and we agree. */
static void meet(CUdevice device)
{
    pthread_barrier_wait(&meeting);
    charged_is(sim.oracle_bytes(device));
    pthread_barrier_wait(&meeting);
}

static void live(struct walk *walk, CUdevice device)
{
    CUcontext context;
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
    for (int round = 0; round < LIFE; round++) {
        if (walk->count < HELD_MOST && random_below(&walk->state, 5) < 3)
            take(walk);
        else if (walk->count > 0)
            give(walk);
        if (round % 16 == 0)
            look();
    }
    meet(device);
    ck_assert_int_eq(sim.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    while (walk->count > 0)
        forget(walk, 0);
}

static void walk_along(unsigned index, void *unused)
{
    (void)unused;
    struct walk walk = {.state = index};
    for (int round = 0; round < ROUNDS; round += LIFE)
        live(&walk, (CUdevice)(index + (unsigned)round / LIFE) % DEVICES);
}

START_TEST(threads_leave_no_byte_behind)
{
    sim_start("1GiB", "2");
    ck_assert_int_eq(pthread_barrier_init(&meeting, NULL, THREADS), 0);
    suite_run_threads(THREADS, walk_along, NULL);
    for (int device = 0; device < DEVICES; device++) {
        CUcontext context;
        ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
        charged_is(0);
    }
    pinned_is(0);
}
END_TEST

SUITE_MAIN("preload/threads", threads_leave_no_byte_behind)

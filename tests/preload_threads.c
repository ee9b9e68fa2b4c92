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

static void give_at(struct walk *walk, unsigned index)
{
    const struct held *held = &walk->held[index];
    for (unsigned i = 0; i < GIVERS; i++) {
        if (!gives(&givers[i], held->kind))
            continue;
        ck_assert_int_eq(givers[i].give(held->address), CUDA_SUCCESS);
        break;
    }
    forget(walk, index);
}

static void give(struct walk *walk)
{
    give_at(walk, (unsigned)random_below(&walk->state, walk->count));
}

/* What belongs to no context. */
static void give_ordered_memory(struct walk *walk)
{
    for (unsigned index = 0; index < walk->count;)
        if (walk->held[index].kind == ORDERED)
            give_at(walk, index);
        else
            index++;
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
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
static CUmemoryPool pools[DEVICES];

/* While nobody does anything the driver and we agree. */
static void meet(CUdevice device)
{
    pthread_barrier_wait(&meeting);
    (void)charged_bytes(); /* to ask is to trim what a pool took and nobody may have */
    pthread_barrier_wait(&meeting);
    charged_is(device_oracle(device));
    pthread_barrier_wait(&meeting);
}

static void live(struct walk *walk, CUdevice device)
{
    CUcontext context;
    ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, device), CUDA_SUCCESS);
    named_pool = pools[device];
    for (int round = 0; round < LIFE; round++) {
        if (walk->count < HELD_MOST && random_below(&walk->state, 5) < 3)
            take(walk);
        else if (walk->count > 0)
            give(walk);
        if (round % 16 == 0)
            look();
    }
    give_ordered_memory(walk);
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
    for (int device = 0; device < DEVICES; device++) {
        CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
        ck_assert_int_eq(sim.cuMemPoolCreate(&pools[device], &properties), CUDA_SUCCESS);
    }
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

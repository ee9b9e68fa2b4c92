/* After every one of 50,000 random operations, of which some fail, what is charged is what the
   driver holds, of each device and of page-locked memory; and a request is granted exactly when
   it fits. The seed is printed; ACCOUNTS_SEED repeats a run. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tests/accounts_calls.h"

enum {
    OPERATIONS = 50000,
    DEVICES = 2,
    HELD_MOST = 96,
    CONTEXTS = 4,     /* beside those that watch, and the primary ones */
    CHUNK = 32 * MIB, /* what a pool grows by */
    FAILING = 12,     /* one call of so many is made to fail */
    EDGES = 12,       /* one request of so many goes to the edge of what is left */
};

/* An allocation that has not ended. */
struct held {
    enum kind kind;
    uint64_t address;
    uint64_t bytes;
    CUcontext owner;   /* NULL: a pool's */
    CUmemoryPool pool; /* of stream-ordered memory */
    CUdevice device;
};

static struct held held[HELD_MOST];
static unsigned held_count;
static CUcontext watching[DEVICES]; /* never destroyed */
static CUcontext contexts[CONTEXTS];
static CUcontext primaries[DEVICES]; /* NULL: not live */
static unsigned retained[DEVICES];
static CUmemoryPool pools[DEVICES]; /* made and ended; NULL: none now */
static uint64_t random_state;

static uint64_t roll(uint64_t limit)
{
    return random_below(&random_state, limit);
}

/* --- Failures: the next call of a symbol may be made to fail --- */

static const char *watched;
static uint64_t calls_before;
static bool is_failing;
static unsigned granted_count, refused_count, failed_count;

static void watch(const char *symbol)
{
    watched = symbol;
    calls_before = sim.oracle_calls(symbol);
    is_failing = roll(FAILING) == 0;
    if (is_failing)
        ck_assert_int_ne(sim.fail_call(symbol, 1, CUDA_ERROR_UNKNOWN), 0);
}

static bool was_asked(void)
{
    return sim.oracle_calls(watched) > calls_before;
}

/* `result` is that of a call that the driver was asked for: its failure was ours. */
static bool succeeds(CUresult result)
{
    ck_assert_msg(was_asked(), "%s was not asked", watched);
    ck_assert_msg(result == (is_failing ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS),
                  "%s answered %d", watched, result);
    failed_count += result != CUDA_SUCCESS;
    return result == CUDA_SUCCESS;
}

/* --- Allocations --- */

static CUcontext current(void)
{
    CUcontext context;
    ck_assert_int_eq(sim.cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
}

static CUdevice current_device(void)
{
    CUdevice device;
    ck_assert_int_eq(sim.cuCtxGetDevice(&device), CUDA_SUCCESS);
    return device;
}

/* What certainly fits, and what might: pools can be trimmed of what they do not hand out. */
struct room {
    uint64_t least;
    uint64_t most;
};

static struct room room_for(const struct taker *taker)
{
    CUdevice device = current_device();
    uint64_t left = CEILING - device_oracle(device);
    if (taker->kind == PINNED || taker->kind == LOCKED)
        left = PINNED_CEILING - pinned_oracle();
    struct room room = {left, left};
    if (taker->kind == DEVICE_MEMORY)
        room.most += sim.oracle_reserved_bytes(device) - ordered_bytes[device];
    if (taker->kind == ORDERED)
        room = (struct room){left / CHUNK * CHUNK, CEILING};
    return room;
}

/* Exactly what is left, or the least more. */
static void to_the_edge(const struct taker *taker, struct request *request, uint64_t room)
{
    uint64_t unit = taker->has_rows                ? UNIT_BYTES
                    : taker->kind == DEVICE_MEMORY ? 1
                                                   : PAGE;
    uint64_t units = room / unit + roll(2);
    if (units == 0)
        return;
    if (taker->has_rows)
        *request = (struct request){1 + roll(UNIT_BYTES), units, UNTOUCHED};
    else
        request->width = units * unit;
}

static CUmemoryPool pool_of(const struct taker *taker)
{
    CUmemoryPool pool = pools[current_device()];
    if (taker->take == take_ordered || taker->take == take_ordered_ptsz)
        ck_assert_int_eq(sim.cuDeviceGetMemPool(&pool, current_device()), CUDA_SUCCESS);
    return taker->kind == ORDERED ? pool : NULL;
}

static void hold(const struct taker *taker, uint64_t address, uint64_t bytes)
{
    CUdevice device = current_device();
    CUcontext owner = taker->kind == ORDERED ? NULL : current();
    if (taker->kind == ORDERED)
        ordered_bytes[device] += bytes;
    held[held_count++] =
        (struct held){taker->kind, address, bytes, owner, pool_of(taker), device};
}

/* A request of which `known` bytes are known before the driver is asked. */
static void judge(const struct room *room, uint64_t known, uint64_t bytes,
                  CUresult result)
{
    ck_assert(known > room->least || was_asked());
    ck_assert(known <= room->most || !was_asked());
    if (was_asked() && (is_failing || bytes <= room->least))
        (void)succeeds(result);
    else
        ck_assert(result == CUDA_ERROR_OUT_OF_MEMORY ||
                  (result == CUDA_SUCCESS && bytes <= room->most));
    granted_count += result == CUDA_SUCCESS;
    refused_count += result == CUDA_ERROR_OUT_OF_MEMORY;
}

static void take(void)
{
    const struct taker *taker = &takers[roll(TAKERS)];
    named_pool = pools[current_device()];
    if (held_count == HELD_MOST || (taker->kind == ORDERED && named_pool == NULL))
        return;
    struct room room = room_for(taker);
    struct request request = request_roll(taker, &random_state);
    if (roll(EDGES) == 0)
        to_the_edge(taker, &request, room.least);
    uint64_t bytes = request_bytes(taker, &request);
    watch(taker->symbol);
    CUresult result = taker->take(&request);
    judge(&room, request.width * request.height, bytes, result);
    ck_assert(result == CUDA_SUCCESS || request.address == UNTOUCHED);
    if (is_failing && !was_asked()) /* the failure is not to meet another call */
        ck_assert_int_eq(taker->take(&(struct request){0}), CUDA_ERROR_UNKNOWN);
    if (result == CUDA_SUCCESS)
        hold(taker, request.address, bytes);
}

/* --- Frees --- */

static void forget(unsigned index)
{
    if (held[index].kind == LOCKED)
        munmap((void *)(uintptr_t)held[index].address, held[index].bytes);
    if (held[index].kind == ORDERED)
        ordered_bytes[held[index].device] -= held[index].bytes;
    held[index] = held[--held_count];
}

/* By any call: those of another kind fail, and change nothing. */
static void give(void)
{
    if (held_count == 0)
        return;
    unsigned index = (unsigned)roll(held_count);
    const struct giver *giver = &givers[roll(GIVERS)];
    watch(giver->symbol);
    CUresult result = giver->give(held[index].address);
    if (!gives(giver, held[index].kind) && !is_failing)
        ck_assert_int_ne(result, CUDA_SUCCESS);
    else if (succeeds(result))
        forget(index);
}

static void give_strangers(void)
{
    const struct giver *giver = &givers[roll(GIVERS)];
    uint64_t address = held_count ? held[roll(held_count)].address + 1 : 1;
    ck_assert_int_ne(giver->give(roll(2) ? address : 0), CUDA_SUCCESS);
}

/* --- Contexts --- */

static void forget_all_of(CUcontext owner)
{
    for (unsigned index = 0; index < held_count;)
        if (held[index].owner == owner)
            forget(index);
        else
            index++;
}

static void make_or_destroy(void)
{
    CUcontext *context = &contexts[roll(CONTEXTS)];
    bool is_new = *context == NULL, is_second = roll(2);
    if (is_new) {
        watch("cuCtxCreate_v2");
        if (succeeds(sim.cuCtxCreate_v2(context, 0, (CUdevice)roll(DEVICES))))
            ck_assert_int_eq(sim.cuCtxPopCurrent_v2(NULL), CUDA_SUCCESS);
        return;
    }
    watch(is_second ? "cuCtxDestroy_v2" : "cuCtxDestroy");
    if (!succeeds(is_second ? sim.cuCtxDestroy_v2(*context) : sim.cuCtxDestroy(*context)))
        return;
    forget_all_of(*context);
    *context = NULL;
}

static void retain(void)
{
    CUdevice device = (CUdevice)roll(DEVICES);
    CUcontext primary;
    watch("cuDevicePrimaryCtxRetain");
    if (!succeeds(sim.cuDevicePrimaryCtxRetain(&primary, device)))
        return;
    primaries[device] = primary;
    retained[device]++;
}

static void end_primary(CUdevice device)
{
    forget_all_of(primaries[device]);
    primaries[device] = NULL;
}

static void release(void)
{
    CUdevice device = (CUdevice)roll(DEVICES);
    bool is_second = roll(2);
    if (retained[device] == 0)
        return;
    watch(is_second ? "cuDevicePrimaryCtxRelease_v2" : "cuDevicePrimaryCtxRelease");
    if (succeeds(is_second ? sim.cuDevicePrimaryCtxRelease_v2(device)
                           : sim.cuDevicePrimaryCtxRelease(device)) &&
        --retained[device] == 0 && primaries[device] != NULL)
        end_primary(device);
}

static void reset(void)
{
    CUdevice device = (CUdevice)roll(DEVICES);
    bool is_second = roll(2);
    if (roll(4) != 0)
        return;
    watch(is_second ? "cuDevicePrimaryCtxReset_v2" : "cuDevicePrimaryCtxReset");
    if (succeeds(is_second ? sim.cuDevicePrimaryCtxReset_v2(device)
                           : sim.cuDevicePrimaryCtxReset(device)) &&
        primaries[device] != NULL)
        end_primary(device);
}

/* --- Pools --- */

static void make_or_end_pool(void)
{
    CUdevice device = (CUdevice)roll(DEVICES);
    for (unsigned index = 0; index < held_count; index++)
        if (held[index].pool == pools[device] && pools[device] != NULL)
            return; /* what an ended pool has reserved is not told */
    if (pools[device] != NULL) {
        watch("cuMemPoolDestroy");
        if (succeeds(sim.cuMemPoolDestroy(pools[device])))
            pools[device] = NULL;
        return;
    }
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    watch("cuMemPoolCreate");
    (void)succeeds(sim.cuMemPoolCreate(&pools[device], &properties));
}

static CUmemoryPool roll_pool(CUdevice device)
{
    CUmemoryPool pool = pools[device];
    if (pool == NULL || roll(2))
        ck_assert_int_eq(sim.cuDeviceGetDefaultMemPool(&pool, device), CUDA_SUCCESS);
    return pool;
}

static void trim_or_set_pool(void)
{
    CUdevice device = (CUdevice)roll(DEVICES);
    CUmemoryPool pool = roll_pool(device);
    cuuint64_t threshold = roll(3) * CHUNK;
    switch (roll(3)) {
    case 0:
        watch("cuMemPoolTrimTo");
        (void)succeeds(sim.cuMemPoolTrimTo(pool, roll(2 * CHUNK)));
        return;
    case 1:
        ck_assert_int_eq(sim.cuMemPoolSetAttribute(
                             pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                         CUDA_SUCCESS);
        return;
    default:
        ck_assert_int_eq(sim.cuDeviceSetMemPool(device, pool), CUDA_SUCCESS);
    }
}

/* Any that lives. */
static void choose_context(void)
{
    CUcontext all[CONTEXTS + 2 * DEVICES];
    unsigned count = 0;
    for (unsigned i = 0; i < CONTEXTS; i++)
        if (contexts[i] != NULL)
            all[count++] = contexts[i];
    for (unsigned i = 0; i < DEVICES; i++) {
        all[count++] = watching[i];
        if (primaries[i] != NULL)
            all[count++] = primaries[i];
    }
    ck_assert_int_eq(sim.cuCtxSetCurrent(all[roll(count)]), CUDA_SUCCESS);
}

static void check(void)
{
    (void)sim.cuCtxSynchronize(); /* what is freed in a stream, is */
    for (unsigned device = 0; device < DEVICES; device++) {
        ck_assert_int_eq(sim.cuCtxSetCurrent(watching[device]), CUDA_SUCCESS);
        /* To ask is to trim what a pool took and nobody may have. */
        uint64_t bytes = charged_bytes();
        ck_assert_uint_eq(bytes, device_oracle((CUdevice)device));
    }
    pinned_is(pinned_oracle());
}

static void (*const operations[])(void) = {
    take,
    take,
    take,
    take,
    take,
    take,
    take,
    take,
    give,
    give,
    give,
    give,
    give,
    give,
    give,
    give,
    give_strangers,
    make_or_destroy,
    retain,
    release,
    reset,
    make_or_end_pool,
    trim_or_set_pool,
    trim_or_set_pool,
};

START_TEST(what_is_charged_is_what_the_driver_holds_after_every_operation)
{
    sim_start("1GiB", "2");
    for (int device = 0; device < DEVICES; device++)
        ck_assert_int_eq(sim.cuCtxCreate_v2(&watching[device], 0, device), CUDA_SUCCESS);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        choose_context();
        operations[roll(sizeof operations / sizeof *operations)]();
        check();
    }
    while (held_count > 0) {
        is_failing = false;
        const struct held *last = &held[held_count - 1];
        ck_assert_int_eq(last->kind == PINNED   ? give_host(last->address)
                         : last->kind == LOCKED ? give_lock(last->address)
                                                : give_device(last->address),
                         CUDA_SUCCESS);
        forget(held_count - 1);
    }
    check();
    for (CUdevice device = 0; device < DEVICES; device++)
        ck_assert_uint_eq(sim.oracle_bytes(device), 0);
    ck_assert_uint_eq(pinned_oracle(), 0);
    printf("granted %u, refused %u, failed %u\n", granted_count, refused_count,
           failed_count);
    ck_assert_uint_gt(granted_count, OPERATIONS / 20);
    ck_assert_uint_gt(refused_count, OPERATIONS / 200);
    ck_assert_uint_gt(failed_count, OPERATIONS / 200);
}
END_TEST

int main(void)
{
    const char *seed = getenv("ACCOUNTS_SEED");
    random_state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
    printf("ACCOUNTS_SEED=%" PRIu64 "\n", random_state);
    fflush(stdout);
    const TTest *const tests[] = {
        what_is_charged_is_what_the_driver_holds_after_every_operation};
    return suite_run(suite_of("preload/random", NULL, NULL, tests, 1));
}

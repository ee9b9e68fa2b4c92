/* Defends: every function through which a program gets memory that is charged gives the verdict
   of policy/ on what is held, what is asked and the unit that it is taken in, and a refusal
   changes nothing. Runs under the library, with a ceiling on each kind of memory. */
#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>

#include "policy/admit.h"
#include "policy/checked.h"
#include "tests/accounts_fixture.h"

/* What was given, by whichever function. */
union given {
    CUdeviceptr address;
    void *host;
    uint64_t bits;
};

struct entry {
    const char *name;
    uint64_t unit;       /* memory is taken in whole ones */
    uint64_t most_bytes; /* that an argument can ask for */
    uint64_t ceiling;    /* of what it takes from */
    CUresult (*take)(uint64_t bytes, union given *given);
    CUresult (*give_back)(union given given);
};

enum {
    ROW = 512,        /* of pitched memory */
    CHUNK = 32 * MIB, /* that the simulated driver's pools grow by */
};

static CUresult linear(uint64_t bytes, union given *given)
{
    return sim.cuMemAlloc_v2(&given->address, bytes);
}

static CUresult free_linear(union given given)
{
    return sim.cuMemFree_v2(given.address);
}

static uint64_t rows_of(uint64_t bytes)
{
    return bytes / ROW + (bytes % ROW != 0);
}

static CUresult pitched(uint64_t bytes, union given *given)
{
    size_t pitch;
    return sim.cuMemAllocPitch_v2(&given->address, &pitch, ROW, rows_of(bytes), 4);
}

/* Of a width that is no multiple of what it takes a row. */
static CUresult narrow(uint64_t bytes, union given *given)
{
    size_t pitch;
    return sim.cuMemAllocPitch_v2(&given->address, &pitch, 1, rows_of(bytes), 4);
}

static CUresult managed(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocManaged(&given->address, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult ordered(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocAsync(&given->address, bytes, NULL);
}

static CUresult ordered_ptsz(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocAsync_ptsz(&given->address, bytes, NULL);
}

static CUmemoryPool default_pool(void)
{
    CUmemoryPool pool = NULL;
    ck_assert_int_eq(sim.cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    return pool;
}

static CUresult from_pool(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocFromPoolAsync(&given->address, bytes, default_pool(), NULL);
}

static CUresult from_pool_ptsz(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocFromPoolAsync_ptsz(&given->address, bytes, default_pool(), NULL);
}

static CUresult free_ordered(union given given)
{
    CUresult result = sim.cuMemFreeAsync(given.address, NULL);
    if (result == CUDA_SUCCESS)
        result = sim.cuCtxSynchronize();
    return result == CUDA_SUCCESS ? sim.cuMemPoolTrimTo(default_pool(), 0) : result;
}

static CUresult pinned(uint64_t bytes, union given *given)
{
    return sim.cuMemHostAlloc(&given->host, bytes, 0);
}

static CUresult pinned_v2(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocHost_v2(&given->host, bytes);
}

static CUresult pinned_v1(uint64_t bytes, union given *given)
{
    return sim.cuMemAllocHost(&given->host, (unsigned)bytes);
}

static CUresult free_pinned(union given given)
{
    return sim.cuMemFreeHost(given.host);
}

/* The program's own memory, whole pages of it. */
static char *own_memory(void)
{
    static char *memory;
    if (!memory)
        memory = mmap(NULL, 2 * (size_t)PINNED_CEILING, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory;
}

static CUresult registered(uint64_t bytes, union given *given)
{
    CUresult result = sim.cuMemHostRegister_v2(own_memory(), bytes, 0);
    if (result == CUDA_SUCCESS)
        given->host = own_memory();
    return result;
}

static CUresult registered_v1(uint64_t bytes, union given *given)
{
    CUresult result = sim.cuMemHostRegister(own_memory(), bytes, 0);
    if (result == CUDA_SUCCESS)
        given->host = own_memory();
    return result;
}

static CUresult unregister(union given given)
{
    return sim.cuMemHostUnregister(given.host);
}

static const struct entry entries[] = {
    {"cuMemAlloc_v2", 1, UINT64_MAX, CEILING, linear, free_linear},
    {"cuMemAllocPitch_v2", ROW, UINT64_MAX, CEILING, pitched, free_linear},
    {"cuMemAllocPitch_v2 of a narrow row", ROW, UINT64_MAX, CEILING, narrow, free_linear},
    {"cuMemAllocManaged", 1, UINT64_MAX, CEILING, managed, free_linear},
    {"cuMemAllocAsync", CHUNK, UINT64_MAX, CEILING, ordered, free_ordered},
    {"cuMemAllocAsync_ptsz", CHUNK, UINT64_MAX, CEILING, ordered_ptsz, free_ordered},
    {"cuMemAllocFromPoolAsync", CHUNK, UINT64_MAX, CEILING, from_pool, free_ordered},
    {"cuMemAllocFromPoolAsync_ptsz", CHUNK, UINT64_MAX, CEILING, from_pool_ptsz,
     free_ordered},
    {"cuMemHostAlloc", PAGE, UINT64_MAX, PINNED_CEILING, pinned, free_pinned},
    {"cuMemAllocHost_v2", PAGE, UINT64_MAX, PINNED_CEILING, pinned_v2, free_pinned},
    {"cuMemAllocHost", PAGE, UINT32_MAX, PINNED_CEILING, pinned_v1, free_pinned},
    {"cuMemHostRegister_v2", PAGE, 2 * (uint64_t)PINNED_CEILING, PINNED_CEILING,
     registered, unregister},
    {"cuMemHostRegister", PAGE, 2 * (uint64_t)PINNED_CEILING, PINNED_CEILING,
     registered_v1, unregister},
};

/* What policy/ says: whether `bytes`, in whole units, fit beside what is held. */
static enum policy_verdict_kind verdict(uint64_t held_bytes, uint64_t bytes,
                                        uint64_t unit, uint64_t ceiling)
{
    uint64_t taken;
    return policy_checked_align_up(bytes, unit, UINT64_MAX, &taken)
               ? policy_admit_bytes(held_bytes, taken, ceiling).kind
               : POLICY_SIZE_OVERFLOW;
}

/* What cannot be represented the driver may refuse in its own words. */
static bool is_answer(CUresult result, enum policy_verdict_kind kind)
{
    return result ==
               (kind == POLICY_ADMITTED ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY) ||
           (result == CUDA_ERROR_INVALID_VALUE && kind == POLICY_SIZE_OVERFLOW);
}

/* Something of the same account that is held meanwhile. */
static union given hold(const struct entry *entry, uint64_t bytes)
{
    union given held = {.bits = 0};
    if (bytes > 0)
        ck_assert_int_eq(entry->ceiling == PINNED_CEILING && entry->unit == PAGE
                             ? pinned(bytes, &held)
                             : linear(bytes, &held),
                         CUDA_SUCCESS);
    return held;
}

static void release(const struct entry *entry, union given held, uint64_t bytes)
{
    if (bytes > 0)
        ck_assert_int_eq(entry->unit == PAGE ? free_pinned(held) : free_linear(held),
                         CUDA_SUCCESS);
}

static bool asks(const struct entry *entry, uint64_t held_bytes, uint64_t bytes)
{
    const union given untouched = {.bits = UNTOUCHED};
    union given given = untouched;
    enum policy_verdict_kind kind =
        verdict(held_bytes, bytes, entry->unit, entry->ceiling);
    CUresult result = entry->take(bytes, &given);
    ck_assert_msg(is_answer(result, kind), "%s: %ju beside %ju in %jus of %ju: %d",
                  entry->name, (uintmax_t)bytes, (uintmax_t)held_bytes,
                  (uintmax_t)entry->unit, (uintmax_t)entry->ceiling, (int)result);
    if (result == CUDA_SUCCESS)
        ck_assert_int_eq(entry->give_back(given), CUDA_SUCCESS);
    else
        ck_assert_uint_eq(given.bits, untouched.bits);
    /* Nor does a pool of the driver's keep what was refused. */
    if (entry->unit == CHUNK)
        ck_assert_uint_le(sim.oracle_reserved_bytes(0) + held_bytes, entry->ceiling);
    return result == CUDA_SUCCESS;
}

/* Sizes around everything that could matter beside `held_bytes`. */
static unsigned ask_around(const struct entry *entry, uint64_t held_bytes)
{
    const uint64_t marks[] = {entry->unit,
                              entry->ceiling - held_bytes,
                              entry->ceiling - held_bytes - entry->unit,
                              entry->ceiling,
                              UINT32_MAX,
                              UINT64_C(1) << 63,
                              UINT64_MAX - entry->ceiling,
                              UINT64_MAX};
    unsigned admitted = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (int off = -1; off <= 1; off++) {
            uint64_t bytes = marks[i] + (uint64_t)(int64_t)off;
            /* 0 is the driver's to refuse, and above 0 nothing wraps. */
            if (bytes > 0 && bytes <= entry->most_bytes)
                admitted += asks(entry, held_bytes, bytes);
        }
    return admitted;
}

START_TEST(every_entry_gives_the_verdict_of_the_policy)
{
    static const uint64_t held[] = {0,      PAGE, CHUNK, CHUNK + PAGE, CEILING - PAGE,
                                    CEILING};
    accounts_start();
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        unsigned admitted = 0;
        for (size_t j = 0; j < sizeof held / sizeof *held; j++) {
            union given holding = hold(&entries[i], held[j]);
            admitted += ask_around(&entries[i], held[j]);
            release(&entries[i], holding, held[j]);
        }
        ck_assert_msg(admitted > 0, "%s never gave anything", entries[i].name);
        charged_is(0);
    }
    pinned_is(0);
}
END_TEST

/* A pool that keeps what it has: so many pieces of it are idle. */
static void leave_idle(unsigned pieces)
{
    cuuint64_t threshold = UINT64_MAX;
    union given given[2] = {{.bits = 0}};
    ck_assert_int_eq(sim.cuMemPoolSetAttribute(
                         default_pool(), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                     CUDA_SUCCESS);
    for (unsigned i = 0; i < pieces; i++)
        ck_assert_int_eq(ordered(CHUNK, &given[i]), CUDA_SUCCESS);
    for (unsigned i = 0; i < pieces; i++)
        ck_assert_int_eq(sim.cuMemFreeAsync(given[i].address, NULL), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuCtxSynchronize(), CUDA_SUCCESS);
    ck_assert_uint_eq(charged_bytes(), pieces * (uint64_t)CHUNK);
}

START_TEST(idle_memory_of_a_pool_makes_room_whatever_pieces_it_is_in)
{
    static const struct {
        unsigned pieces, pieces_left;
        uint64_t bytes;
    } cases[] = {
        {1, 0, CEILING - CHUNK + 1}, {1, 0, CEILING}, {2, 1, 1}, {2, 0, CHUNK + 1}};
    accounts_start();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        union given given = {.bits = 0};
        leave_idle(cases[i].pieces);
        ck_assert_int_eq(linear(cases[i].bytes, &given), CUDA_SUCCESS);
        ck_assert_uint_eq(charged_bytes(),
                          cases[i].bytes + cases[i].pieces_left * (uint64_t)CHUNK);
        ck_assert_int_eq(free_linear(given), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuMemPoolTrimTo(default_pool(), 0), CUDA_SUCCESS);
    }
}
END_TEST

/* The heap, in whole granules. What the process holds beside the test is found out, once. */
enum { GRANULE = 64 << 10 };

/* Malloc for a staging size; NULL with ENOMEM, or a bug. */
static void *checked(void *block)
{
    ck_assert(block != NULL || errno == ENOMEM);
    return block;
}

static void *by_malloc(uint64_t bytes)
{
    return checked(malloc(bytes));
}

static void *by_calloc(uint64_t bytes)
{
    return checked(calloc(1, bytes));
}

static void *by_realloc(uint64_t bytes)
{
    return checked(realloc(NULL, bytes));
}

static void *by_memalign(uint64_t bytes)
{
    return checked(memalign(4096, bytes));
}

static void *by_posix_memalign(uint64_t bytes)
{
    void *block = NULL;
    int error = posix_memalign(&block, 4096, bytes);
    ck_assert(error == 0 || (error == ENOMEM && block == NULL));
    return block;
}

static void *(*const ways[])(uint64_t bytes) = {by_malloc, by_calloc, by_realloc,
                                                by_memalign, by_posix_memalign};

/* How many granules the ceiling leaves, below those that a packed block can have. */
static uint64_t granules_left(void)
{
    uint64_t granules = 0;
    for (uint64_t step = 32 * MIB / GRANULE; step > 0; step /= 2) {
        void *block = malloc((granules + step) * GRANULE);
        if (block)
            granules += step;
        free(block);
    }
    return granules;
}

START_TEST(the_heap_gives_the_verdict_of_the_policy)
{
    uint64_t left = granules_left();
    ck_assert_uint_gt(left, 100);
    ck_assert_uint_lt(left, 24 * MIB / GRANULE);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (uint64_t held = 0; held <= left; held += held < left - 3 ? left - 3 : 1) {
            void *holding = held > 0 ? malloc(held * GRANULE) : NULL;
            ck_assert(held == 0 || holding != NULL);
            for (uint64_t bytes = GRANULE; bytes <= (left + 2) * GRANULE;
                 bytes +=
                 bytes < (left - 4) * GRANULE ? (left - 5) * GRANULE : GRANULE / 2) {
                void *block = ways[way](bytes);
                ck_assert_msg((block != NULL) ==
                                  (verdict(held * GRANULE, bytes, GRANULE,
                                           left * GRANULE) == POLICY_ADMITTED),
                              "way %zu: %ju beside %ju granules of %ju", way,
                              (uintmax_t)bytes, (uintmax_t)held, (uintmax_t)left);
                free(block);
            }
            free(holding);
        }
    ck_assert_uint_eq(granules_left(), left);
}
END_TEST

/* A block that has grown once lies where it can go on in place, in whole MiB. */
START_TEST(growth_gives_the_verdict_of_the_policy)
{
    uint64_t left = granules_left() * GRANULE;
    for (uint64_t bytes = left - 3 * MIB; bytes <= left + MIB; bytes += MIB / 4) {
        char *block = realloc(malloc(MIB), 2 * MIB);
        ck_assert_ptr_nonnull(block);
        block[0] = block[2 * MIB - 1] = 7;
        char *grown = checked(realloc(block, bytes));
        ck_assert_msg((grown != NULL) ==
                          (verdict(0, bytes, MIB, left) == POLICY_ADMITTED),
                      "%ju of %ju", (uintmax_t)bytes, (uintmax_t)left);
        block = grown ? grown : block;
        ck_assert(block[0] == 7 && block[2 * MIB - 1] == 7);
        free(block);
    }
}
END_TEST

SUITE_MAIN("preload/verdicts", every_entry_gives_the_verdict_of_the_policy,
           idle_memory_of_a_pool_makes_room_whatever_pieces_it_is_in,
           the_heap_gives_the_verdict_of_the_policy,
           growth_gives_the_verdict_of_the_policy)

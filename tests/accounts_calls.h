/* Every call that takes or gives back memory of a device or locks pages, and requests at
   random. */
#ifndef TESTS_ACCOUNTS_CALLS_H
#define TESTS_ACCOUNTS_CALLS_H

#include <sys/mman.h>

#include "tests/accounts_fixture.h"

enum { UNIT_BYTES = 512 /* of a row */ };

static inline uint64_t pinned_oracle(void)
{
    return sim.oracle_pinned_bytes() + sim.oracle_registered_bytes();
}

enum kind { DEVICE_MEMORY, ORDERED, PINNED, LOCKED };

struct request {
    uint64_t width, height; /* bytes; of what is no rows the height is 1 */
    uint64_t address;
};

struct taker {
    const char *symbol;
    enum kind kind;
    bool has_rows;
    CUresult (*take)(struct request *request);
};

static inline CUresult take_linear(struct request *request)
{
    return sim.cuMemAlloc_v2(&request->address, request->width);
}

static inline CUresult take_rows(struct request *request)
{
    size_t pitch;
    return sim.cuMemAllocPitch_v2(&request->address, &pitch, request->width,
                                  request->height, 8);
}

static inline CUresult take_managed(struct request *request)
{
    return sim.cuMemAllocManaged(&request->address, request->width, CU_MEM_ATTACH_HOST);
}

/* The pool that the calls which name one name, of the current context's device. */
static _Thread_local CUmemoryPool named_pool;

static inline CUresult take_ordered(struct request *request)
{
    return sim.cuMemAllocAsync(&request->address, request->width, NULL);
}

static inline CUresult take_ordered_ptsz(struct request *request)
{
    return sim.cuMemAllocAsync_ptsz(&request->address, request->width, NULL);
}

static inline CUresult take_named(struct request *request)
{
    return sim.cuMemAllocFromPoolAsync(&request->address, request->width, named_pool,
                                       NULL);
}

static inline CUresult take_named_ptsz(struct request *request)
{
    return sim.cuMemAllocFromPoolAsync_ptsz(&request->address, request->width, named_pool,
                                            NULL);
}

static inline CUresult take_host(struct request *request)
{
    return sim.cuMemAllocHost((void **)&request->address, (unsigned)request->width);
}

static inline CUresult take_host_v2(struct request *request)
{
    return sim.cuMemAllocHost_v2((void **)&request->address, request->width);
}

static inline CUresult take_host_flags(struct request *request)
{
    return sim.cuMemHostAlloc((void **)&request->address, request->width, 0);
}

static inline CUresult lock_pages(CUresult (*lock)(void *, size_t, unsigned),
                                  struct request *request)
{
    void *memory = NULL;
    if (request->width > 0)
        memory = mmap(NULL, request->width, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CUresult result = lock(memory, request->width, 0);
    if (result == CUDA_SUCCESS)
        request->address = (uintptr_t)memory;
    else if (memory)
        munmap(memory, request->width);
    return result;
}

static inline CUresult take_lock(struct request *request)
{
    return lock_pages(sim.cuMemHostRegister, request);
}

static inline CUresult take_lock_v2(struct request *request)
{
    return lock_pages(sim.cuMemHostRegister_v2, request);
}

static const struct taker takers[] = {
    {"cuMemAlloc_v2", DEVICE_MEMORY, false, take_linear},
    {"cuMemAllocPitch_v2", DEVICE_MEMORY, true, take_rows},
    {"cuMemAllocManaged", DEVICE_MEMORY, false, take_managed},
    {"cuMemAllocAsync", ORDERED, false, take_ordered},
    {"cuMemAllocAsync_ptsz", ORDERED, false, take_ordered_ptsz},
    {"cuMemAllocFromPoolAsync", ORDERED, false, take_named},
    {"cuMemAllocFromPoolAsync_ptsz", ORDERED, false, take_named_ptsz},
    {"cuMemAllocHost", PINNED, false, take_host},
    {"cuMemAllocHost_v2", PINNED, false, take_host_v2},
    {"cuMemHostAlloc", PINNED, false, take_host_flags},
    {"cuMemHostRegister", LOCKED, false, take_lock},
    {"cuMemHostRegister_v2", LOCKED, false, take_lock_v2},
};

enum { TAKERS = sizeof takers / sizeof *takers };

/* A number below `limit`. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % limit;
}

/* Small ones often, large ones at times. Page-locked memory in whole pages, since the driver
   counts bytes and the library pages. */
static inline struct request request_roll(const struct taker *taker, uint64_t *state)
{
    uint64_t bytes =
        1 + random_below(state, UINT64_C(1) << (6 + random_below(state, 18)));
    struct request request = {.width = bytes, .height = 1, .address = UNTOUCHED};
    if (taker->has_rows)
        request = (struct request){1 + bytes % 3000,
                                   1 + random_below(state, 1 << random_below(state, 15)),
                                   UNTOUCHED};
    if (taker->kind == PINNED || taker->kind == LOCKED)
        request.width = (bytes + PAGE - 1) / PAGE * PAGE;
    return request;
}

static inline uint64_t request_bytes(const struct taker *taker,
                                     const struct request *request)
{
    return taker->has_rows ? (request->width + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES *
                                 request->height
                           : request->width;
}

struct giver {
    const char *symbol;
    enum kind kind;
    CUresult (*give)(uint64_t address);
};

static inline CUresult give_device(uint64_t address)
{
    return sim.cuMemFree_v2(address);
}

static inline CUresult give_ordered(uint64_t address)
{
    return sim.cuMemFreeAsync(address, NULL);
}

static inline CUresult give_ordered_ptsz(uint64_t address)
{
    return sim.cuMemFreeAsync_ptsz(address, CU_STREAM_PER_THREAD);
}

static inline CUresult give_host(uint64_t address)
{
    return sim.cuMemFreeHost((void *)(uintptr_t)address);
}

static inline CUresult give_lock(uint64_t address)
{
    return sim.cuMemHostUnregister((void *)(uintptr_t)address);
}

static const struct giver givers[] = {
    {"cuMemFree_v2", DEVICE_MEMORY, give_device},
    {"cuMemFreeAsync", DEVICE_MEMORY, give_ordered},
    {"cuMemFreeAsync_ptsz", DEVICE_MEMORY, give_ordered_ptsz},
    {"cuMemFreeHost", PINNED, give_host},
    {"cuMemHostUnregister", LOCKED, give_lock},
};

/* Device memory may go by any of its calls, however it came. */
static inline bool gives(const struct giver *giver, enum kind kind)
{
    return giver->kind == (kind == ORDERED ? DEVICE_MEMORY : kind);
}

enum { GIVERS = sizeof givers / sizeof *givers };

#endif

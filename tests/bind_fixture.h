/* Host and device memory for tests of explicit binds: it counts what it is asked for, can be
   told to refuse, and knows what is live, so that nothing is given back twice or never. What
   the device gives is aligned to 16 and to no more, and full of garbage. */
#ifndef TESTS_BIND_FIXTURE_H
#define TESTS_BIND_FIXTURE_H

#include <stdint.h>
#include <string.h>

#include "pool/bind.h"
#include "tests/suite.h"

enum {
    FAKE_LIVE_MOST = 4096,
    FAKE_SERVED_MOST = 1 << 30, /* of one request */
    FAKE_ALIGN = 16,
    FAKE_MISALIGN = 1 << 12, /* what addresses are not a multiple of */
    FAKE_GARBAGE = 0xa5,
    FAKE_ERROR = 719, /* what a function of the device's answers when it refuses */
};

struct fake_piece {
    uint64_t address;
    size_t bytes;
    void *block; /* that it lies in */
};

struct fake_memory {
    pthread_mutex_t lock;
    unsigned allocs, releases, clears; /* calls, refused ones included */
    unsigned refused_allocs;           /* how many of the next ones are refused */
    unsigned refused_releases;
    unsigned refused_clears;
    size_t largest_served; /* a larger request is refused; 0: no limit */
    size_t last_bytes;     /* of the last allocation asked for */
    uint64_t released[64]; /* addresses, in the order in which they came */
    bool has_garbage;
    struct fake_piece live[FAKE_LIVE_MOST];
    size_t live_count;
};

struct fake_copies {
    unsigned uploads, downloads;
    unsigned refused_uploads, refused_downloads;
    size_t uploaded_bytes;
};

static struct fake_memory fake_host, fake_device;
static struct fake_copies fake_copies;

static inline bool fake_refuses(unsigned *left)
{
    if (*left == 0)
        return false;
    --*left;
    return true;
}

static inline int fake_allocate_locked(struct fake_memory *memory, size_t bytes,
                                       uint64_t *address)
{
    memory->allocs++;
    memory->last_bytes = bytes;
    if (fake_refuses(&memory->refused_allocs) ||
        bytes > (memory->largest_served ? memory->largest_served : FAKE_SERVED_MOST))
        return FAKE_ERROR;
    ck_assert_uint_lt(memory->live_count, FAKE_LIVE_MOST);
    char *block = malloc(bytes + 2 * FAKE_MISALIGN);
    ck_assert_ptr_nonnull(block);
    uintptr_t at = ((uintptr_t)block + FAKE_MISALIGN) & ~(uintptr_t)(FAKE_MISALIGN - 1);
    at += FAKE_ALIGN;
    if (memory->has_garbage)
        memset((void *)at, FAKE_GARBAGE, bytes);
    memory->live[memory->live_count++] = (struct fake_piece){at, bytes, block};
    *address = at;
    return 0;
}

static inline int fake_release_locked(struct fake_memory *memory, uint64_t address)
{
    memory->released[memory->releases++ % 64] = address;
    if (fake_refuses(&memory->refused_releases))
        return FAKE_ERROR;
    for (size_t i = 0; i < memory->live_count; i++) {
        if (memory->live[i].address != address)
            continue;
        free(memory->live[i].block);
        memory->live[i] = memory->live[--memory->live_count];
        return 0;
    }
    ck_abort_msg("released, but not live");
    return FAKE_ERROR;
}

static inline int fake_allocate(void *context, size_t bytes, uint64_t *address)
{
    struct fake_memory *memory = context;
    pthread_mutex_lock(&memory->lock);
    int error = fake_allocate_locked(memory, bytes, address);
    pthread_mutex_unlock(&memory->lock);
    return error;
}

static inline int fake_release(void *context, uint64_t address)
{
    struct fake_memory *memory = context;
    pthread_mutex_lock(&memory->lock);
    int error = fake_release_locked(memory, address);
    pthread_mutex_unlock(&memory->lock);
    return error;
}

/* The live piece that holds [address, address + bytes). */
static inline const struct fake_piece *fake_find(const struct fake_memory *memory,
                                                 uint64_t address, size_t bytes)
{
    for (size_t i = 0; i < memory->live_count; i++) {
        const struct fake_piece *piece = &memory->live[i];
        if (address >= piece->address && bytes <= piece->bytes &&
            address - piece->address <= piece->bytes - bytes)
            return piece;
    }
    ck_abort_msg("%zu bytes that are not live device memory", bytes);
    return NULL;
}

static inline void *fake_at(const struct fake_memory *memory, uint64_t address,
                            size_t bytes)
{
    fake_find(memory, address, bytes);
    return (void *)(uintptr_t)address;
}

static inline int fake_clear(void *context, uint64_t address, size_t bytes)
{
    struct fake_memory *memory = context;
    memory->clears++;
    if (fake_refuses(&memory->refused_clears))
        return FAKE_ERROR;
    memset(fake_at(memory, address, bytes), 0, bytes);
    return 0;
}

static inline int fake_upload(void *context, uint64_t to, const void *from, size_t bytes)
{
    fake_copies.uploads++;
    if (fake_refuses(&fake_copies.refused_uploads))
        return FAKE_ERROR;
    memcpy(fake_at(context, to, bytes), from, bytes);
    fake_copies.uploaded_bytes += bytes;
    return 0;
}

static inline int fake_download(void *context, void *to, uint64_t from, size_t bytes)
{
    fake_copies.downloads++;
    if (fake_refuses(&fake_copies.refused_downloads))
        return FAKE_ERROR;
    memcpy(to, fake_at(context, from, bytes), bytes);
    return 0;
}

static const struct pool_bind_source fake_host_source = {
    .context = &fake_host,
    .allocate = fake_allocate,
    .release = fake_release,
    .refusal = TIDEMARK_NO_HOST_MEMORY,
};

static inline void fake_reset(void)
{
    memset(&fake_host, 0, sizeof(fake_host));
    memset(&fake_device, 0, sizeof(fake_device));
    memset(&fake_copies, 0, sizeof(fake_copies));
    pthread_mutex_init(&fake_host.lock, NULL);
    pthread_mutex_init(&fake_device.lock, NULL);
    fake_device.has_garbage = true;
}

static inline struct tidemark_settings fake_settings(unsigned slot_count)
{
    return (struct tidemark_settings){
        .slot_count = slot_count,
        .device = {.context = &fake_device,
                   .allocate = fake_allocate,
                   .release = fake_release,
                   .clear = fake_clear,
                   .upload = fake_upload,
                   .download = fake_download},
    };
}

/* What most tests work on: two slots. */
static struct tidemark_set *set;

static inline void open_set(const struct tidemark_settings *settings)
{
    ck_assert_int_eq(pool_set_open(settings, &fake_host_source, NULL, &set),
                     TIDEMARK_DONE);
}

static inline void setup(void)
{
    fake_reset();
    struct tidemark_settings settings = fake_settings(2);
    open_set(&settings);
}

/* Every test ends with everything given back. */
static inline void teardown(void)
{
    if (set)
        ck_assert_int_eq(tidemark_set_close(set), TIDEMARK_DONE);
    ck_assert_uint_eq(fake_host.live_count, 0);
    ck_assert_uint_eq(fake_device.live_count, 0);
}

static inline struct tidemark_bind *opened(unsigned slot)
{
    struct tidemark_bind *bind = NULL;
    ck_assert_int_eq(tidemark_bind_open(set, slot, &bind), TIDEMARK_DONE);
    ck_assert_ptr_nonnull(bind);
    return bind;
}

static inline void end(struct tidemark_bind *bind)
{
    ck_assert_int_eq(tidemark_bind_end(bind, 0), TIDEMARK_DONE);
}

static inline struct tidemark_counts counts_of(const struct tidemark_bind *bind)
{
    struct tidemark_counts counts;
    tidemark_bind_counts(bind, &counts);
    return counts;
}

/* An object whose image is filled from its key. */
static inline struct tidemark_object record(struct tidemark_bind *bind, uint64_t key,
                                            size_t image_bytes)
{
    struct tidemark_object object;
    ck_assert_int_eq(tidemark_bind_claim(bind, key, image_bytes, &object), TIDEMARK_DONE);
    memset(object.image, (int)(key & 0x7f), image_bytes);
    return object;
}

static inline struct tidemark_upload uploaded(struct tidemark_bind *bind)
{
    struct tidemark_upload upload;
    ck_assert_int_eq(tidemark_bind_upload(bind, &upload), TIDEMARK_DONE);
    return upload;
}

/* The object as the device has it is the one that was recorded. */
static inline void expect_shipped(const struct tidemark_bind *bind,
                                  const struct tidemark_object *object, uint64_t key)
{
    uint64_t address;
    ck_assert_int_eq(tidemark_bind_address(bind, object, &address), TIDEMARK_DONE);
    const struct tidemark_header *header = (const void *)(uintptr_t)address;
    fake_at(&fake_device, address, sizeof(*header) + object->image_bytes);
    ck_assert(tidemark_header_is_object(header, counts_of(bind).bind));
    ck_assert_uint_eq(header->key, key);
    ck_assert_uint_eq(header->image_bytes, object->image_bytes);
    const unsigned char *image = (const unsigned char *)(header + 1);
    for (size_t i = 0; i < object->image_bytes; i++)
        ck_assert_uint_eq(image[i], key & 0x7f);
}

/* Records and ships `count` objects of 100 bytes and more, looks at them, and ends the bind. */
static inline struct tidemark_counts run_bind(unsigned slot, unsigned count)
{
    struct tidemark_object objects[64];
    struct tidemark_bind *bind = opened(slot);
    for (unsigned i = 0; i < count; i++)
        objects[i] = record(bind, i + 1, 100 + i);
    struct tidemark_upload upload = uploaded(bind);
    ck_assert_uint_eq(upload.bind, counts_of(bind).bind);
    for (unsigned i = 0; i < count; i++)
        expect_shipped(bind, &objects[i], i + 1);
    end(bind);
    return counts_of(bind);
}

#endif

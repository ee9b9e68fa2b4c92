/* Every hook, preloaded, before a driver that does what it is told: arguments and results are
   handed on as they came, and nothing is written that the driver did not write. */
#include "tests/echo_fixture.h"

#include <sys/mman.h>

enum { ROOM_BYTES = 4096 };

/* How many parameters a row has; of (void) none. */
#define COUNT_OF(a, b, c, d, e, f, count, ...) count
#define COUNT(...)                             COUNT_OF(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)

struct hook {
    const char *symbol;
    const char *parameters;
    unsigned parameter_count;
};

static const struct hook hooks[] = {
#define HOOK(symbol, base, since, flags, parameters)                                     \
    {#symbol, #parameters, COUNT parameters},
#include "shim/driver_hooks.def"
};

enum { HOOK_COUNT = sizeof hooks / sizeof *hooks };

/* Where each argument may point, below 4 GiB so that parameters of 32 bits hold it, too. */
static unsigned char *room(void)
{
    unsigned char *rooms = mmap(NULL, ECHO_ARGUMENTS * ROOM_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    ck_assert_ptr_ne(rooms, MAP_FAILED);
    return rooms;
}

static CUresult call(six_words *function, const unsigned char *rooms)
{
    uintptr_t first = (uintptr_t)rooms;
    return function(first, first + ROOM_BYTES, first + 2 * ROOM_BYTES,
                    first + 3 * ROOM_BYTES, first + 4 * ROOM_BYTES,
                    first + 5 * ROOM_BYTES);
}

static void check_arguments(const struct hook *hook, const unsigned char *rooms)
{
    const struct echo_row *row = row_of(hook->symbol);
    if (strcmp(hook->parameters, "(void)") == 0)
        return;
    for (unsigned i = 0; i < hook->parameter_count; i++)
        ck_assert_msg((unsigned)row->arguments[i] ==
                          (unsigned)((uintptr_t)rooms + i * ROOM_BYTES),
                      "%s: argument %u of %u", hook->symbol, i, hook->parameter_count);
}

START_TEST(what_the_driver_refuses_is_refused_with_its_words_and_nothing_is_written)
{
    static const unsigned char zeros[ECHO_ARGUMENTS * ROOM_BYTES];
    for (size_t i = 0; i < HOOK_COUNT; i++) {
        unsigned char *rooms = room();
        struct echo_row *row = row_of(hooks[i].symbol);
        six_words *function = hook_of(hooks[i].symbol);
        row->result = CUDA_ERROR_NOT_PERMITTED;
        ck_assert_msg(call(function, rooms) == CUDA_ERROR_NOT_PERMITTED, "%s",
                      hooks[i].symbol);
        ck_assert_msg(row->call_count == 1, "%s: %u calls", hooks[i].symbol,
                      row->call_count);
        ck_assert_msg(memcmp(rooms, zeros, sizeof zeros) == 0, "%s wrote",
                      hooks[i].symbol);
        check_arguments(&hooks[i], rooms);
        munmap(rooms, sizeof zeros);
    }
}
END_TEST

START_TEST(the_first_forms_are_charged_like_the_others)
{
    unsigned address[2] = {0, 7}; /* 32 bits, and what stands behind them */
    answer_device();
    answer("cuMemAlloc", 0, sizeof(CUdeviceptr_v1), 0x1000);
    size_t before = free_bytes();
    ck_assert_int_eq(hook_of("cuMemAlloc")((uintptr_t)address, 300, 0, 0, 0, 0),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(address[0], 0x1000);
    ck_assert_uint_eq(address[1], 7);
    ck_assert_uint_eq(free_bytes(), before - 300);

    address[0] = 5;
    ck_assert_int_eq(hook_of("cuMemAlloc")((uintptr_t)address, 900, 0, 0, 0, 0),
                     CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_uint_eq(address[0], 5);
    ck_assert_uint_eq(row_of("cuMemAlloc")->call_count, 1);

    ck_assert_int_eq(hook_of("cuMemFree")(0x1000, 0, 0, 0, 0, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), before);
}
END_TEST

START_TEST(what_a_first_form_took_goes_by_any_form_and_by_the_end_of_its_context)
{
    unsigned address;
    answer_device();
    answer("cuMemAlloc", 0, sizeof(CUdeviceptr_v1), 0x1000);
    size_t before = free_bytes();
    six_words *allocate = hook_of("cuMemAlloc");
    ck_assert_int_eq(allocate((uintptr_t)&address, 300, 0, 0, 0, 0), CUDA_SUCCESS);
    ck_assert_int_eq(hook_of("cuMemFree_v2")(0x1000, 0, 0, 0, 0, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(free_bytes(), before);
    static const char *const ends[] = {"cuCtxDestroy", "cuCtxDestroy_v2"};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(allocate((uintptr_t)&address, 300, 0, 0, 0, 0), CUDA_SUCCESS);
        ck_assert_uint_eq(free_bytes(), before - 300);
        ck_assert_int_eq(hook_of(ends[i])(0xc0, 0, 0, 0, 0, 0), CUDA_SUCCESS);
        ck_assert_uint_eq(free_bytes(), before);
    }
}
END_TEST

START_TEST(a_first_form_tells_the_ceiling_in_32_bits_and_never_more_than_the_driver)
{
    unsigned told[2] = {0, 7};
    answer_device();
    answer("cuDeviceTotalMem", 0, sizeof(unsigned), 1000);
    ck_assert_int_eq(hook_of("cuDeviceTotalMem")((uintptr_t)told, 0, 0, 0, 0, 0),
                     CUDA_SUCCESS);
    ck_assert_uint_eq(told[0], 850);
    ck_assert_uint_eq(told[1], 7);
    answer("cuDeviceTotalMem", 0, sizeof(unsigned), 100);
    hook_of("cuDeviceTotalMem")((uintptr_t)told, 0, 0, 0, 0, 0);
    ck_assert_uint_eq(told[0], 100);

    struct echo_row *info = row_of("cuMemGetInfo");
    info->writes[0] = (struct echo_write){0, sizeof(unsigned), 1000};
    info->writes[1] = (struct echo_write){1, sizeof(unsigned), 1000};
    unsigned total[2] = {0, 7};
    ck_assert_int_eq(
        hook_of("cuMemGetInfo")((uintptr_t)told, (uintptr_t)total, 0, 0, 0, 0),
        CUDA_SUCCESS);
    ck_assert_uint_eq(told[0], 850);
    ck_assert_uint_eq(total[0], 850);
    ck_assert_uint_eq(told[1], 7);
    ck_assert_uint_eq(total[1], 7);
}
END_TEST

SUITE_MAIN_WITH("preload/hooks", setup, NULL,
                what_the_driver_refuses_is_refused_with_its_words_and_nothing_is_written,
                the_first_forms_are_charged_like_the_others,
                what_a_first_form_took_goes_by_any_form_and_by_the_end_of_its_context,
                a_first_form_tells_the_ceiling_in_32_bits_and_never_more_than_the_driver)

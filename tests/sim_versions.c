/* A driver of an older version has not the names that came later, by any way to them, and
   works without them. */
#include "tests/sim_driver.h"

struct row {
    const char *symbol;
    const char *base;
    int since;
    enum { COMMON, PER_THREAD } stream;
};

static const struct row rows[] = {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    {#symbol, #base, since, stream},
#define REFUSED(symbol, base, since, stream) {#symbol, #base, since, stream},
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const struct {
    const char *path;
    const char *version;
    int number;
} drivers[] = {
    {SIMCUDA_11_4_PATH, "11040", 11040},
    {SIMCUDA_12_2_PATH, "12020", 12020},
    {SIMCUDA_PATH, "13000", 13000},
};

enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers };

/* Whether cuGetProcAddress of the loaded driver has the row's name in the row's form. */
static bool has(const struct row *row, int version)
{
    void *found = NULL;
    CUresult result = sim.cuGetProcAddress(row->base, &found, row->since,
                                           row->stream == PER_THREAD ? 2 : 0);
    ck_assert_int_eq(result, row->since > version ? CUDA_ERROR_INVALID_VALUE
                             : found != NULL      ? CUDA_SUCCESS
                                                  : CUDA_ERROR_NOT_FOUND);
    return found != NULL;
}

/* What the newest version that this driver knows gives for the name is not newer. */
static void check_newest(const struct row *row, int version)
{
    void *found = NULL;
    if (sim.cuGetProcAddress(row->base, &found, version, 2) != CUDA_SUCCESS)
        return;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (found == dlsym(sim.library, rows[i].symbol))
            return;
    ck_abort_msg("%s at %d is not exported", row->base, version);
}

START_TEST(each_version_has_the_names_of_its_time_and_no_others)
{
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        int count = 0;
        sim_open(drivers[i].path);
        sim_fetch("cuGetProcAddress", &sim.cuGetProcAddress);
        for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
            bool expected = row->since <= drivers[i].number;
            ck_assert_msg((dlsym(sim.library, row->symbol) != NULL) == expected, "%s: %s",
                          drivers[i].version, row->symbol);
            ck_assert_msg(has(row, drivers[i].number) == expected, "%s: %s",
                          drivers[i].version, row->symbol);
            check_newest(row, drivers[i].number);
            count += expected;
        }
        ck_assert_int_gt(count, 500);
    }
}
END_TEST

START_TEST(a_name_that_came_later_is_unknown_and_not_merely_newer)
{
    void *found = &found;
    CUdriverProcAddressQueryResult status = -1;
    sim_open(SIMCUDA_12_2_PATH);
    sim_fetch("cuGetProcAddress_v2", &sim.cuGetProcAddress_v2);
    ck_assert_int_eq(
        sim.cuGetProcAddress_v2("cuCtxRecordEvent", &found, 12020, 0, &status),
        CUDA_SUCCESS);
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    ck_assert_ptr_null(found);
    ck_assert_int_eq(sim.cuGetProcAddress_v2("cuCtxGetId", &found, 11040, 0, &status),
                     CUDA_SUCCESS);
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}
END_TEST

START_TEST(each_version_says_so_and_gives_memory)
{
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        int version;
        CUcontext context;
        sim_open(drivers[i].path);
        sim_fetch("cuInit", &sim.cuInit);
        sim_fetch("cuDriverGetVersion", &sim.cuDriverGetVersion);
        sim_fetch("cuCtxCreate_v2", &sim.cuCtxCreate_v2);
        sim_fetch("cuMemAlloc_v2", &sim.cuMemAlloc_v2);
        setenv("SIMCUDA_VERSION", drivers[i].version, 1);
        ck_assert_int_eq(sim.cuInit(0), CUDA_SUCCESS);
        ck_assert_int_eq(sim.cuDriverGetVersion(&version), CUDA_SUCCESS);
        ck_assert_int_eq(version, drivers[i].number);
        ck_assert_int_eq(sim.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        sim_allocate(1000);
    }
}
END_TEST

START_TEST(a_driver_of_another_version_than_asked_for_does_not_start)
{
    for (size_t i = 0; i < DRIVER_COUNT; i++) {
        sim_open(drivers[i].path);
        sim_fetch("cuInit", &sim.cuInit);
        setenv("SIMCUDA_VERSION", drivers[(i + 1) % DRIVER_COUNT].version, 1);
        ck_assert_int_eq(sim.cuInit(0), CUDA_ERROR_INVALID_VALUE);
    }
}
END_TEST

SUITE_MAIN("simcuda/versions", each_version_has_the_names_of_its_time_and_no_others,
           a_name_that_came_later_is_unknown_and_not_merely_newer,
           each_version_says_so_and_gives_memory,
           a_driver_of_another_version_than_asked_for_does_not_start)

/* Every way to a function leads to the same one: dlsym by symbol, and both forms of
   cuGetProcAddress by name, version and stream kind. What is not simulated says so. */
#include "tests/sim_driver.h"

#include <stdio.h>

typedef CUresult (*plain_function)(void);

struct row {
    const char *symbol;
    const char *base;
    int since;
    enum { COMMON, PER_THREAD } stream;
    bool done;
};

static const struct row rows[] = {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    {#symbol, #base, since, stream, true},
#define REFUSED(symbol, base, since, stream) {#symbol, #base, since, stream, false},
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
};

enum { ROW_COUNT = sizeof rows / sizeof *rows, NEWEST = 13000 };

/* The row that the documented rule gives, written down a second time: the newest that
   `version` knows, of the stream kind that was asked for if there is one, else common. */
static const struct row *expected_row(const char *base, int version, cuuint64_t flags)
{
    const struct row *best = NULL;
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        if (strcmp(row->base, base) != 0 || row->since > version ||
            (row->stream == PER_THREAD && flags != 2))
            continue;
        if (best == NULL || row->stream > best->stream ||
            (row->stream == best->stream && row->since > best->since))
            best = row;
    }
    return best;
}

static void *look_up_v2(const char *base, int version, cuuint64_t flags, int status)
{
    void *found = &found;
    CUdriverProcAddressQueryResult told = -1;
    ck_assert_int_eq(sim.cuGetProcAddress_v2(base, &found, version, flags, &told),
                     CUDA_SUCCESS);
    ck_assert_msg(told == status, "%s@%d: status %d", base, version, told);
    return found;
}

static void *look_up_v1(const char *base, int version, cuuint64_t flags)
{
    void *found = &found;
    CUresult result = sim.cuGetProcAddress(base, &found, version, flags);
    ck_assert_int_eq(result, found != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
    return found;
}

/* dlsym, both forms and the rule agree on (base, version, flags). */
static void check_agreement(const char *base, int version, cuuint64_t flags)
{
    const struct row *row = expected_row(base, version, flags);
    ck_assert_msg(row != NULL, "%s@%d", base, version);
    void *expected = sim_symbol(row->symbol);
    ck_assert_msg(look_up_v2(base, version, flags, CU_GET_PROC_ADDRESS_SUCCESS) ==
                      expected,
                  "%s@%d flags %d is not %s", base, version, (int)flags, row->symbol);
    ck_assert_ptr_eq(look_up_v1(base, version, flags), expected);
}

START_TEST(every_row_is_found_at_its_version_and_the_newest_after)
{
    sim_load();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        cuuint64_t flags = rows[i].stream == PER_THREAD ? 2 : 0;
        ck_assert_ptr_eq(expected_row(rows[i].base, rows[i].since, flags), &rows[i]);
        check_agreement(rows[i].base, rows[i].since, flags);
        check_agreement(rows[i].base, NEWEST, 0);
        check_agreement(rows[i].base, NEWEST, 1);
        check_agreement(rows[i].base, NEWEST, 2);
    }
}
END_TEST

START_TEST(a_version_below_the_first_is_not_sufficient)
{
    sim_load();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (expected_row(rows[i].base, rows[i].since - 1, 2) != NULL)
            continue;
        int version = rows[i].since - 1;
        int status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        ck_assert_ptr_null(look_up_v2(rows[i].base, version, 2, status));
        ck_assert_ptr_null(look_up_v1(rows[i].base, version, 2));
    }
}
END_TEST

START_TEST(a_stream_of_its_own_is_found_where_there_is_one)
{
    sim_load();
    ck_assert_ptr_eq(look_up_v2("cuMemcpyHtoD", NEWEST, 2, 0),
                     sim_symbol("cuMemcpyHtoD_v2_ptds"));
    ck_assert_ptr_eq(look_up_v2("cuMemcpyHtoD", 6050, 2, 0),
                     sim_symbol("cuMemcpyHtoD_v2"));
    ck_assert_ptr_eq(look_up_v2("cuMemcpyHtoD", NEWEST, 0, 0),
                     sim_symbol("cuMemcpyHtoD_v2"));
    ck_assert_ptr_eq(look_up_v2("cuMemcpyHtoD", 2000, 0, 0), sim_symbol("cuMemcpyHtoD"));
    ck_assert_ptr_eq(look_up_v2("cuMemAlloc", NEWEST, 2, 0), sim_symbol("cuMemAlloc_v2"));
}
END_TEST

START_TEST(an_unknown_name_or_a_newer_version_is_told_apart)
{
    sim_load();
    void *found = &found;
    CUdriverProcAddressQueryResult status = -1;
    ck_assert_ptr_null(look_up_v2("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
    ck_assert_ptr_null(
        look_up_v2("cuMemAlloc_v2", NEWEST, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
    ck_assert_ptr_null(look_up_v1("cuNoSuchFunction", NEWEST, 0));
    ck_assert_int_eq(sim.cuGetProcAddress_v2("cuInit", &found, NEWEST + 1, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuGetProcAddress_v2("cuInit", &found, NEWEST, 4, &status),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuGetProcAddress_v2(NULL, &found, NEWEST, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuGetProcAddress_v2("cuInit", NULL, NEWEST, 0, &status),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(status, -1);
    ck_assert_int_eq(sim.cuGetProcAddress_v2("cuInit", &found, NEWEST, 0, NULL),
                     CUDA_SUCCESS);
    ck_assert_ptr_eq(found, sim_symbol("cuInit"));
}
END_TEST

START_TEST(the_lookup_finds_itself_by_version)
{
    sim_load();
    CUresult (*deeper)(const char *, void **, int, cuuint64_t,
                       CUdriverProcAddressQueryResult *) = sim.cuGetProcAddress_v2;
    for (int depth = 0; depth < 3; depth++) {
        void *found = NULL;
        ck_assert_int_eq(deeper("cuGetProcAddress", &found, 12000, 0, NULL),
                         CUDA_SUCCESS);
        ck_assert_ptr_eq(found, sim_symbol("cuGetProcAddress_v2"));
        memcpy(&deeper, &found, sizeof deeper);
    }
    ck_assert_ptr_eq(look_up_v2("cuGetProcAddress", 11030, 0, 0),
                     sim_symbol("cuGetProcAddress"));
    ck_assert_ptr_eq(look_up_v1("cuGetProcAddress", 12000, 0),
                     sim_symbol("cuGetProcAddress_v2"));
}
END_TEST

START_TEST(what_the_runtime_asks_at_start_is_answered)
{
    char line[256];
    char name[128];
    int version;
    int flags;
    int count = 0;
    sim_load();
    FILE *lookups = fopen(CUDART_LOOKUPS, "re");
    ck_assert_ptr_nonnull(lookups);
    while (fgets(line, sizeof line, lookups) != NULL) {
        if (line[0] == '#')
            continue;
        ck_assert_int_eq(sscanf(line, "%127s %d %d", name, &version, &flags), 3);
        count++;
        if (strcmp(name, "-") == 0)
            look_up_v2("", version, (cuuint64_t)flags,
                       CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        else
            check_agreement(name, version, (cuuint64_t)flags);
    }
    fclose(lookups);
    ck_assert_int_eq(count, 440);
}
END_TEST

START_TEST(every_name_that_is_not_simulated_refuses_and_is_counted)
{
    int refused_count = 0;
    sim_load();
    for (size_t i = 0; i < ROW_COUNT; i++) {
        plain_function refused;
        if (rows[i].done)
            continue;
        refused_count++;
        sim_fetch(rows[i].symbol, &refused);
        ck_assert_msg(refused() == CUDA_ERROR_NOT_SUPPORTED, "%s", rows[i].symbol);
        ck_assert_uint_eq(sim.oracle_calls(rows[i].symbol), 1);
    }
    ck_assert_int_gt(refused_count, ROW_COUNT / 2);
    ck_assert_uint_eq(sim.oracle_calls("cuNoSuchFunction"), 0);
}
END_TEST

SUITE_MAIN("simcuda/lookups", every_row_is_found_at_its_version_and_the_newest_after,
           a_version_below_the_first_is_not_sufficient,
           a_stream_of_its_own_is_found_where_there_is_one,
           an_unknown_name_or_a_newer_version_is_told_apart,
           the_lookup_finds_itself_by_version, what_the_runtime_asks_at_start_is_answered,
           every_name_that_is_not_simulated_refuses_and_is_counted)

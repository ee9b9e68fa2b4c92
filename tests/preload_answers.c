/* Drivers whose cuGetProcAddress does not answer with what they export, and those that are newer
   than we know, preloaded: hooked names lead to us and to nobody else, and what cannot be placed is
   handed on and counted. */
#include "tests/drivers/echo.h"
#include "tests/suite.h"

#include <dlfcn.h>
#include <string.h>

typedef CUresult look_up_1(const char *, void **, int, cuuint64_t);
typedef CUresult look_up_2(const char *, void **, int, cuuint64_t, int *);

struct row {
    const char *symbol;
    const char *base;
    int since;
    cuuint64_t flags;
};

static const struct row rows[] = {
#define HOOK(symbol, base, since, flags, parameters) {#symbol, #base, since, flags},
#include "shim/driver_hooks.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows, NEWEST_KNOWN = 13000 };

static void *driver;
static echo_row_function *row_of;
static echo_answers_function *answer_with;

static void setup(void)
{
    driver = dlopen(DRIVER, RTLD_NOW);
    ck_assert_msg(driver != NULL, "%s", dlerror());
    void *found = dlsym(driver, "echo_row");
    memcpy(&row_of, &found, sizeof found);
    found = dlsym(driver, "echo_answer_with");
    memcpy(&answer_with, &found, sizeof found);
}

static void *look_up(int form, const char *base, int version, cuuint64_t flags)
{
    void *found = dlsym(driver, form == 0 ? "cuGetProcAddress" : "cuGetProcAddress_v2");
    void *answer = NULL;
    CUresult result;
    if (form == 0) {
        look_up_1 *function;
        memcpy(&function, &found, sizeof found);
        result = function(base, &answer, version, flags);
    } else {
        look_up_2 *function;
        int status;
        memcpy(&function, &found, sizeof found);
        result = function(base, &answer, version, flags, &status);
    }
    ck_assert_msg(result == CUDA_SUCCESS, "%s@%d", base, version);
    return answer;
}

/* Both forms lead to the hook of `symbol`. */
static void check(const char *symbol, const char *base, int version, cuuint64_t flags)
{
    void *ours = dlsym(driver, symbol);
    for (int form = 0; form < 2; form++)
        ck_assert_msg(look_up(form, base, version, flags) == ours,
                      "%s@%d,%d by form %d is not our %s", base, version, (int)flags,
                      form, symbol);
}

/* The form that the rule picks up to what is known: of the stream kind if there is one. */
static const struct row *newest(const char *base, cuuint64_t flags)
{
    const struct row *best = NULL;
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++)
        if (strcmp(row->base, base) == 0 && (row->flags & ~flags) == 0 &&
            (best == NULL || row->flags > best->flags ||
             (row->flags == best->flags && row->since > best->since)))
            best = row;
    return best;
}

static void check_all(void)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        check(row->symbol, row->base, row->since, row->flags);
        for (cuuint64_t flags = 0; flags <= 2; flags++) {
            const struct row *wanted = newest(row->base, flags);
            if (wanted != NULL)
                check(wanted->symbol, row->base, NEWEST_KNOWN, flags);
        }
    }
}

START_TEST(hooks_are_found_where_the_driver_answers_with_its_symbols)
{
    answer_with(ECHO_ANSWERS_SYMBOLS);
    check_all();
}
END_TEST

START_TEST(hooks_are_found_where_the_driver_answers_with_entries_of_its_own)
{
    answer_with(ECHO_ANSWERS_THUNKS);
    check_all();
}
END_TEST

START_TEST(hooks_are_found_where_each_version_has_an_entry_of_its_own)
{
    answer_with(ECHO_ANSWERS_STRANGERS);
    check_all();
}
END_TEST

START_TEST(a_form_that_the_driver_knows_by_its_symbol_is_hooked)
{
    check("cuMemAlloc_v2", "cuMemAlloc_v2", NEWEST_KNOWN, 0);
}
END_TEST

START_TEST(a_name_that_shares_its_body_with_a_hooked_one_is_left_alone)
{
    void (*native)(void) = row_of("cuMemAlloc_v2")->function;
    for (int form = 0; form < 2; form++) {
        void *answer = look_up(form, "cuShared", NEWEST_KNOWN, 0);
        ck_assert_int_eq(memcmp(&answer, &native, sizeof answer), 0);
    }
}
END_TEST

/* What cannot be placed comes back as the driver gave it; what can, does not. */
static void check_newer(void (*native)(void))
{
    int since = row_of("cuMemAlloc_v3")->since;
    for (int form = 0; form < 2; form++) {
        void *answer = look_up(form, "cuMemAlloc", since, 0);
        ck_assert_int_eq(memcmp(&answer, &native, sizeof answer), 0);
    }
    check("cuMemAlloc_v2", "cuMemAlloc", since - 1, 0);
    check("cuMemFree_v2", "cuMemFree", since, 0);
}

START_TEST(a_form_from_after_what_is_known_is_handed_on)
{
    answer_with(ECHO_ANSWERS_SYMBOLS);
    check_newer(row_of("cuMemAlloc_v3")->function);
}
END_TEST

START_TEST(an_entry_of_a_form_from_after_what_is_known_is_handed_on)
{
    answer_with(ECHO_ANSWERS_THUNKS);
    check_newer(row_of("cuMemAlloc_v3")->thunk);
}
END_TEST

/* An older driver answers for a form that it has not with one that it has. */
START_TEST(where_the_driver_has_only_an_older_form_its_hook_is_found)
{
    answer_with(ECHO_ANSWERS_THUNKS);
    row_of("cuMemFree_v2")->base = NULL;
    row_of("cuStreamBeginCapture_ptsz")->base = NULL;
    row_of("cuStreamBeginCapture_v2_ptsz")->base = NULL;
    check("cuMemFree", "cuMemFree", NEWEST_KNOWN, 0);
    check("cuMemFree", "cuMemFree", 2000, 0);
    check("cuStreamBeginCapture_v2", "cuStreamBeginCapture", NEWEST_KNOWN, 2);
    check("cuStreamBeginCapture", "cuStreamBeginCapture", 10000, 2);
}
END_TEST

/* The driver's symbols have a version here, and dlvsym goes by it. */
START_TEST(a_versioned_look_up_finds_hooks_under_the_drivers_version_only)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        ck_assert_ptr_eq(dlvsym(driver, row->symbol, "ECHO_1"),
                         dlsym(driver, row->symbol));
        ck_assert_ptr_null(dlvsym(driver, row->symbol, "ECHO_2"));
        ck_assert_ptr_nonnull(dlerror());
    }
}
END_TEST

SUITE_MAIN_WITH("preload/answers", setup, NULL,
                hooks_are_found_where_the_driver_answers_with_its_symbols,
                hooks_are_found_where_the_driver_answers_with_entries_of_its_own,
                hooks_are_found_where_each_version_has_an_entry_of_its_own,
                a_form_that_the_driver_knows_by_its_symbol_is_hooked,
                a_name_that_shares_its_body_with_a_hooked_one_is_left_alone,
                a_form_from_after_what_is_known_is_handed_on,
                an_entry_of_a_form_from_after_what_is_known_is_handed_on,
                where_the_driver_has_only_an_older_form_its_hook_is_found,
                a_versioned_look_up_finds_hooks_under_the_drivers_version_only)

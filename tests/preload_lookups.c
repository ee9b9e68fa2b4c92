/* Every way to every name of the driver, preloaded: the answer is the driver's own, pointer, result
   and status, but for the functions that are hooked, which are ours. What the driver itself
   answers is asked by C library functions that the library does not stand before. */
#include "tests/suite.h"
#include "tools/simcuda/names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef CUresult look_up_2(const char *, void **, int, cuuint64_t, int *);
typedef void *look_up_symbol(void *, const char *);
typedef void *look_up_version(void *, const char *, const char *);

struct row {
    const char *symbol;
    const char *base;
    int since;
    void *native; /* NULL: not in this driver */
    void *ours;   /* NULL: not hooked */
};

static struct row rows[] = {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    {#symbol, #base, since, NULL, NULL},
#define REFUSED(symbol, base, since, stream) {#symbol, #base, since, NULL, NULL},
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
};

static const char *const hooked[] = {
#define HOOK(symbol, base, since, flags, parameters) #symbol,
#include "shim/driver_hooks.def"
};

enum {
    ROW_COUNT = sizeof rows / sizeof *rows,
    HOOKED_COUNT = sizeof hooked / sizeof *hooked,
};

static void *driver;
static look_up_symbol *real_dlsym;
static look_up_version *real_dlvsym;
static unsigned check_count;

/* The library is first in the scope of the whole process. */
static void *of_library(const char *symbol)
{
    Dl_info info;
    void *found = real_dlsym(RTLD_DEFAULT, symbol);
    ck_assert_msg(found != NULL && dladdr(found, &info) != 0 &&
                      strstr(info.dli_fname, "/libtidemark.so") != NULL,
                  "%s is not in the library", symbol);
    return found;
}

static bool is_hooked(const char *symbol)
{
    for (size_t i = 0; i < HOOKED_COUNT; i++)
        if (strcmp(hooked[i], symbol) == 0)
            return true;
    return false;
}

static void setup(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *found = dlsym(libc, "dlsym");
    memcpy(&real_dlsym, &found, sizeof found);
    found = dlsym(libc, "dlvsym");
    memcpy(&real_dlvsym, &found, sizeof found);
    driver = dlopen(getenv("DRIVER"), RTLD_NOW);
    ck_assert_msg(driver != NULL, "%s", dlerror());
    for (struct row *row = rows; row < rows + ROW_COUNT; row++) {
        row->native = real_dlsym(driver, row->symbol);
        if (is_hooked(row->symbol))
            row->ours = of_library(row->symbol);
        ck_assert(row->native == NULL || row->native != row->ours);
    }
}

/* What the program has to get where the driver answers so. */
static void *expected(void *native)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++)
        if (native != NULL && row->native == native)
            return row->ours != NULL ? row->ours : native;
    return native;
}

/* --- dlsym and dlvsym --- */

static void check_symbol(void *handle, const char *name)
{
    static const char version[] = "GLIBC_2.2.5";
    ck_assert_msg(dlsym(handle, name) == expected(real_dlsym(handle, name)), "dlsym %s",
                  name);
    ck_assert_msg(dlvsym(handle, name, version) ==
                      expected(real_dlvsym(handle, name, version)),
                  "dlvsym %s", name);
    check_count += 2;
}

START_TEST(every_symbol_is_the_drivers_or_ours)
{
    void *by_name = dlopen("libcuda.so.1", RTLD_NOW);
    void *without_version = dlopen("libcuda.so", RTLD_NOW);
    ck_assert_ptr_eq(by_name, driver);
    ck_assert_ptr_eq(without_version, driver);
    unsigned hooked_count = 0;
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        check_symbol(driver, row->symbol);
        hooked_count += row->native != NULL && row->ours != NULL;
    }
    ck_assert_uint_gt(hooked_count, 20);
    check_symbol(driver, "cuNoSuchFunction");
    check_symbol(driver, "cuNoSuchFunction_v2");
}
END_TEST

/* Lines of a file of data, each handed to `use`; how many there were. */
static unsigned read_lines(const char *path, void (*use)(char *line))
{
    char line[256];
    unsigned count = 0;
    FILE *file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        use(line);
        count++;
    }
    fclose(file);
    return count;
}

static void check_observed_symbol(char *line)
{
    char *name = strchr(line, '\t');
    ck_assert_ptr_nonnull(name);
    check_symbol(driver, name + 1);
}

START_TEST(what_libraries_look_up_by_symbol_is_the_drivers_or_ours)
{
    ck_assert_uint_eq(read_lines(DLSYM_LOOKUPS, check_observed_symbol), 141);
}
END_TEST

/* --- cuGetProcAddress --- */

/* Both forms, called as if they took five arguments: the first form gets a status that nobody may
   write to. */
struct forms {
    look_up_2 *native[2];
    look_up_2 *ours[2];
};

static struct forms forms(void)
{
    static const char *const symbols[] = {"cuGetProcAddress", "cuGetProcAddress_v2"};
    struct forms found;
    for (int form = 0; form < 2; form++) {
        void *native = real_dlsym(driver, symbols[form]);
        void *ours = dlsym(driver, symbols[form]);
        memcpy(&found.native[form], &native, sizeof native);
        memcpy(&found.ours[form], &ours, sizeof ours);
    }
    ck_assert(found.native[0] != NULL && found.native[0] != found.ours[0]);
    return found;
}

struct answer {
    CUresult result;
    void *function;
    int status;
};

static struct answer ask(look_up_2 *look_up, const char *base, int version,
                         cuuint64_t flags, int *status)
{
    struct answer answer = {.function = &answer, .status = 77};
    if (status == NULL)
        status = &answer.status;
    answer.result = look_up(base, &answer.function, version, flags, status);
    if (answer.function == &answer) /* untouched */
        answer.function = NULL;
    return answer;
}

static void check_form(const struct forms *by, int form, const char *base, int version,
                       cuuint64_t flags)
{
    int *poison = form == 0 ? (int *)0xdead0001 : NULL;
    if (by->native[form] == NULL)
        return;
    struct answer native = ask(by->native[form], base, version, flags, poison);
    struct answer ours = ask(by->ours[form], base, version, flags, poison);
    ck_assert_msg(ours.result == native.result, "%s@%d,%d: result %d", base, version,
                  (int)flags, ours.result);
    ck_assert_msg(ours.status == native.status, "%s@%d,%d: status %d", base, version,
                  (int)flags, ours.status);
    ck_assert_msg(ours.function == expected(native.function), "%s@%d,%d of form %d", base,
                  version, (int)flags, form);
    check_count++;
}

enum { FLAGS_MOST = 4 }; /* and with it one that is not defined */

static void check_all_flags(const char *base, int version)
{
    struct forms by = forms();
    for (cuuint64_t flags = 0; flags <= FLAGS_MOST; flags++)
        for (int form = 0; form < 2; form++)
            check_form(&by, form, base, version, flags);
}

START_TEST(every_row_is_answered_like_the_drivers_or_ours)
{
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++) {
        static const int versions[] = {0, 11030, 11040, 12000, 12020, 13000, 13010, -1};
        check_all_flags(row->base, row->since);
        check_all_flags(row->base, row->since - 1);
        check_all_flags(row->base, row->since + 1);
        for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
            check_all_flags(row->base, versions[i]);
    }
    check_all_flags("cuNoSuchFunction", 13000);
    check_all_flags("cuMemAlloc_v2", 12020);
    check_all_flags("", 0);
    ck_assert_uint_gt(check_count, 30000);
}
END_TEST

static void check_observed_look_up(char *line)
{
    char name[128];
    int version;
    int flags;
    struct forms by = forms();
    ck_assert_int_eq(sscanf(line, "%127s %d %d", name, &version, &flags), 3);
    for (int form = 0; form < 2; form++)
        check_form(&by, form, strcmp(name, "-") == 0 ? "" : name, version,
                   (cuuint64_t)flags);
}

START_TEST(what_the_runtime_looks_up_is_answered_like_the_drivers_or_ours)
{
    ck_assert_uint_eq(read_lines(CUDART_LOOKUPS, check_observed_look_up), 440);
}
END_TEST

/* As the runtime does: it looks the look-up up and goes on with what it is given. */
START_TEST(the_look_up_looks_itself_up_and_stays_ours)
{
    struct forms by = forms();
    for (int form = 0; form < 2; form++) {
        int version = form == 0 ? 11030 : 12000;
        look_up_2 *deeper = by.ours[form];
        if (by.native[form] == NULL)
            continue;
        for (int depth = 0; depth < 3; depth++) {
            struct answer next = ask(deeper, "cuGetProcAddress", version, 0, NULL);
            ck_assert_int_eq(next.result, CUDA_SUCCESS);
            memcpy(&deeper, &next.function, sizeof deeper);
            ck_assert(deeper == by.ours[form]);
        }
        void *allocate = ask(deeper, "cuMemAlloc", 3020, 0, NULL).function;
        ck_assert_ptr_eq(allocate, expected(real_dlsym(driver, "cuMemAlloc_v2")));
        ck_assert_ptr_ne(allocate, real_dlsym(driver, "cuMemAlloc_v2"));
    }
}
END_TEST

START_TEST(arguments_that_are_missing_are_refused_by_the_driver)
{
    struct forms by = forms();
    for (int form = 0; form < 2; form++) {
        int status = 77;
        void *function = &function;
        if (by.native[form] == NULL)
            continue;
        ck_assert_int_eq(by.ours[form](NULL, &function, 11040, 0, &status),
                         by.native[form](NULL, &function, 11040, 0, &status));
        ck_assert_int_eq(by.ours[form]("cuMemAlloc", NULL, 11040, 0, &status),
                         by.native[form]("cuMemAlloc", NULL, 11040, 0, &status));
        ck_assert_ptr_eq(function, &function);
        ck_assert_int_eq(status, 77);
        ck_assert_int_eq(by.ours[form]("cuMemAlloc", &function, 11040, 0, NULL),
                         CUDA_SUCCESS);
        ck_assert_ptr_eq(function, expected(real_dlsym(driver, "cuMemAlloc_v2")));
    }
}
END_TEST

SUITE_MAIN_WITH("preload/lookups", setup, NULL, every_symbol_is_the_drivers_or_ours,
                what_libraries_look_up_by_symbol_is_the_drivers_or_ours,
                every_row_is_answered_like_the_drivers_or_ours,
                what_the_runtime_looks_up_is_answered_like_the_drivers_or_ours,
                the_look_up_looks_itself_up_and_stays_ours,
                arguments_that_are_missing_are_refused_by_the_driver)

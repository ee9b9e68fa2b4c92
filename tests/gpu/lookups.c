/* Which function the driver hands out for each name that the library hooks, on every road. What
   dlsym gives for a symbol and what cuGetProcAddress gives for its base, version and flags need
   not be one address; the library was written for both cases. */
#include "tests/gpu/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct name {
    const char *symbol, *base;
    int since;
    cuuint64_t flags;
};

static const struct name names[] = {
#define HOOK(symbol, base, since, flags, parameters) {#symbol, #base, since, flags},
#include "shim/driver_hooks.def"
};

enum { NAMES = sizeof names / sizeof *names };

/* Whose function this is: that of the driver, of the library, or of another object. */
static const char *owner_of(void *function)
{
    Dl_info info;
    if (function == NULL)
        return "none";
    if (dladdr(function, &info) == 0)
        return "unknown";
    const char *slash = strrchr(info.dli_fname, '/');
    const char *file = slash ? slash + 1 : info.dli_fname;
    if (strncmp(file, "libcuda.so", strlen("libcuda.so")) == 0)
        return "driver";
    return strncmp(file, "libtidemark.so", strlen("libtidemark.so")) == 0 ? "library"
                                                                          : file;
}

/* The hooked symbol of the same base that dlsym gives this address for. */
static const char *symbol_of(const char *base, void *function)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].base, base) == 0 &&
            dlsym(driver.library, names[i].symbol) == function)
            return names[i].symbol;
    return "another";
}

struct answer {
    CUresult result;
    CUdriverProcAddressQueryResult status;
    void *function;
};

static struct answer ask(const char *base, int version, cuuint64_t flags, bool second)
{
    struct answer answer = {.result = CUDA_ERROR_NOT_FOUND, .status = -1};
    if (second && driver.cuGetProcAddress_v2)
        answer.result = driver.cuGetProcAddress_v2(base, &answer.function, version, flags,
                                                   &answer.status);
    else if (!second && driver.cuGetProcAddress)
        answer.result = driver.cuGetProcAddress(base, &answer.function, version, flags);
    if (answer.result != CUDA_SUCCESS)
        answer.function = NULL;
    return answer;
}

/* "same", none, or what else cuGetProcAddress gives where dlsym gives `expected`. */
static const char *compare(const char *base, void *expected, void *function)
{
    if (function == expected)
        return function ? "same" : "none";
    return function ? symbol_of(base, function) : "none";
}

static void print_name(const struct name *name)
{
    void *found = dlsym(driver.library, name->symbol);
    struct answer first = ask(name->base, name->since, name->flags, false);
    struct answer second = ask(name->base, name->since, name->flags, true);
    printf("name\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%d\n", name->symbol, name->base,
           name->since, (int)name->flags, owner_of(found),
           compare(name->base, found, first.function),
           compare(name->base, found, second.function), second.status);
}

/* Each base once for each version at which it changed, and at the driver's own, by both kinds of
   streams. */
static void print_version(const char *base, int version, cuuint64_t flags)
{
    struct answer first = ask(base, version, flags, false);
    struct answer second = ask(base, version, flags, true);
    printf("version\t%s\t%d\t%d\t%d %s\t%d %s\t%d\n", base, version, (int)flags,
           first.result, first.function ? symbol_of(base, first.function) : "none",
           second.result, second.function ? symbol_of(base, second.function) : "none",
           second.status);
}

static bool is_first_of(size_t index, bool of_version)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(names[i].base, names[index].base) == 0 &&
            (!of_version || names[i].since == names[index].since))
            return false;
    return true;
}

static void print_base(const char *base, int driver_version)
{
    static const cuuint64_t kinds[] = {CU_GET_PROC_ADDRESS_DEFAULT,
                                       CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (size_t i = 0; i < NAMES; i++)
            if (strcmp(names[i].base, base) == 0 && is_first_of(i, true)) {
                print_version(base, names[i].since - 1, kinds[kind]);
                print_version(base, names[i].since, kinds[kind]);
            }
        print_version(base, driver_version, kinds[kind]);
    }
}

void probe_lookups(void)
{
    int version = 0;
    probe_open();
    (void)driver.cuDriverGetVersion(&version);
    for (size_t i = 0; i < NAMES; i++)
        print_name(&names[i]);
    for (size_t i = 0; i < NAMES; i++)
        if (is_first_of(i, false))
            print_base(names[i].base, version);
}

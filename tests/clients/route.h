/* The roads to a driver, for programs that are asked to take one of them: dlsym, gpa
   (cuGetProcAddress) or gpa2 (cuGetProcAddress_v2). Built with ROUTE_PLT the program is linked to
   the driver, and the one road is plt.

   Before it is included CALLS(CALL) lists what is called:
     CALL(symbol, base name, since, flags of cuGetProcAddress, parameters)
   Then `driver` has the functions once resolve() has found them all. */
#ifndef TESTS_CLIENTS_ROUTE_H
#define TESTS_CLIENTS_ROUTE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "shim/driver_abi.h"

static struct {
#define FIELD(symbol, base, since, flags, parameters) CUresult(*symbol) parameters;
    CALLS(FIELD)
#undef FIELD
} driver;

#ifdef ROUTE_PLT

#define DECLARE(symbol, base, since, flags, parameters) CUresult symbol parameters;
CALLS(DECLARE)
#undef DECLARE

static inline bool resolve(const char *route)
{
#define ASSIGN(symbol, base, since, flags, parameters) driver.symbol = symbol;
    CALLS(ASSIGN)
#undef ASSIGN
    return strcmp(route, "plt") == 0;
}

#else

typedef void *finder(const char *symbol, const char *base, int version, cuuint64_t flags);

static void *library;

static inline void *find_by_dlsym(const char *symbol, const char *base, int version,
                                  cuuint64_t flags)
{
    (void)base;
    (void)version;
    (void)flags;
    return dlsym(library, symbol);
}

static inline void *find_by_gpa(const char *symbol, const char *base, int version,
                                cuuint64_t flags)
{
    (void)symbol;
    CUresult (*look_up)(const char *, void **, int, cuuint64_t);
    void *found = dlsym(library, "cuGetProcAddress");
    memcpy(&look_up, &found, sizeof look_up);
    if (look_up == NULL || look_up(base, &found, version, flags) != CUDA_SUCCESS)
        return NULL;
    return found;
}

static inline void *find_by_gpa2(const char *symbol, const char *base, int version,
                                 cuuint64_t flags)
{
    (void)symbol;
    CUdriverProcAddressQueryResult status;
    CUresult (*look_up)(const char *, void **, int, cuuint64_t,
                        CUdriverProcAddressQueryResult *);
    void *found = dlsym(library, "cuGetProcAddress_v2");
    memcpy(&look_up, &found, sizeof look_up);
    if (look_up == NULL ||
        look_up(base, &found, version, flags, &status) != CUDA_SUCCESS ||
        status != CU_GET_PROC_ADDRESS_SUCCESS)
        return NULL;
    return found;
}

static inline finder *choose(const char *route)
{
    if (strcmp(route, "dlsym") == 0)
        return find_by_dlsym;
    if (strcmp(route, "gpa") == 0)
        return find_by_gpa;
    return strcmp(route, "gpa2") == 0 ? find_by_gpa2 : NULL;
}

static inline bool fetch(finder *find, const char *symbol, const char *base, int version,
                         cuuint64_t flags, void *field)
{
    void *found = find(symbol, base, version, flags);
    memcpy(field, &found, sizeof found);
    return found != NULL;
}

static inline bool resolve(const char *route)
{
    finder *find = choose(route);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (find == NULL || library == NULL)
        return false;
    bool complete = true;
#define FETCH(symbol, base, since, flags, parameters)                                    \
    complete = fetch(find, #symbol, base, since, flags, &driver.symbol) && complete;
    CALLS(FETCH)
#undef FETCH
    return complete;
}

#endif

#endif

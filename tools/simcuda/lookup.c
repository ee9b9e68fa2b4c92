/* cuGetProcAddress: a base name, a version and a stream kind to one exported function. */
#include "tools/simcuda/names.h"

#include <stdbool.h>
#include <string.h>

#include "tools/simcuda/version.h"

typedef void (*any_function)(void);

enum stream { COMMON, PER_THREAD };

struct row {
    const char *base;
    int since;
    enum stream stream;
    any_function function;
};

static const struct row rows[] = {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    {#base, since, stream, (any_function)symbol},
#define REFUSED(symbol, base, since, stream) {#base, since, stream, (any_function)symbol},
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static bool is_known(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].since <= sim_version && strcmp(rows[i].base, name) == 0)
            return true;
    return false;
}

/* The newest form of `name` that `version` knows; NULL when there is none. */
static const struct row *newest(const char *name, int version, enum stream stream)
{
    const struct row *best = NULL;
    for (const struct row *row = rows; row < rows + ROW_COUNT; row++)
        if (row->stream == stream && row->since <= version &&
            (best == NULL || row->since > best->since) && strcmp(row->base, name) == 0)
            best = row;
    return best;
}

static const struct row *choose(const char *name, int version, cuuint64_t flags)
{
    const struct row *row = NULL;
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        row = newest(name, version, PER_THREAD);
    return row != NULL ? row : newest(name, version, COMMON);
}

/* Since 12000: a name that cannot be had is no error, but a NULL and a status. */
CUresult sim_lookup_v2(const char *name, void **function, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *status)
{
    if (name == NULL || function == NULL || version > sim_version ||
        flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;

    const struct row *row = choose(name, version, flags);
    any_function found = row != NULL ? row->function : NULL;
    memcpy(function, &found, sizeof found);
    if (status != NULL)
        *status = row != NULL      ? CU_GET_PROC_ADDRESS_SUCCESS
                  : is_known(name) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

CUresult sim_lookup_v1(const char *name, void **function, int version, cuuint64_t flags)
{
    CUresult result = sim_lookup_v2(name, function, version, flags, NULL);
    return result == CUDA_SUCCESS && *function == NULL ? CUDA_ERROR_NOT_FOUND : result;
}

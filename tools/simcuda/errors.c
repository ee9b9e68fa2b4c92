#include "tools/simcuda/names.h"

#include <stddef.h>

struct row {
    CUresult number;
    const char *name;
    const char *text;
};

static const struct row rows[] = {
#define ERROR(name, number, text) {number, #name, text},
#include "tools/simcuda/errors.def"
#undef ERROR
};

static const struct row *find(CUresult error)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == error)
            return &rows[i];
    return NULL;
}

CUresult sim_error_name(CUresult error, const char **name)
{
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct row *row = find(error);
    *name = row != NULL ? row->name : NULL;
    return row != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_error_text(CUresult error, const char **text)
{
    if (text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct row *row = find(error);
    *text = row != NULL ? row->text : NULL;
    return row != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

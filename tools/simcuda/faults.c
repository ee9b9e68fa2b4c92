#include "tools/simcuda/faults.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/knobs.h"

static struct sim_fault_list
    added; /* by tests, while they run; count includes spent ones */

static CUresult usual_result(enum sim_call call)
{
    static const char *const allocating[] = {
        "cuArray3DCreate",
        "cuArrayCreate",
        "cuCtxCreate",
        "cuDevicePrimaryCtxRetain",
        "cuEventCreate",
        "cuGraphInstantiate",
        "cuGraphLaunch",
        "cuMemAlloc",
        "cuMemCreate",
        "cuMemHostAlloc",
        "cuMemHostRegister",
        "cuMemPoolCreate",
        "cuMipmappedArrayCreate",
        "cuModuleLoad",
        "cuStreamCreate",
    };
    const char *symbol = sim_entry_symbol(call);
    for (size_t i = 0; i < sizeof allocating / sizeof *allocating; i++)
        if (strncmp(symbol, allocating[i], strlen(allocating[i])) == 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_ERROR_UNKNOWN;
}

/* A decimal number from 1 to `limit` at *text, which moves past it. */
static bool take_number(const char **text, uint64_t limit, uint64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *number = strtoul(*text, &end, 10);
    *text = end;
    return *number >= 1 && *number <= limit;
}

static bool take_fault(const char **text, struct sim_fault_list *list)
{
    uint64_t nth;
    uint64_t code = CUDA_SUCCESS;
    enum sim_call call;
    const char *colon = strchr(*text, ':');
    if (list->count == SIM_FAULT_LIMIT || colon == NULL ||
        !sim_entry_find(*text, (size_t)(colon - *text), &call))
        return false;
    *text = colon + 1;
    if (!take_number(text, UINT64_MAX - 1, &nth))
        return false;
    if (**text == ':') {
        (*text)++;
        if (!take_number(text, INT_MAX, &code))
            return false;
    }
    list->faults[list->count].call = call;
    list->faults[list->count].nth = nth;
    list->faults[list->count].result = (CUresult)code;
    list->count++;
    return true;
}

bool sim_faults_parse(const char *text, struct sim_fault_list *list)
{
    list->count = 0;
    if (*text == '\0')
        return true;
    for (;; text++) {
        if (!take_fault(&text, list))
            return false;
        if (*text != ',')
            return *text == '\0';
    }
}

/* What the list says of this call, `usual` where it says nothing special; CUDA_SUCCESS
   when the call is not in it. */
static CUresult find(const struct sim_fault_list *list, enum sim_call call, uint64_t nth,
                     CUresult usual)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->faults[i].call == call && list->faults[i].nth == nth)
            return list->faults[i].result != CUDA_SUCCESS ? list->faults[i].result
                                                          : usual;
    return CUDA_SUCCESS;
}

CUresult sim_faults_before(enum sim_call call, uint64_t nth)
{
    if (sim_knobs->failures.count + added.count == 0)
        return CUDA_SUCCESS;
    CUresult result = find(&added, call, nth, CUDA_SUCCESS);
    return result != CUDA_SUCCESS
               ? result
               : find(&sim_knobs->failures, call, nth, usual_result(call));
}

void sim_faults_after(enum sim_call call, uint64_t nth)
{
    if (sim_knobs->breakages.count == 0)
        return;
    CUresult result = find(&sim_knobs->breakages, call, nth, CUDA_ERROR_ILLEGAL_ADDRESS);
    CUcontext context = sim_context_current();
    if (result != CUDA_SUCCESS && sim_context_check(context) == CUDA_SUCCESS)
        context->broken = result;
}

bool sim_faults_add(enum sim_call call, uint64_t nth, CUresult result)
{
    unsigned i = 0;
    while (i < added.count && added.faults[i].nth > sim_entry_count(added.faults[i].call))
        i++;
    if (i == SIM_FAULT_LIMIT)
        return false;
    added.faults[i].call = call;
    added.faults[i].nth = nth;
    added.faults[i].result = result;
    if (i == added.count)
        added.count++;
    return true;
}

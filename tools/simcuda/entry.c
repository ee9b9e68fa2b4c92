#include "tools/simcuda/entry.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/cost.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/faults.h"
#include "tools/simcuda/knobs.h"
#include "tools/simcuda/log.h"

static const char *const symbols[SIM_CALL_COUNT] = {
#define DONE(symbol, base, since, stream, need, worker, parameters, arguments) #symbol,
#define REFUSED(symbol, base, since, stream)                                   #symbol,
#include "tools/simcuda/names.def"
#undef DONE
#undef REFUSED
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static uint64_t call_counts[SIM_CALL_COUNT];

void sim_entry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_entry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void unlock_in_child(void)
{
    sim_device_lose();
    sim_entry_unlock();
}

/* Not in a constructor: the first call may come from another library's. */
static void start(void)
{
    started = true;
    sim_knobs_read();
    pthread_atfork(sim_entry_lock, sim_entry_unlock, unlock_in_child);
}

static CUresult unmet(enum sim_need need)
{
    if (need == SIM_NEED_NOTHING)
        return CUDA_SUCCESS;
    if (!sim_device_ready())
        return CUDA_ERROR_NOT_INITIALIZED;
    CUcontext context = sim_context_current();
    if (need == SIM_NEED_KERNELS && !sim_knobs->skip_kernels)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (need == SIM_NEED_DRIVER || (need == SIM_NEED_SOUND && context == NULL))
        return CUDA_SUCCESS;
    CUresult result = sim_context_check(context);
    if (need == SIM_NEED_SOUND && result != CUDA_SUCCESS)
        return CUDA_SUCCESS;
    return result == CUDA_SUCCESS ? context->broken : result;
}

CUresult sim_entry_begin(enum sim_call call, enum sim_need need)
{
    sim_entry_lock();
    if (!started)
        start();
    uint64_t nth = ++call_counts[call];
    CUresult result = unmet(need);
    return result == CUDA_SUCCESS ? sim_faults_before(call, nth) : result;
}

CUresult sim_entry_end(enum sim_call call, CUresult result)
{
    sim_faults_after(call, call_counts[call]);
    sim_log_call(symbols[call], result);
    sim_entry_unlock();
    sim_cost_pay();
    return result;
}

uint64_t sim_entry_count(enum sim_call call)
{
    return call_counts[call];
}

const char *sim_entry_symbol(enum sim_call call)
{
    return symbols[call];
}

bool sim_entry_find(const char *text, size_t length, enum sim_call *call)
{
    for (unsigned i = 0; i < SIM_CALL_COUNT; i++) {
        if (strlen(symbols[i]) != length || memcmp(symbols[i], text, length) != 0)
            continue;
        *call = (enum sim_call)i;
        return true;
    }
    return false;
}

#include "tools/simcuda/entry.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/cost.h"
#include "tools/simcuda/device.h"
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
    if (need == SIM_NEED_KERNELS && !sim_knobs->skip_kernels)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (need == SIM_NEED_CONTEXT || need == SIM_NEED_KERNELS)
        return sim_context_check(sim_context_current());
    return CUDA_SUCCESS;
}

CUresult sim_entry_begin(enum sim_call call, enum sim_need need)
{
    sim_entry_lock();
    if (!started)
        start();
    call_counts[call]++;
    return unmet(need);
}

CUresult sim_entry_end(enum sim_call call, CUresult result)
{
    sim_log_call(symbols[call], result);
    sim_entry_unlock();
    sim_cost_pay();
    return result;
}

uint64_t sim_entry_call_count(const char *symbol)
{
    uint64_t count = 0;
    sim_entry_lock();
    for (size_t i = 0; i < SIM_CALL_COUNT; i++)
        if (strcmp(symbols[i], symbol) == 0)
            count = call_counts[i];
    sim_entry_unlock();
    return count;
}

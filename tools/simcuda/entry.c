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
#include "tools/simcuda/op.h"

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
static uint64_t return_counts[SIM_CALL_COUNT];
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static unsigned waiting_count; /* threads that wait for a change */

/* Of the call that the thread is in. */
static _Thread_local enum sim_default_stream default_stream;
static _Thread_local bool is_called_back;

void sim_entry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void sim_entry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void sim_entry_wait(void)
{
    waiting_count++;
    pthread_cond_wait(&change, &lock);
    waiting_count--;
}

void sim_entry_wake(void)
{
    if (waiting_count > 0)
        pthread_cond_broadcast(&change);
}

void sim_entry_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sim_entry_wait_on(pthread_cond_t *condition, const struct timespec *due)
{
    if (due != NULL)
        pthread_cond_timedwait(condition, &lock, due);
    else
        pthread_cond_wait(condition, &lock);
}

void sim_entry_call_back(const struct sim_op *op, CUresult result)
{
    is_called_back = true;
    sim_entry_unlock();
    if (op->kind == SIM_OP_CALLBACK)
        op->callback.function(op->callback.stream, result, op->callback.data);
    else
        op->host.function(op->host.data);
    sim_entry_lock();
    is_called_back = false;
}

/* Those who waited are not in the child: nobody is woken. */
static void unlock_in_child(void)
{
    waiting_count = 0;
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

CUresult sim_entry_begin(enum sim_call call, enum sim_need need,
                         enum sim_default_stream stream)
{
    sim_entry_lock();
    default_stream = stream;
    if (!started)
        start();
    uint64_t nth = ++call_counts[call];
    CUresult result = is_called_back ? CUDA_ERROR_NOT_PERMITTED : unmet(need);
    return result == CUDA_SUCCESS ? sim_faults_before(call, nth) : result;
}

CUresult sim_entry_end(enum sim_call call, CUresult result)
{
    sim_faults_after(call, call_counts[call]);
    sim_log_call(symbols[call], result);
    return_counts[call]++;
    sim_entry_wake();
    sim_entry_unlock();
    sim_cost_pay();
    return result;
}

uint64_t sim_entry_count(enum sim_call call)
{
    return call_counts[call];
}

uint64_t sim_entry_return_count(enum sim_call call)
{
    return return_counts[call];
}

enum sim_default_stream sim_entry_default_stream(void)
{
    return default_stream;
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

#include "tools/simcuda/simcuda.h"

#include <string.h>

#include "tools/simcuda/block.h"
#include "tools/simcuda/entry.h"
#include "tools/simcuda/faults.h"
#include "tools/simcuda/names.h"
#include "tools/simcuda/pool.h"
#include "tools/simcuda/queue.h"

SIM_EXPORT uint64_t simcuda_oracle_bytes(int device)
{
    sim_entry_lock();
    uint64_t bytes = sim_block_held_bytes(device);
    sim_entry_unlock();
    return bytes;
}

static uint64_t host_bytes(enum sim_memory memory)
{
    sim_entry_lock();
    uint64_t bytes = sim_block_host_bytes(memory);
    sim_entry_unlock();
    return bytes;
}

SIM_EXPORT uint64_t simcuda_oracle_pinned_bytes(void)
{
    return host_bytes(SIM_PINNED);
}

SIM_EXPORT uint64_t simcuda_oracle_registered_bytes(void)
{
    return host_bytes(SIM_REGISTERED);
}

SIM_EXPORT uint64_t simcuda_oracle_taken_bytes(int device)
{
    sim_entry_lock();
    uint64_t bytes = sim_block_taken_bytes(device);
    sim_entry_unlock();
    return bytes;
}

SIM_EXPORT uint64_t simcuda_oracle_reserved_bytes(int device)
{
    sim_entry_lock();
    uint64_t bytes = sim_pool_reserved_bytes(device);
    sim_entry_unlock();
    return bytes;
}

SIM_EXPORT uint64_t simcuda_oracle_calls(const char *symbol)
{
    enum sim_call call;
    if (!sim_entry_find(symbol, strlen(symbol), &call))
        return 0;
    sim_entry_lock();
    uint64_t count = sim_entry_count(call);
    sim_entry_unlock();
    return count;
}

SIM_EXPORT int simcuda_release(uint64_t ticket)
{
    sim_entry_lock();
    bool released = sim_queue_release(ticket);
    sim_entry_unlock();
    return released;
}

SIM_EXPORT int simcuda_fail(const char *symbol, uint64_t nth, int result)
{
    enum sim_call call;
    if (nth == 0 || result == CUDA_SUCCESS ||
        !sim_entry_find(symbol, strlen(symbol), &call))
        return 0;
    sim_entry_lock();
    bool added = sim_faults_add(call, sim_entry_count(call) + nth, result);
    sim_entry_unlock();
    return added;
}

#include "tools/simcuda/simcuda.h"

#include "tools/simcuda/block.h"
#include "tools/simcuda/entry.h"
#include "tools/simcuda/names.h"

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

SIM_EXPORT uint64_t simcuda_oracle_calls(const char *symbol)
{
    return sim_entry_call_count(symbol);
}

/* Memory that other processes may open. Here only the process that exports it opens it, and
   gets the memory's own address: what can be seen of an export is that there was one. */
#include "tools/simcuda/block.h"

#include <string.h>
#include <unistd.h>

#include "tools/simcuda/names.h"

enum { OPEN_FLAGS = 1 }; /* the one that must be given */

struct handle {
    uint64_t magic;
    uint64_t address;
    unsigned long long id; /* of the block: a later one has another handle */
    pid_t process;
};

static const uint64_t handle_magic = UINT64_C(0x7069636d656d6f72);

/* The start of a block that a call of cuMemAlloc or its like made. */
static struct sim_block *find(CUdeviceptr address)
{
    struct sim_block *block = sim_block_find(address);
    return block != NULL && block->address == address && block->memory == SIM_DEVICE &&
                   block->owner != NULL
               ? block
               : NULL;
}

CUresult sim_ipc_export(CUipcMemHandle *handle, CUdeviceptr address)
{
    const struct sim_block *block = find(address);
    if (handle == NULL || block == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct handle made = {handle_magic, address, block->id, getpid()};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &made, sizeof made);
    return CUDA_SUCCESS;
}

CUresult sim_ipc_open(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    struct handle made;
    memcpy(&made, &handle, sizeof made);
    if (address == NULL || flags != OPEN_FLAGS || made.magic != handle_magic)
        return CUDA_ERROR_INVALID_VALUE;
    if (made.process != getpid())
        return CUDA_ERROR_NOT_SUPPORTED;
    struct sim_block *block = find(made.address);
    if (block == NULL || block->id != made.id)
        return CUDA_ERROR_INVALID_VALUE;
    block->open_count++;
    *address = made.address;
    return CUDA_SUCCESS;
}

CUresult sim_ipc_close(CUdeviceptr address)
{
    struct sim_block *block = find(address);
    if (block == NULL || block->open_count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    block->open_count--;
    return CUDA_SUCCESS;
}

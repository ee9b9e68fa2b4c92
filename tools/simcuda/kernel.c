/* Modules and kernels under SIMCUDA_KERNELS=skip: anything loads, every function exists,
   no global does, and a launch is checked, counted and not run, unless it is of one of the
   simulator's own kernels. */
#include "tools/simcuda/names.h"

#include <inttypes.h>
#include <stddef.h>

#include "tools/simcuda/context.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/log.h"
#include "tools/simcuda/program.h"
#include "tools/simcuda/stream.h"

enum { REGISTERS_PER_THREAD = 32 };

struct CUmod_st {
    struct sim_object object;
    bool simulated; /* has the kernels of the simulator, and no others */
};

struct CUfunc_st {
    struct sim_object object;
    CUmodule module; /* with whose end it ends, if not with its context's */
    struct sim_program program;
};

static uint64_t skipped_launch_count;

/* A program that computes nothing must not look as if it had. Nothing is torn down: calls
   that come later still work. */
__attribute__((destructor)) static void report_skipped(void)
{
    if (skipped_launch_count > 0 && sim_device_ready())
        sim_log_say("simcuda: %" PRIu64 " kernel launch%s skipped\n",
                    skipped_launch_count, skipped_launch_count == 1 ? "" : "es");
}

CUresult sim_module_load(CUmodule *module, const void *image)
{
    if (module == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_capture_forbid();
    if (result != CUDA_SUCCESS)
        return result;
    CUmodule created =
        sim_object_create(SIM_MODULE, sizeof *created, sim_context_current());
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->simulated = sim_program_is_image(image);
    *module = created;
    return CUDA_SUCCESS;
}

CUresult sim_module_load_options(CUmodule *module, const void *image,
                                 unsigned option_count, int *options, void **values)
{
    if (option_count > 0 && (options == NULL || values == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_module_load(module, image);
}

CUresult sim_module_unload(CUmodule module)
{
    if (!sim_object_is(module, SIM_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    struct sim_object *object = LIST_FIRST(&module->object.owner->objects);
    while (object != NULL) {
        struct sim_object *next = LIST_NEXT(object, siblings);
        if (object->kind == SIM_FUNCTION && ((CUfunction)object)->module == module)
            sim_object_destroy(object);
        object = next;
    }
    sim_object_destroy(&module->object);
    return CUDA_SUCCESS;
}

CUresult sim_module_function(CUfunction *function, CUmodule module, const char *name)
{
    if (function == NULL || name == NULL || *name == '\0')
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_object_is(module, SIM_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    struct sim_program program = {SIM_PROGRAM_NONE, 0};
    if (module->simulated && !sim_program_find(name, &program))
        return CUDA_ERROR_NOT_FOUND;
    CUfunction created =
        sim_object_create(SIM_FUNCTION, sizeof *created, module->object.owner);
    if (created == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    created->module = module;
    created->program = program;
    *function = created;
    return CUDA_SUCCESS;
}

CUresult sim_module_global(CUdeviceptr *address, size_t *bytes, CUmodule module,
                           const char *name)
{
    if (name == NULL || (address == NULL && bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_object_is(module, SIM_MODULE) ? CUDA_ERROR_NOT_FOUND
                                             : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult check(CUfunction function)
{
    return sim_object_is(function, SIM_FUNCTION) ? CUDA_SUCCESS
                                                 : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_function_attribute(int *value, CUfunction_attribute attribute,
                                CUfunction function)
{
    static const int values[CU_FUNC_ATTRIBUTE_MAX] = {
        [CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = SIM_BLOCK_THREADS,
        [CU_FUNC_ATTRIBUTE_NUM_REGS] = REGISTERS_PER_THREAD,
        [CU_FUNC_ATTRIBUTE_PTX_VERSION] = 75,
        [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 75,
        [CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = SIM_SHARED_BYTES,
    };
    if (value == NULL || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check(function);
    if (result == CUDA_SUCCESS)
        *value = values[attribute];
    return result;
}

/* Settings change how a kernel would run, and none runs. */
CUresult sim_function_set_attribute(CUfunction function, CUfunction_attribute attribute,
                                    int value)
{
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX || value < 0)
        return CUDA_ERROR_INVALID_VALUE;
    return check(function);
}

CUresult sim_function_set_cache(CUfunction function, int preference)
{
    return preference < 0 ? CUDA_ERROR_INVALID_VALUE : check(function);
}

static bool is_launchable(unsigned x, unsigned y, unsigned z, uint64_t maximum)
{
    if (x == 0 || y == 0 || z == 0 || x > maximum || y > maximum || z > maximum)
        return false;
    return (uint64_t)x * y <= maximum && (uint64_t)x * y * z <= maximum;
}

CUresult sim_function_launch(CUfunction function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y,
                             unsigned block_z, unsigned shared_bytes, CUstream stream,
                             void **arguments, void **extra)
{
    CUresult result = check(function);
    if (result == CUDA_SUCCESS)
        result = sim_stream_check(stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_launchable(block_x, block_y, block_z, SIM_BLOCK_THREADS) || grid_x == 0 ||
        grid_y == 0 || grid_z == 0 || shared_bytes > SIM_SHARED_BYTES ||
        (arguments != NULL && extra != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_op op = {.kind = SIM_OP_NOTHING};
    if (function->program.kind == SIM_PROGRAM_NONE)
        skipped_launch_count++;
    else if (!sim_program_prepare(&function->program, arguments, &op))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_stream_run(stream, &op, false);
}

CUresult sim_occupancy_blocks(int *count, CUfunction function, int block_threads,
                              size_t shared_bytes)
{
    if (count == NULL || block_threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check(function);
    if (result == CUDA_SUCCESS)
        *count = shared_bytes <= SIM_SHARED_BYTES ? SIM_BLOCK_THREADS / block_threads : 0;
    return result;
}

CUresult sim_occupancy_blocks_flags(int *count, CUfunction function, int block_threads,
                                    size_t shared_bytes, unsigned flags)
{
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE
                     : sim_occupancy_blocks(count, function, block_threads, shared_bytes);
}

/* A program's own function would run under our lock. */
CUresult sim_occupancy_launch(int *grid, int *block_threads, CUfunction function,
                              size_t (*shared_bytes_of)(int), size_t shared_bytes,
                              int limit)
{
    if (shared_bytes_of != NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (grid == NULL || block_threads == NULL || limit < 0 ||
        shared_bytes > SIM_SHARED_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check(function);
    if (result != CUDA_SUCCESS)
        return result;
    *grid = SIM_MULTIPROCESSORS;
    *block_threads = limit == 0 || limit > SIM_BLOCK_THREADS ? SIM_BLOCK_THREADS : limit;
    return CUDA_SUCCESS;
}

CUresult sim_occupancy_launch_flags(int *grid, int *block_threads, CUfunction function,
                                    size_t (*shared_bytes_of)(int), size_t shared_bytes,
                                    int limit, unsigned flags)
{
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE
                     : sim_occupancy_launch(grid, block_threads, function,
                                            shared_bytes_of, shared_bytes, limit);
}

#include "tests/gpu/probe.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_driver driver;

_Noreturn void probe_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("gpu_probe: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

/* Drivers that the library supports may lack these. */
static bool is_optional(const char *symbol)
{
    static const char *const optional[] = {
        "cuGetProcAddress", "cuGetProcAddress_v2", "cuDeviceGetDefaultMemPool",
        "cuMemAllocAsync",  "cuMemFreeAsync",      "cuMemPoolGetAttribute",
        "cuMemPoolTrimTo",
    };
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (strcmp(symbol, optional[i]) == 0)
            return true;
    return false;
}

static void fetch(const char *symbol, void *field)
{
    void *found = dlsym(driver.library, symbol);
    memcpy(field, &found, sizeof found);
    if (found == NULL && !is_optional(symbol))
        probe_fail(PROBE_TROUBLE, "no driver: libcuda.so.1 has no %s", symbol);
}

static void open_library(void)
{
    driver.library = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver.library == NULL)
        probe_fail(PROBE_TROUBLE, "no driver: %s", dlerror());
#define FETCH(symbol, parameters) fetch(#symbol, &driver.symbol);
    PROBE_CALLS(FETCH)
#undef FETCH
}

static void initialise(void)
{
    int count = 0;
    CUresult result = driver.cuInit(0);
    if (result != CUDA_SUCCESS)
        probe_fail(PROBE_TROUBLE, "no device: cuInit answers %d", result);
    result = driver.cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS || count == 0)
        probe_fail(PROBE_TROUBLE, "no device: cuDeviceGetCount answers %d, %d devices",
                   result, count);
}

void probe_open(void)
{
    CUcontext context;
    initialise();
    CUresult result = driver.cuCtxCreate_v2(&context, 0, 0);
    if (result != CUDA_SUCCESS)
        probe_fail(PROBE_TROUBLE, "no context: cuCtxCreate_v2 answers %d", result);
}

bool probe_has(CUdevice_attribute attribute)
{
    int value = 0;
    return driver.cuDeviceGetAttribute(&value, attribute, 0) == CUDA_SUCCESS &&
           value != 0;
}

static void print_library(void)
{
    Dl_info info;
    void *function;
    memcpy(&function, &driver.cuDriverGetVersion, sizeof function);
    char *path = dladdr(function, &info) ? realpath(info.dli_fname, NULL) : NULL;
    printf("device\tdriver_path\t%s\n", path ? path : "unknown");
    free(path);
}

void probe_device(void)
{
    static const struct {
        const char *name;
        CUdevice_attribute attribute;
    } features[] = {
        {"managed_memory", CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY},
        {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
        {"virtual_memory", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
        {"compute_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {"compute_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
    };
    int version = 0, count = 0;
    char name[256] = "";
    size_t bytes = 0;
    initialise();
    (void)driver.cuDriverGetVersion(&version);
    (void)driver.cuDeviceGetCount(&count);
    (void)driver.cuDeviceGetName(name, sizeof name, 0);
    (void)driver.cuDeviceTotalMem_v2(&bytes, 0);
    print_library();
    printf("device\tdriver_version\t%d\n", version);
    printf("device\tdevices\t%d\n", count);
    printf("device\tname\t%s\n", name);
    printf("device\ttotal_bytes\t%zu\n", bytes);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        int value = 0;
        CUresult result = driver.cuDeviceGetAttribute(&value, features[i].attribute, 0);
        printf("device\t%s\t%d\n", features[i].name, result == CUDA_SUCCESS ? value : -1);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} commands[] = {
    {"device", probe_device}, {"lookups", probe_lookups}, {"memory", probe_memory},
    {"times", probe_times},   {"answers", probe_answers}, {"apart", probe_apart},
};

static bool run(const char *command)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(command, commands[i].name) == 0) {
            commands[i].run();
            return true;
        }
    return false;
}

int main(int count, char **arguments)
{
    bool one = count == 3 && strcmp(arguments[1], "answer") == 0;
    if (count != 2 && !one)
        probe_fail(PROBE_TROUBLE, "usage: gpu_probe device|lookups|memory|times|answers|"
                                  "apart, or answer NAME");
    open_library();
    if (!(one ? probe_answer(arguments[2]) : run(arguments[1])))
        probe_fail(PROBE_TROUBLE, "there is no %s", arguments[count - 1]);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

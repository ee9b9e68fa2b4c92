/* A knob does what its row says, and a bad one is said aloud and stops cuInit. Kernels
   are refused unless skipping was asked for, and skipped ones are told at the end. */
#include "tests/sim_driver.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char said[4096];

static void read_all(int descriptor)
{
    ssize_t length = pread(descriptor, said, sizeof said - 1, 0);
    ck_assert_int_ge(length, 0);
    said[length] = '\0';
}

/* Everything that `act` and the end of its process write to standard error is in `said`;
   returns its exit status. */
static int listen_to(void (*act)(void))
{
    int status;
    int descriptor = memfd_create("stderr", MFD_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(descriptor, STDERR_FILENO);
        act();
        exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    read_all(descriptor);
    close(descriptor);
    return status;
}

static void init_or_say_why(void)
{
    sim_load();
    CUresult result = sim.cuInit(0);
    if (result != CUDA_SUCCESS)
        _exit(result);
}

static void check_refused(const char *name, const char *value, const char *rule)
{
    setenv(name, value, 1);
    int status = listen_to(init_or_say_why);
    unsetenv(name);
    ck_assert_int_eq(WEXITSTATUS(status), CUDA_ERROR_INVALID_VALUE);
    ck_assert_msg(strncmp(said, "simcuda: ", 9) == 0, "%s", said);
    ck_assert_ptr_nonnull(strstr(said, name));
    ck_assert_ptr_nonnull(strstr(said, value));
    ck_assert_msg(strstr(said, rule) != NULL, "%s", said);
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
}

START_TEST(a_malformed_knob_is_said_and_stops_init)
{
    check_refused("SIMCUDA_MEM", "1 parsec", "a size of at least 512 bytes");
    check_refused("SIMCUDA_MEM", "511", "a size of at least 512 bytes");
    check_refused("SIMCUDA_MEM", "", "a size of at least 512 bytes");
    check_refused("SIMCUDA_MEM", "-1", "a size of at least 512 bytes");
    check_refused("SIMCUDA_DEVICES", "17", "a number from 0 to 16");
    check_refused("SIMCUDA_DEVICES", "+1", "a number from 0 to 16");
    check_refused("SIMCUDA_DEVICES", "1x", "a number from 0 to 16");
    check_refused("SIMCUDA_KERNELS", "run", "refuse or skip");
    check_refused("SIMCUDA_FREED", "forget", "keep or unmap");
    check_refused("SIMCUDA_POISON", "1", "on or off");
    check_refused("SIMCUDA_LOG", "/nonexistent/log", "a file that can be appended to");
    check_refused("SIMCUDA_ALLOC_US", "-1", "microseconds, at most 1000000");
    check_refused("SIMCUDA_FREE_US", "1.5", "microseconds, at most 1000000");
    check_refused("SIMCUDA_PIN_US_PER_MB", "1000001", "microseconds, at most 1000000");
    check_refused("SIMCUDA_STREAM_DELAY_US", "x", "microseconds or LOW-HIGH");
    check_refused("SIMCUDA_STREAM_DELAY_US", "2-1", "microseconds or LOW-HIGH");
    check_refused("SIMCUDA_STREAM_DELAY_US", "1-2000000", "microseconds or LOW-HIGH");
    check_refused("SIMCUDA_CONTEXT_MEM", "-1", "a size, such as 300MiB, or 0");
    check_refused("SIMCUDA_VERSION", "12020", "in the folders simcuda-11.4 and");
    check_refused("SIMCUDA_VERSION", "13.0", "in the folders simcuda-11.4 and");
    check_refused("SIMCUDA_FAIL", "cuMemAlloc_v2", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_FAIL", "cuMemAlloc_v2:0", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_FAIL", "cuMemAlloc_v2:1,", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_FAIL", "cuMemAlloc_v2:1:x", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_FAIL", "cuNoSuchFunction:1", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_STICKY", "cuMemAlloc_v:1", "NAME:N or NAME:N:CODE");
    check_refused("SIMCUDA_MEMORY", "1GiB", "no such knob");
}
END_TEST

START_TEST(without_knobs_there_is_one_device_of_a_gibibyte)
{
    ck_assert_int_eq(listen_to(init_or_say_why), 0);
    ck_assert_str_eq(said, "");
    sim_load();
    int count;
    size_t bytes;
    ck_assert_int_eq(sim.cuInit(0), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuDeviceGetCount(&count), CUDA_SUCCESS);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(sim.cuDeviceTotalMem_v2(&bytes, 0), CUDA_SUCCESS);
    ck_assert_uint_eq(bytes, 1 << 30);
}
END_TEST

START_TEST(no_devices_is_an_answer)
{
    setenv("SIMCUDA_DEVICES", "0", 1);
    sim_load();
    ck_assert_int_eq(sim.cuInit(0), CUDA_ERROR_NO_DEVICE);
}
END_TEST

START_TEST(the_log_has_a_line_for_each_call)
{
    char path[64];
    char expected[512];
    int descriptor = memfd_create("log", MFD_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    setenv("SIMCUDA_LOG", path, 1);
    sim_start_context("1MiB");
    unsigned long long address = sim_allocate(1000);
    CUdeviceptr none;
    ck_assert_int_eq(sim.cuMemAlloc_v2(&none, 1 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    ck_assert_int_eq(sim.cuMemFree_v2(address), CUDA_SUCCESS);
    read_all(descriptor);
    close(descriptor);
    snprintf(expected, sizeof expected,
             "cuInit result=0\n"
             "cuCtxCreate_v2 result=0\n"
             "cuMemAlloc_v2 address=0x%llx bytes=1000 result=0\n"
             "cuMemAlloc_v2 address=0x0 bytes=1048576 result=2\n"
             "cuMemFree_v2 address=0x%llx bytes=1000 result=0\n",
             address, address);
    ck_assert_str_eq(said, expected);
}
END_TEST

START_TEST(kernels_are_refused_by_default)
{
    CUmodule module;
    sim_start_context("1MiB");
    ck_assert_int_eq(sim.cuModuleLoadData(&module, "image"), CUDA_ERROR_NOT_SUPPORTED);
    ck_assert_int_eq(sim.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

static void launch_three_times(void)
{
    CUmodule module;
    CUfunction function;
    setenv("SIMCUDA_KERNELS", "skip", 1);
    sim_start_context("1MiB");
    if (sim.cuModuleLoadDataEx(&module, "image", 0, NULL, NULL) != CUDA_SUCCESS ||
        sim.cuModuleGetFunction(&function, module, "kernel") != CUDA_SUCCESS)
        _exit(EXIT_FAILURE);
    for (int i = 0; i < 3; i++)
        if (sim.cuLaunchKernel(function, 70000, 2, 3, 1024, 1, 1, 0, NULL, NULL, NULL) !=
            0)
            _exit(EXIT_FAILURE);
}

START_TEST(skipped_launches_are_told_at_the_end)
{
    ck_assert_int_eq(listen_to(launch_three_times), 0);
    ck_assert_str_eq(said, "simcuda: 3 kernel launches skipped\n");
}
END_TEST

START_TEST(skipped_kernels_are_still_checked)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr address;
    int value;
    setenv("SIMCUDA_KERNELS", "skip", 1);
    sim_start_context("1MiB");
    ck_assert_int_eq(sim.cuModuleLoadFatBinary(&module, "image"), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetFunction(&function, module, "kernel"), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuModuleGetGlobal_v2(&address, NULL, module, "global"),
                     CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(
        sim.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
        CUDA_SUCCESS);
    ck_assert_int_eq(value, 1024);
    ck_assert_int_eq(
        sim.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0),
        CUDA_SUCCESS);
    ck_assert_int_eq(value, 4);
    ck_assert_int_eq(
        sim.cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL),
        CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(sim.cuModuleUnload(module), CUDA_SUCCESS);
    ck_assert_int_eq(sim.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
    ck_assert_int_eq(sim.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(the_readme_has_every_knob_as_it_is)
{
    static const char table[] = "<!-- knobs -->\n"
                                "| knob | else | what it takes | what it decides |\n"
                                "|---|---|---|---|\n"
#define KNOB(field, type, initial, environment, rule, help)                              \
    "| `" environment "` | " initial " | " rule " | " help " |\n"
#include "tools/simcuda/knobs.def"
#undef KNOB
                                "<!-- /knobs -->\n";
    static char text[1 << 20];
    FILE *readme = fopen(TESTS_README, "re");
    ck_assert_ptr_nonnull(readme);
    size_t length = fread(text, 1, sizeof text - 1, readme);
    fclose(readme);
    text[length] = '\0';
    ck_assert_msg(strstr(text, table) != NULL, "not in %s:\n%s", TESTS_README, table);
}
END_TEST

SUITE_MAIN("simcuda/knobs", the_readme_has_every_knob_as_it_is,
           a_malformed_knob_is_said_and_stops_init,
           without_knobs_there_is_one_device_of_a_gibibyte, no_devices_is_an_answer,
           the_log_has_a_line_for_each_call, kernels_are_refused_by_default,
           skipped_launches_are_told_at_the_end, skipped_kernels_are_still_checked)

#include "shim/inspected.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#include "pool/text.h"
#include "shim/environment.h"
#include "shim/host_clear.h"
#include "shim/kernel.h"

static bool read_file(const char *path, char *text, size_t capacity)
{
    long file =
        shim_kernel(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0)
        return false;
    long length = shim_kernel_3(SYS_read, file, (long)text, (long)capacity - 1);
    (void)shim_kernel_3(SYS_close, file, 0, 0);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* The process that traces this one; 0: none. */
static uint64_t tracer(void)
{
    static const char field[] = "\nTracerPid:\t";
    char text[2048];
    uint64_t process = 0;
    if (!read_file("/proc/self/status", text, sizeof(text)))
        return 0;
    const char *digit = strstr(text, field);
    if (!digit)
        return 0;
    for (digit += sizeof(field) - 1; *digit >= '0' && *digit <= '9'; digit++)
        process = process * 10 + (uint64_t)(*digit - '0');
    return process;
}

/* A debugger that attaches later is not seen. */
static bool is_debugged(void)
{
    char path[64], name[32];
    uint64_t process = shim_clear_may_read_files() ? tracer() : 0;
    if (process == 0)
        return false;
    struct pool_text text = {.bytes = path, .capacity = sizeof(path) - 1};
    pool_text_put(&text, "/proc/");
    pool_text_put_number(&text, process);
    pool_text_put(&text, "/comm");
    path[text.length] = '\0';
    return read_file(path, name, sizeof(name)) && strstr(name, "cuda-gdb");
}

static bool any_begins_with(const char *prefix)
{
    for (char **entry = shim_environment(); *entry; entry++)
        if (strncmp(*entry, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* Sources: the documentation of Compute Sanitizer and of CUPTI (injection of a library by
   CUDA_INJECTION64_PATH); valgrind(1) preloads its own objects. */
const char *shim_inspected(void)
{
    const char *preload = shim_environment_get("LD_PRELOAD");
    if (any_begins_with("NV_SANITIZER"))
        return "compute-sanitizer (NV_SANITIZER)";
    if (shim_environment_get("CUDA_INJECTION64_PATH"))
        return "a tool of CUDA_INJECTION64_PATH";
    if (preload && strstr(preload, "vgpreload"))
        return "valgrind";
    return is_debugged() ? "cuda-gdb" : NULL;
}

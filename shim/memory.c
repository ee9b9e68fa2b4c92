#include "shim/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "pool/text.h"
#include "shim/host_clear.h"
#include "shim/kernel.h"

/* On the stack, which reaches no further than it must: a page of it that was never touched is
   one more fault of the bind that asks first. */
enum { PATH_BYTES = 4096 };

static bool read_file(const char *path, char *text, size_t bytes)
{
    long file =
        shim_kernel(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (file < 0)
        return false;
    long length = shim_kernel_3(SYS_read, file, (long)text, (long)bytes - 1);
    (void)shim_kernel_3(SYS_close, file, 0, 0);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

/* "max" and the like are no limit. */
static uint64_t read_limit(const char *path)
{
    char text[64];
    uint64_t limit = 0;
    if (!read_file(path, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
        return UINT64_MAX;
    for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++)
        limit = limit * 10 + (uint64_t)(*digit - '0');
    return limit;
}

struct hierarchy {
    const char *root, *mount; /* where its groups lie */
    const char *prefix; /* of its line in /proc/self/cgroup, to the slash of its path */
    const char *file;   /* that holds a group's limit */
};

/* How far the line goes on from here. */
static size_t rest_of_line(const char *text)
{
    size_t length = 0;
    while (text[length] != '\0' && text[length] != '\n')
        length++;
    return length;
}

/* Every group from ours up to the root may set a limit. Those that lie outside of what this
   process can see have no file here, and a path that is too long for us is too long for the
   kernel. */
static uint64_t least_limit(const struct hierarchy *in, const char *groups)
{
    char path[PATH_BYTES];
    struct pool_text text = {.bytes = path, .capacity = sizeof(path)};
    const char *line = strstr(groups, in->prefix);
    const char *own = line ? line + strlen(in->prefix) - 1 : "";
    size_t own_bytes = rest_of_line(own), file_bytes = strlen(in->file) + 1;
    uint64_t least = UINT64_MAX;
    pool_text_put(&text, in->root);
    pool_text_put(&text, in->mount);
    if (own_bytes == 0 || text.length + own_bytes + file_bytes > sizeof(path))
        return least;
    memcpy(path + text.length, own, own_bytes);
    size_t end = text.length + own_bytes;
    for (;;) {
        memcpy(path + end, in->file, file_bytes);
        uint64_t limit = read_limit(path);
        least = limit < least ? limit : least;
        if (end == text.length)
            return least;
        while (path[--end] != '/')
            continue;
    }
}

uint64_t shim_memory_group_limit(const char *groups, const char *root)
{
    /* Both versions may be mounted; the memory controller is then in one of them. */
    const struct hierarchy second = {root, "", "0::/", "/memory.max"};
    const struct hierarchy first = {root, "/memory", ":memory:/",
                                    "/memory.limit_in_bytes"};
    uint64_t limit = least_limit(&second, groups);
    uint64_t other = least_limit(&first, groups);
    return limit < other ? limit : other;
}

uint64_t shim_memory_usable(void)
{
    struct sysinfo machine;
    char groups[PATH_BYTES];
    uint64_t usable = UINT64_MAX, group = UINT64_MAX;
    if (shim_kernel_3(SYS_sysinfo, (long)&machine, 0, 0) == 0)
        usable = (uint64_t)machine.totalram * machine.mem_unit;
    if (shim_clear_may_read_files() &&
        read_file("/proc/self/cgroup", groups, sizeof(groups)))
        group = shim_memory_group_limit(groups, "/sys/fs/cgroup");
    return group < usable ? group : usable;
}

static bool is_limited(int resource)
{
    struct rlimit64 limit;
    return shim_kernel(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) == 0 &&
           limit.rlim_cur != RLIM64_INFINITY;
}

const char *shim_memory_counted(void)
{
    char text[8];
    if (is_limited(RLIMIT_AS))
        return "off: the address space is limited (RLIMIT_AS)";
    if (is_limited(RLIMIT_DATA))
        return "off: data is limited (RLIMIT_DATA)";
    if (read_file("/proc/sys/vm/overcommit_memory", text, sizeof(text)) && text[0] == '2')
        return "off: memory is committed strictly (vm.overcommit_memory=2)";
    return NULL;
}

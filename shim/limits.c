#include "shim/limits.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/elf.h"
#include "shim/host.h"
#include "shim/kernel.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limits);
EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limits);
EXPORT int prlimit(__pid_t process, __rlimit_resource_t resource,
                   const struct rlimit *limits, struct rlimit *old);
EXPORT int prlimit64(__pid_t process, __rlimit_resource_t resource,
                     const struct rlimit64 *limits, struct rlimit64 *old);
EXPORT int mlockall(int flags);

_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one form on 64 bits");

/* The definitions after ours; each written with the same value by whoever comes first. */
static _Atomic(void *) next_prctl, next_syscall;

static void *next(_Atomic(void *) *slot, const char *name)
{
    void *function = atomic_load_explicit(slot, memory_order_relaxed);
    if (!function) {
        function = (void *)shim_elf_next_definition(name);
        atomic_store_explicit(slot, function, memory_order_relaxed);
    }
    return function;
}

struct shim_loader_answer shim_limits_pick_prctl(int option, unsigned long mode,
                                                 const void *caller)
{
    (void)mode;
    (void)caller;
    if (option == PR_SET_SECCOMP)
        shim_host_expect_filter();
    return (struct shim_loader_answer){.jump = next(&next_prctl, "prctl")};
}

struct shim_loader_answer shim_limits_pick_syscall(long number, unsigned long operation,
                                                   const void *caller)
{
    (void)operation;
    (void)caller;
    if (number == SYS_seccomp)
        shim_host_expect_filter();
    return (struct shim_loader_answer){.jump = next(&next_syscall, "syscall")};
}

/* As the C library would return it. */
static int returned(long result)
{
    if (result >= 0)
        return 0;
    errno = (int)-result;
    return -1;
}

/* The process whose memory this is: a child of vfork has limits of its own and its parent's
   memory. 0: not known yet. A figure that only its own process writes: relaxed. */
static _Atomic pid_t owner;

void shim_limits_own(void)
{
    atomic_store_explicit(&owner, getpid(), memory_order_relaxed);
}

static bool is_owner(void)
{
    pid_t known = atomic_load_explicit(&owner, memory_order_relaxed);
    return known == 0 || known == getpid();
}

static void note_limit(int resource)
{
    if (resource == RLIMIT_AS)
        shim_host_close("off: the program limited its address space (RLIMIT_AS)");
    if (resource == RLIMIT_DATA)
        shim_host_close("off: the program limited its data (RLIMIT_DATA)");
}

/* The wrapper of the C library does just this: prlimit64 is what they all become. */
static int set_limit(pid_t process, int resource, const struct rlimit64 *limits,
                     struct rlimit64 *old)
{
    long result =
        shim_kernel(SYS_prlimit64, process, resource, (long)limits, (long)old, 0, 0);
    bool ours = process == 0 || process == getpid();
    if (result == 0 && ours && is_owner() && limits &&
        limits->rlim_cur != RLIM64_INFINITY)
        note_limit(resource);
    return returned(result);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limits)
{
    return set_limit(0, (int)resource, limits, NULL);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limits)
{
    return set_limit(0, (int)resource, (const struct rlimit64 *)limits, NULL);
}

int prlimit64(__pid_t process, __rlimit_resource_t resource,
              const struct rlimit64 *limits, struct rlimit64 *old)
{
    return set_limit(process, (int)resource, limits, old);
}

int prlimit(__pid_t process, __rlimit_resource_t resource, const struct rlimit *limits,
            struct rlimit *old)
{
    return set_limit(process, (int)resource, (const struct rlimit64 *)limits,
                     (struct rlimit64 *)old);
}

/* RLIMIT_MEMLOCK counts address space, not memory. */
int mlockall(int flags)
{
    long result = shim_kernel_3(SYS_mlockall, flags, 0, 0);
    if (result == -ENOMEM) {
        shim_host_shed();
        result = shim_kernel_3(SYS_mlockall, flags, 0, 0);
    }
    if (result == -ENOMEM) {
        shim_host_close("off: locked memory is limited (RLIMIT_MEMLOCK)");
        result = shim_kernel_3(SYS_mlockall, flags, 0, 0);
    }
    return returned(result);
}

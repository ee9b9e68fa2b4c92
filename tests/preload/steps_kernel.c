/* The steps that ask something of the kernel: limits, locks, mappings, filters and figures. */
#define _GNU_SOURCE
#include "steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long marked_faults;

void step_map(char **arguments)
{
    size_t size = step_size(arguments[0]);
    void *bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    step_say("mapped", bytes != MAP_FAILED);
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
}

static void *return_it(void *argument)
{
    return argument;
}

void step_thread(char **arguments)
{
    pthread_t thread;
    (void)arguments;
    int error = pthread_create(&thread, NULL, return_it, NULL);
    if (error == 0)
        pthread_join(thread, NULL);
    step_say("thread", error == 0);
}

static int resource_of(const char *name)
{
    return strcmp(name, "data") == 0 ? RLIMIT_DATA : RLIMIT_AS;
}

void step_limit(char **arguments)
{
    struct rlimit limit = {step_size(arguments[1]), step_size(arguments[1])};
    step_say("limited", setrlimit(resource_of(arguments[0]), &limit) == 0);
}

/* By the system call itself, as a runtime of another language makes it. */
void step_limit_unseen(char **arguments)
{
    struct rlimit limit = {step_size(arguments[1]), step_size(arguments[1])};
    long result, resource = resource_of(arguments[0]);
    register long old __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_prlimit64), "D"(0L), "S"(resource), "d"(&limit), "r"(old)
                     : "rcx", "r11", "memory");
    step_say("limited", result == 0);
}

void step_vfork_limit(char **arguments)
{
    pid_t child = vfork();
    if (child == 0) {
        struct rlimit limit = {step_size(arguments[1]), step_size(arguments[1])};
        _exit(setrlimit(resource_of(arguments[0]), &limit) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    step_say("vforked", status == 0);
}

void step_lock(char **arguments)
{
    (void)arguments;
    step_say("locked", mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
}

/* Makes mappings until one more is refused, and then so many fewer. */
void step_shatter(char **arguments)
{
    size_t size = (size_t)1 << 30, at = 0;
    char *bytes =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    while (at < size && mprotect(bytes + at, PAGE, PROT_READ) == 0)
        at += 2 * PAGE;
    step_say("shattered", at < size);
    /* The page before `at` and all behind it are one mapping, every other page is one. */
    size_t left = at - strtoul(arguments[0], NULL, 10) * PAGE;
    if (left < at)
        munmap(bytes + left, size - left);
}

/* In MiB. Reads by system calls: stdio would allocate. */
void step_resident(char **arguments)
{
    char text[128] = "";
    (void)arguments;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = read(file, text, sizeof(text) - 1);
    close(file);
    char *second = length > 0 ? strchr(text, ' ') : NULL;
    step_say("resident", second ? strtol(second, NULL, 10) * PAGE / MIB : -1);
}

static long faults_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

void step_mark(char **arguments)
{
    (void)arguments;
    marked_faults = faults_now();
}

void step_faults(char **arguments)
{
    (void)arguments;
    step_say("faults", faults_now() - marked_faults);
}

/* MiB of all mappings for which huge pages were asked for. */
void step_huge(char **arguments)
{
    static char line[1024];
    long kib = 0, total = 0;
    (void)arguments;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "Size: %ld kB", &kib);
        if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg"))
            total += kib;
    }
    if (file)
        fclose(file);
    step_say("huge", total / 1024);
}

bool step_is_swapped(const unsigned char *bytes)
{
    uint64_t entry = 0;
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)((uintptr_t)bytes / PAGE * sizeof(entry));
    bool read_it = pread(file, &entry, sizeof(entry), at) == sizeof(entry);
    close(file);
    return read_it && entry >> 62 & 1;
}

/* From here on these calls end the process, or are refused. */
static bool install(const int *calls, unsigned action, bool by_prctl)
{
    struct sock_filter steps[32] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    for (; *calls; calls++) {
        steps[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                       (unsigned)*calls, 0, 1);
        steps[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    steps[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0
                    : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

#define ASKING SYS_ioctl, SYS_openat, SYS_open, SYS_pread64, SYS_sysinfo, SYS_prlimit64

static const struct filter {
    const char *name;
    unsigned action;
    int calls[8]; /* up to a 0 */
} filters[] = {
    {"prctl", SECCOMP_RET_KILL_PROCESS, {ASKING}},
    {"seccomp", SECCOMP_RET_KILL_PROCESS, {ASKING}},
    {"ioctl", SECCOMP_RET_KILL_PROCESS, {SYS_ioctl}},
    {"lock", SECCOMP_RET_ERRNO | ENOMEM, {SYS_mlockall}},
    {"move", SECCOMP_RET_ERRNO | EFAULT, {SYS_mremap}},
};

void step_filter(char **arguments)
{
    bool by_prctl = strcmp(arguments[0], "seccomp") != 0, set = false;
    for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
        if (strcmp(filters[i].name, arguments[0]) == 0)
            set = install(filters[i].calls, filters[i].action, by_prctl);
    step_say("filtered", set);
}

/* Mappings of so many bytes and more are refused from here on. */
void step_crowd(char **arguments)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]) + 4),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)(step_size(arguments[0]) >> 32), 0,
                 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(steps) / sizeof(*steps), steps};
    step_say("crowded",
             prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
}

/* Binds of one block each, and what they cost as the kernel counts it:

     mirror BYTES BINDS none|page|all|thread|filter

   touches nothing, a page in the middle or all of the block, or has a thread free it, or installs
   a seccomp filter that ends it for asking what it used; prints the minor faults of each
   bind on one line, and knows nothing of any allocator. Huge pages are out of the way. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static long minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* From then on getrusage ends the process. */
static void install_filter(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(1);
}

static void run_filtered(size_t bytes, int binds)
{
    for (int i = 0; i < binds; i++) {
        char *volatile block = malloc(bytes);
        free(block);
        if (i == 0)
            install_filter();
    }
    puts("filtered");
}

static void *release(void *block)
{
    free(block);
    return NULL;
}

static void release_in_thread(void *block)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, release, block) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    static long faults[1000];
    size_t bytes = strtoul(arguments[1], NULL, 10);
    int binds = atoi(arguments[2]);
    if (count != 4 || binds < 1 || binds > 1000)
        return 2;
    if (arguments[3][0] == 'f') {
        run_filtered(bytes, binds);
        return 0;
    }
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    minor_faults();
    for (int i = 0; i < binds; i++) {
        long before = minor_faults();
        char *volatile block = malloc(bytes);
        if (arguments[3][0] == 'p')
            block[bytes / 2] = 1;
        if (arguments[3][0] == 'a')
            memset(block, i, bytes);
        if (arguments[3][0] == 't')
            release_in_thread(block);
        else
            free(block);
        faults[i] = minor_faults() - before;
    }
    for (int i = 0; i < binds; i++)
        printf("%ld%c", faults[i], i + 1 < binds ? ' ' : '\n');
    return 0;
}

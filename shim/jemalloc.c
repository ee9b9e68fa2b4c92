/* What the private jemalloc gets from us in place of symbols of the same meaning. */
#include "shim/jemalloc.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "shim/host.h"
#include "shim/kernel.h"

/* What must hold: nothing printed, nobody aborted, no thread of ours. jemalloc reads this
   after every other source of settings. */
extern const char *jemalloc_malloc_conf_2_conf_harder;
const char *jemalloc_malloc_conf_2_conf_harder =
    "abort:false,abort_conf:false,confirm_conf:false,stats_print:false,junk:false,"
    "zero:false,background_thread:false,prof:false";

/* A figure: relaxed. */
_Atomic uint64_t shim_jemalloc_calls;

/* _Unwind_Backtrace, _Unwind_GetIP, and exp, log and round of the profiler, which stays off:
   libgcc's unwinder is not linked, and libm not loaded into every program. */
int shim_jemalloc_backtrace(void);
unsigned long shim_jemalloc_get_ip(void);
double shim_jemalloc_exp(double x);
double shim_jemalloc_log(double x);
double shim_jemalloc_round(double x);

/* MALLOC_CONF and /etc/malloc.conf are meant for the program's own copy, not for this one. */
char *shim_jemalloc_getenv(const char *name);
ssize_t shim_jemalloc_readlink(const char *path, char *target, size_t bytes);

/* Its memory system calls, counted. Signatures of mmap(2) and its kin. */
void *shim_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int file,
                         off_t offset);
int shim_jemalloc_munmap(void *address, size_t bytes);
int shim_jemalloc_madvise(void *address, size_t bytes, int advice);
int shim_jemalloc_mprotect(void *address, size_t bytes, int protection);

int shim_jemalloc_backtrace(void)
{
    return 0;
}

unsigned long shim_jemalloc_get_ip(void)
{
    return 0;
}

double shim_jemalloc_exp(double x)
{
    return x;
}

double shim_jemalloc_log(double x)
{
    return x;
}

double shim_jemalloc_round(double x)
{
    return x;
}

char *shim_jemalloc_getenv(const char *name)
{
    (void)name;
    return NULL;
}

ssize_t shim_jemalloc_readlink(const char *path, char *target, size_t bytes)
{
    (void)path;
    (void)target;
    (void)bytes;
    errno = ENOENT;
    return -1;
}

/* jemalloc's look-up from (bytes + 7) / 8 to a size class; filled when it boots, read for every
   small size by allocation, sized deallocation and nallocx alike. */
extern uint8_t je_sz_size2index_tab[] __attribute__((visibility("hidden")));

void shim_jemalloc_open(void)
{
    jemalloc_free(jemalloc_malloc(16));
    uint8_t class_of_16 = je_sz_size2index_tab[2];
    je_sz_size2index_tab[0] = class_of_16;
    je_sz_size2index_tab[1] = class_of_16;
}

/* opt.retain, which has no name in mallctl to set it by. Without it jemalloc only merges less
   than it could, so that it may change at any time. */
extern _Atomic bool je_opt_retain __attribute__((visibility("hidden")));

void shim_jemalloc_retain_nothing(void)
{
    atomic_store_explicit(&je_opt_retain, false, memory_order_relaxed);
}

bool shim_jemalloc_purge(void)
{
    /* MALLCTL_ARENAS_ALL is 4096. */
    return jemalloc_mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0;
}

static void count(void)
{
    atomic_fetch_add_explicit(&shim_jemalloc_calls, 1, memory_order_relaxed);
}

/* As the C library would return it. */
static long returned(long result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

void *shim_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int file,
                         off_t offset)
{
    count();
    long result = shim_kernel(SYS_mmap, (long)address, (long)bytes, protection, flags,
                              file, offset);
    if (result == -ENOMEM && shim_host_make_room()) {
        count();
        result = shim_kernel(SYS_mmap, (long)address, (long)bytes, protection, flags,
                             file, offset);
    }
    return (void *)returned(result);
}

int shim_jemalloc_munmap(void *address, size_t bytes)
{
    count();
    return (int)returned(shim_kernel_3(SYS_munmap, (long)address, (long)bytes, 0));
}

int shim_jemalloc_madvise(void *address, size_t bytes, int advice)
{
    count();
    return (int)returned(shim_kernel_3(SYS_madvise, (long)address, (long)bytes, advice));
}

int shim_jemalloc_mprotect(void *address, size_t bytes, int protection)
{
    count();
    return (int)returned(
        shim_kernel_3(SYS_mprotect, (long)address, (long)bytes, protection));
}

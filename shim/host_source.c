#include "shim/host_source.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shim/kernel.h"

/* A figure: relaxed. */
_Atomic uint64_t shim_retained_calls;

static void count(void)
{
    atomic_fetch_add_explicit(&shim_retained_calls, 1, memory_order_relaxed);
}

/* The large reservation is asked for below everything that the kernel places by itself, so
   that one comparison tells most pointers that they are not in it; free of what is placed
   by hint elsewhere (Go's arenas, compressed heaps of Java, sanitizers' shadows). A hint only:
   elsewhere is slower, never wrong. Shifted at random, as the kernel would have done. */
#define HINT_BASE UINT64_C(0x200000000000)
enum { HINT_LEAST_SHIFT = 32, HINT_RANDOM_BITS = 12, HINT_UNIT_SHIFT = 21 };

static uint64_t hint_for(size_t bytes)
{
    if (bytes < (size_t)1 << HINT_LEAST_SHIFT)
        return 0;
    const uint16_t *random = (const uint16_t *)getauxval(AT_RANDOM);
    uint64_t shift = random ? *random & ((1u << HINT_RANDOM_BITS) - 1) : 0;
    return HINT_BASE + (shift << HINT_UNIT_SHIFT);
}

static void *reserve(size_t bytes)
{
    count();
    long address = shim_kernel(SYS_mmap, (long)hint_for(bytes), (long)bytes, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address < 0 ? NULL : (void *)address;
}

static bool enable(void *address, size_t bytes)
{
    count();
    return shim_kernel_3(SYS_mprotect, (long)address, (long)bytes,
                         PROT_READ | PROT_WRITE) == 0;
}

static void release(void *address, size_t bytes)
{
    count();
    (void)shim_kernel_3(SYS_munmap, (long)address, (long)bytes, 0);
}

/* MADV_DONTNEED, not MADV_FREE: what was given back is gone from the process's size at once. */
static bool discard(void *address, size_t bytes)
{
    count();
    return shim_kernel_3(SYS_madvise, (long)address, (long)bytes, MADV_DONTNEED) == 0;
}

const struct pool_source shim_host_source = {reserve, enable, release, discard};

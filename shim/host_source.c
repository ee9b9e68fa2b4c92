#include "shim/host_source.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "shim/host_charge.h"
#include "shim/kernel.h"
#include "shim/say.h"

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

/* MADV_DONTNEED, not MADV_FREE: what was given back is gone from the process's size at once. */
static bool discard(void *address, size_t bytes)
{
    count();
    return shim_kernel_3(SYS_madvise, (long)address, (long)bytes, MADV_DONTNEED) == 0;
}

static bool discard_charged(void *address, size_t bytes)
{
    if (!discard(address, bytes))
        return false;
    shim_host_refund(bytes);
    return true;
}

/* The hole may be one mapping too many; then the memory alone goes back. */
static void release(void *address, size_t bytes)
{
    count();
    if (shim_kernel_3(SYS_munmap, (long)address, (long)bytes, 0) != 0)
        (void)discard(address, bytes);
}

static void prefer_huge(void *address, size_t bytes)
{
    count();
    (void)shim_kernel_3(SYS_madvise, (long)address, (long)bytes, MADV_HUGEPAGE);
}

static bool advise_fork(void *address, size_t bytes, int advice)
{
    count();
    return shim_kernel_3(SYS_madvise, (long)address, (long)bytes, advice) == 0;
}

/* A mark is refused where it would be one mapping too many, and may by then lie on a part of
   the piece: a mark that nobody knows of would wipe live data in a later child. */
static bool wipe_on_fork(void *address, size_t bytes, bool wipe)
{
    if (advise_fork(address, bytes, wipe ? MADV_WIPEONFORK : MADV_KEEPONFORK))
        return true;
    if (wipe)
        (void)advise_fork(address, bytes, MADV_KEEPONFORK);
    return false;
}

/* Linux 5.7. Before 6.17 a source of several mappings (a part of it may be marked for huge
   pages) is refused, and by then the destination is unmapped: it is mapped again. */
static bool move(void *from, void *to, size_t bytes)
{
    count();
    long moved =
        shim_kernel(SYS_mremap, (long)from, (long)bytes, (long)bytes,
                    MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, (long)to, 0);
    if (moved == (long)to)
        return true;
    count();
    long mapped =
        shim_kernel(SYS_mmap, (long)to, (long)bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (mapped != (long)to)
        shim_say_and_trap("a retained block cannot be mapped again", to);
    return false;
}

/* The coarse clock costs a read of memory; a tick of 4 ms is fine enough for a window. */
static uint64_t now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#define ALIKE                                                                            \
    .reserve = reserve, .enable = enable, .release = release,                            \
    .prefer_huge = prefer_huge, .wipe_on_fork = wipe_on_fork, .move = move,              \
    .now_ms = now_ms

const struct pool_source shim_host_source = {ALIKE, .discard = discard};

const struct pool_source shim_host_source_charged = {
    ALIKE,
    .discard = discard_charged,
    .charge = shim_host_charge,
    .refund = shim_host_refund,
};

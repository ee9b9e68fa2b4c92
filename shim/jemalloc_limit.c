#include "shim/jemalloc_limit.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shim/host.h"
#include "shim/host_charge.h"
#include "shim/jemalloc.h"
#include "shim/kernel.h"

/* A page that could not be committed makes jemalloc look for address space elsewhere. It would
   get it, and find that the page cannot be committed there either: so many bytes of address
   space each time. The next search of this thread is refused at once. */
static __thread bool commit_was_refused;

static __thread bool lifted;

static long map(void *address, size_t bytes, int protection, int flags)
{
    shim_jemalloc_count();
    return shim_kernel(SYS_mmap, (long)address, (long)bytes, protection, flags, -1, 0);
}

/* Idle blocks go back for it, as for the kernel. */
static bool charge(size_t bytes)
{
    if (shim_host_charge_extent(bytes) ||
        (shim_host_trim() && shim_host_charge_extent(bytes)))
        return true;
    if (lifted)
        shim_host_force_extent(bytes);
    return lifted;
}

void shim_jemalloc_limit_lift(void)
{
    lifted = true;
}

void shim_jemalloc_limit_restore(void)
{
    lifted = false;
}

static long map_charged(void *address, size_t bytes, int protection, int flags)
{
    if (!charge(bytes))
        return -ENOMEM;
    long result = map(address, bytes, protection, flags);
    if (result == -ENOMEM && shim_host_make_room())
        result = map(address, bytes, protection, flags);
    if (result < 0)
        shim_host_refund_extent(bytes);
    return result;
}

/* Address space, and now and then, where there was none to keep, pages with it. */
static long map_anew(void *address, size_t bytes, int protection, int flags)
{
    bool refused = commit_was_refused;
    commit_was_refused = false;
    if (protection != PROT_NONE)
        return map_charged(address, bytes, protection, flags);
    return refused ? -ENOMEM : map(address, bytes, protection, flags);
}

long shim_jemalloc_limit_map(void *address, size_t bytes, int protection, int flags)
{
    if (!(flags & MAP_FIXED))
        return map_anew(address, bytes, protection, flags);
    if (protection != PROT_NONE) {
        long result = map_charged(address, bytes, protection, flags);
        commit_was_refused = result < 0;
        return result;
    }
    long result = map(address, bytes, protection, flags);
    if (result >= 0)
        shim_host_refund_extent(bytes);
    return result;
}

static long unmap(long address, size_t bytes)
{
    shim_jemalloc_count();
    return bytes ? shim_kernel_3(SYS_munmap, address, (long)bytes, 0) : 0;
}

/* Only what was mapped with its pages is ever unmapped: address space is kept. */
long shim_jemalloc_limit_unmap(void *address, size_t bytes)
{
    long result = unmap((long)address, bytes);
    if (result == 0)
        shim_host_refund_extent(bytes);
    return result;
}

void *shim_jemalloc_limit_map_records(size_t bytes, size_t alignment)
{
    size_t whole = bytes + alignment;
    long start = map(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (start < 0)
        return NULL;
    size_t before = (size_t)(-start) & (alignment - 1);
    (void)unmap(start, before);
    (void)unmap(start + (long)(before + bytes), alignment - before);
    return (void *)(start + (long)before);
}

/* jemalloc's own API. A program linked to libjemalloc mixes it with malloc, which is ours; so
   these are too, and know retained blocks. Where we stand aside the program's own jemalloc
   serves; without one, these names exist only because we export them, and the allocator in
   use serves them as well as its contract allows. */
#include "shim/host_hooks.h"

#include <errno.h>
#include <string.h>

#include "shim/jemalloc.h"
#include "shim/libc.h"
#include "shim/outcome.h"

/* The flags of jemalloc(3). */
enum { LG_ALIGN_MASK = 0x3f, ZERO = 0x40 };

static size_t alignment_of(int flags)
{
    return (size_t)1 << (flags & LG_ALIGN_MASK);
}

static void *aligned_by_libc(size_t bytes, int flags)
{
    void *block = alignment_of(flags) > 16
                      ? shim_libc.memalign(alignment_of(flags), bytes)
                      : shim_libc.malloc(bytes);
    return block && flags & ZERO ? memset(block, 0, bytes) : block;
}

static void *or_told(void *block, size_t bytes)
{
    if (!block)
        shim_outcome_no_heap(bytes);
    return block;
}

void *mallocx(size_t bytes, int flags)
{
    if (!shim_host_passing())
        return or_told(jemalloc_mallocx(bytes, flags), bytes);
    return shim_libc.mallocx ? shim_libc.mallocx(bytes, flags)
                             : aligned_by_libc(bytes, flags);
}

size_t sallocx(const void *block, int flags)
{
    (void)flags;
    return malloc_usable_size((void *)(uintptr_t)block);
}

void dallocx(void *block, int flags)
{
    if (shim_host_passing() && shim_libc.dallocx)
        shim_libc.dallocx(block, flags);
    else if (shim_host_passing() || shim_host_is_retained(block))
        free(block);
    else
        jemalloc_dallocx(block, flags);
}

void sdallocx(void *block, size_t bytes, int flags)
{
    (void)bytes;
    dallocx(block, flags);
}

/* Moves a block to one with the flags asked for. */
static void *move(void *block, size_t bytes, int flags)
{
    size_t held = malloc_usable_size(block);
    char *moved = mallocx(bytes, flags & ~ZERO);
    if (!moved)
        return NULL;
    memcpy(moved, block, held < bytes ? held : bytes);
    if (flags & ZERO && bytes > held)
        memset(moved + held, 0, bytes - held);
    free(block);
    return moved;
}

void *rallocx(void *block, size_t bytes, int flags)
{
    if (shim_host_passing())
        return shim_libc.rallocx ? shim_libc.rallocx(block, bytes, flags)
                                 : move(block, bytes, flags);
    if (shim_host_is_retained(block))
        return move(block, bytes, flags);
    return or_told(jemalloc_rallocx(block, bytes, flags), bytes);
}

/* In place, to at least `bytes` and at best `bytes + extra`; the resulting size. */
size_t xallocx(void *block, size_t bytes, size_t extra, int flags)
{
    if (shim_host_passing())
        return shim_libc.xallocx ? shim_libc.xallocx(block, bytes, extra, flags)
                                 : malloc_usable_size(block);
    if (!shim_host_is_retained(block))
        return jemalloc_xallocx(block, bytes, extra, flags);
    size_t held = pool_heap_usable(&shim_host.heap, block);
    if ((extra <= SIZE_MAX - bytes &&
         pool_heap_resize(&shim_host.heap, block, bytes + extra)) ||
        pool_heap_resize(&shim_host.heap, block, bytes)) {
        size_t got = pool_heap_usable(&shim_host.heap, block);
        if (flags & ZERO && got > held)
            memset((char *)block + held, 0, got - held);
        return got;
    }
    return held;
}

size_t nallocx(size_t bytes, int flags)
{
    if (!shim_host_passing())
        return jemalloc_nallocx(bytes, flags);
    return shim_libc.nallocx ? shim_libc.nallocx(bytes, flags) : bytes;
}

int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes)
{
    if (!shim_host_passing())
        return jemalloc_mallctl(name, old, old_bytes, new, new_bytes);
    return shim_libc.mallctl ? shim_libc.mallctl(name, old, old_bytes, new, new_bytes)
                             : ENOENT;
}

int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length)
{
    if (!shim_host_passing())
        return jemalloc_mallctlnametomib(name, mib, mib_length);
    return shim_libc.mallctlnametomib ? shim_libc.mallctlnametomib(name, mib, mib_length)
                                      : ENOENT;
}

int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_bytes,
                 void *new, size_t new_bytes)
{
    if (!shim_host_passing())
        return jemalloc_mallctlbymib(mib, mib_length, old, old_bytes, new, new_bytes);
    return shim_libc.mallctlbymib
               ? shim_libc.mallctlbymib(mib, mib_length, old, old_bytes, new, new_bytes)
               : ENOENT;
}

void malloc_stats_print(void (*put)(void *context, const char *text), void *context,
                        const char *options)
{
    if (!shim_host_passing())
        jemalloc_malloc_stats_print(put, context, options);
    else if (shim_libc.malloc_stats_print)
        shim_libc.malloc_stats_print(put, context, options);
}

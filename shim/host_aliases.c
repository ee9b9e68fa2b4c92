/* Other names of the malloc family. glibc, old programs and C23 use them; each must reach the
   same allocator, since one that did not would free what another gave out. Where we stand
   aside, a name that the C library defines keeps meaning just that. */
#include "shim/host_hooks.h"

#include "shim/libc.h"

void cfree(void *block)
{
    free(block);
}

void free_sized(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    (void)alignment;
    (void)bytes;
    free(block);
}

void *__libc_malloc(size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_malloc ? shim_libc.__libc_malloc(bytes)
                                                          : malloc(bytes);
}

void __libc_free(void *block)
{
    if (shim_host_passing() && shim_libc.__libc_free)
        shim_libc.__libc_free(block);
    else
        free(block);
}

void *__libc_calloc(size_t count, size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_calloc
               ? shim_libc.__libc_calloc(count, bytes)
               : calloc(count, bytes);
}

void *__libc_realloc(void *block, size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_realloc
               ? shim_libc.__libc_realloc(block, bytes)
               : realloc(block, bytes);
}

void *__libc_memalign(size_t alignment, size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_memalign
               ? shim_libc.__libc_memalign(alignment, bytes)
               : memalign(alignment, bytes);
}

void *__libc_valloc(size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_valloc ? shim_libc.__libc_valloc(bytes)
                                                          : valloc(bytes);
}

void *__libc_pvalloc(size_t bytes)
{
    return shim_host_passing() && shim_libc.__libc_pvalloc
               ? shim_libc.__libc_pvalloc(bytes)
               : pvalloc(bytes);
}

int __posix_memalign(void **out, size_t alignment, size_t bytes)
{
    return posix_memalign(out, alignment, bytes);
}

/* Another preload, before ours: it takes mmap over, and its first act is to allocate. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    static int inside;
    if (!real && !inside) {
        inside = 1;
        free(calloc(1, 100));
        real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
        inside = 0;
    }
    if (!real)
        return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
    return real(address, bytes, protection, flags, file, offset);
}

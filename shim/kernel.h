/* System calls themselves: errno is not touched, and no wrapper of the C library is entered
   that another preload may have taken over, or that we export ourselves. */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

#if !defined(__x86_64__)
#error "kernel.h knows x86-64 only"
#endif

/* The result of the system call, or a negative error number. */
static inline long shim_kernel(long number, long a, long b, long c, long d, long e,
                               long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long shim_kernel_3(long number, long a, long b, long c)
{
    return shim_kernel(number, a, b, c, 0, 0, 0);
}

#endif

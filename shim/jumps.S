/* Functions of the C library as jumps: glibc decides by the caller's return address whose
   scope dlsym and dlopen search, and a vfork by syscall(2) returns twice into the same frame,
   so the real function must be entered with the program's own address on the stack. A C
   tail call is not enough: it vanishes without optimization and under instrumentation.

   Each entry saves the arguments, asks a C function, and then either jumps to the function
   that it names, with the arguments restored, or returns its answer. */

#if !defined(__x86_64__)
#error "jumps.S knows x86-64 only"
#endif

        .text

        .macro  PUSH register
        pushq   \register
        .cfi_adjust_cfa_offset 8
        .endm

        .macro  POP register
        popq    \register
        .cfi_adjust_cfa_offset -8
        .endm

        /* Calls `pick` with the program's arguments and, in `caller_register`, its return
           address. Leaves the function to jump to in %rax and the answer in %r11. */
        .macro  ENTRY name, pick, caller_register
        .globl  \name
        .hidden \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        PUSH    %rdi
        PUSH    %rsi
        PUSH    %rdx
        PUSH    %rcx
        PUSH    %r8
        PUSH    %r9
        PUSH    %rax            /* for alignment only */
        movq    56(%rsp), \caller_register
        call    \pick
        movq    %rdx, %r11
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        POP     %r9
        POP     %r8
        POP     %rcx
        POP     %rdx
        POP     %rsi
        POP     %rdi
        .endm

        .macro  END name
        .cfi_endproc
        .size   \name, . - \name
        .endm

        ENTRY   shim_loader_dlsym, shim_loader_pick_dlsym, %rdx
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      movq    %r11, %rax
        ret
        END     shim_loader_dlsym

        ENTRY   shim_loader_dlvsym, shim_loader_pick_dlvsym, %rcx
        testq   %rax, %rax
        jz      1f
        jmp     *%rax
1:      movq    %r11, %rax
        ret
        END     shim_loader_dlvsym

        /* Always jumps; the answer is the mode to open with. */
        ENTRY   shim_loader_dlopen, shim_loader_pick_dlopen, %rdx
        movl    %r11d, %esi
        jmp     *%rax
        END     shim_loader_dlopen

        /* These always jump, with nothing changed. */
        ENTRY   shim_loader_dlclose, shim_loader_pick_dlclose, %rdx
        jmp     *%rax
        END     shim_loader_dlclose

        ENTRY   shim_limits_prctl, shim_limits_pick_prctl, %rdx
        jmp     *%rax
        END     shim_limits_prctl

        ENTRY   shim_limits_syscall, shim_limits_pick_syscall, %rdx
        jmp     *%rax
        END     shim_limits_syscall

        .macro  EXPORT name, target
        .globl  \name
        .type   \name, @function
        .set    \name, \target
        .endm

        EXPORT  prctl, shim_limits_prctl
        EXPORT  syscall, shim_limits_syscall

        /* Programs refer to either version; one node only is worse than none, since
           references to the other would pass us by. */
        .macro  EXPORT_VERSIONED name, target
        EXPORT  \name\()_first, \target
        .symver \name\()_first, \name\()@GLIBC_2.2.5, remove
        EXPORT  \name\()_current, \target
        .symver \name\()_current, \name\()@@GLIBC_2.34, remove
        .endm

        EXPORT_VERSIONED  dlsym, shim_loader_dlsym
        EXPORT_VERSIONED  dlvsym, shim_loader_dlvsym
        EXPORT_VERSIONED  dlopen, shim_loader_dlopen
        EXPORT_VERSIONED  dlclose, shim_loader_dlclose

        .section .note.GNU-stack, "", @progbits

/* Put before the private jemalloc's own malloc and free, so that these start at bytes 32 and
   48 of a line of 64, with Debian's archive. Anywhere else a pair of them takes 6 % longer
   (Zen 5), and without this whatever is linked before them would decide where they start. */
    .text
    .p2align 6
    .skip 48, 0xcc
    .section .note.GNU-stack, "", @progbits

/* Threads that are each pinned to a processor of their own, where there are enough: some
   kernels pack unpinned ones on one processor, and then nothing is shared between any. */
#ifndef BENCH_PINNED_H
#define BENCH_PINNED_H

enum { BENCH_PINNED_MAX = 2 };

/* Pins the calling thread. Where that is not allowed the run is still right. */
void bench_pin(unsigned index);

/* Runs job(index) in so many pinned threads at once, of which the caller is the first: a
   program of one thread has no other, and some malloc is faster for that. Returns the
   nanoseconds of processor time of all of them together. */
double bench_pinned_cpu_ns(unsigned threads, void (*job)(unsigned index));

#endif

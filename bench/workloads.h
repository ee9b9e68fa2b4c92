/* The workloads of the page-fault benchmark. Each is a sequence of binds: a bind claims
   its buffers, writes what a program of that kind writes, and has released all of them
   when it returns, unless its description says otherwise. They use malloc, calloc,
   realloc and free and nothing of Tidemark, and every size comes from a table or a
   generator with a fixed seed, so that any two runs ask for the same bytes in the same
   order. */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <stddef.h>

struct bench_workload {
    const char *name;
    const char *description;
    unsigned
        workers; /* persistent threads that live as long as the workload, each pinned */
    void (*bind)(void);
};

/* The row at an index, or NULL past the last one. */
const struct bench_workload *bench_workload_at(size_t index);

/* The row of a name, or NULL. */
const struct bench_workload *bench_workload_find(const char *name);

#endif

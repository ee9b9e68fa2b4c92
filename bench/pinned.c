#include "bench/pinned.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Written before the threads start; `cpu_ns` of each by itself. */
static void (*current_job)(unsigned index);
static double cpu_ns[BENCH_PINNED_MAX];
static pthread_barrier_t all_pinned;

void bench_pin(unsigned index)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned skip_count = index % (unsigned)CPU_COUNT(&allowed);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || skip_count-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static double thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Pinned for the job only: threads that are started later would inherit it. */
static void *measure(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;
    cpu_set_t before;
    bool is_restorable = sched_getaffinity(0, sizeof before, &before) == 0;
    bench_pin(index);
    pthread_barrier_wait(&all_pinned);
    double before_ns = thread_cpu_ns();
    current_job(index);
    cpu_ns[index] = thread_cpu_ns() - before_ns;
    if (is_restorable)
        sched_setaffinity(0, sizeof before, &before);
    return NULL;
}

double bench_pinned_cpu_ns(unsigned threads, void (*job)(unsigned index))
{
    pthread_t others[BENCH_PINNED_MAX];
    assert(threads >= 1 && threads <= BENCH_PINNED_MAX);
    current_job = job;
    pthread_barrier_init(&all_pinned, NULL, threads);
    for (uintptr_t i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, measure, (void *)i) != 0)
            abort();
    measure(NULL);
    double total_ns = cpu_ns[0];
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
        total_ns += cpu_ns[i];
    }
    pthread_barrier_destroy(&all_pinned);
    return total_ns;
}

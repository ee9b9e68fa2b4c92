#include "bench/crew.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/pinned.h"

/* The barriers order every access to `current_job`, and to what a job and its caller
 * share. */
static unsigned crew_size;
static pthread_t crew_threads[BENCH_CREW_MAX];
static pthread_barrier_t job_given;
static pthread_barrier_t job_done;
static void (*current_job)(unsigned index);

_Noreturn void bench_fail(const char *what)
{
    fprintf(stderr, "faults: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *work(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;
    bench_pin(index);
    for (;;) {
        pthread_barrier_wait(&job_given);
        if (current_job == NULL)
            return NULL;
        current_job(index);
        pthread_barrier_wait(&job_done);
    }
}

void bench_crew_start(unsigned workers)
{
    crew_size = workers;
    if (workers == 0)
        return;
    if (pthread_barrier_init(&job_given, NULL, workers + 1) != 0 ||
        pthread_barrier_init(&job_done, NULL, workers + 1) != 0)
        bench_fail("cannot make a barrier");
    for (uintptr_t i = 0; i < workers; i++)
        if (pthread_create(&crew_threads[i], NULL, work, (void *)i) != 0)
            bench_fail("cannot start a thread");
}

void bench_crew_run(void (*job)(unsigned index))
{
    current_job = job;
    pthread_barrier_wait(&job_given);
    pthread_barrier_wait(&job_done);
}

void bench_crew_stop(void)
{
    if (crew_size == 0)
        return;
    current_job = NULL;
    pthread_barrier_wait(&job_given);
    for (unsigned i = 0; i < crew_size; i++)
        pthread_join(crew_threads[i], NULL);
    pthread_barrier_destroy(&job_given);
    pthread_barrier_destroy(&job_done);
    crew_size = 0;
}

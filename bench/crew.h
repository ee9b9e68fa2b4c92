/* A few persistent threads, each pinned to a processor of its own where there are enough,
   that run one job at a time for a waiting caller. Giving them a job allocates nothing. */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

enum { BENCH_CREW_MAX = 2 };

/* Start or stop the threads; a crew of none is allowed. One crew at a time. */
void bench_crew_start(unsigned workers);
void bench_crew_stop(void);

/* Run job(index) on every worker; returns when all of them are done. */
void bench_crew_run(void (*job)(unsigned index));

/* Say what went wrong on stderr and exit 1: a benchmark has no way on. */
_Noreturn void bench_fail(const char *what);

#endif

/* What every Check program here shares: one list of tests in one case, an optional
   fixture around each, and an exit status for ctest; threads that really meet, and a look
   at what traps. A file of tests ends with

     SUITE_MAIN("policy/ledger", first_test, second_test)

   or, with a fixture run around each test in its own process,

     SUITE_MAIN_WITH("pool/arena", setup, teardown, first_test, second_test) */
#ifndef TESTS_SUITE_H
#define TESTS_SUITE_H

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SUITE_TEST_SECONDS = 60, /* Check's own 4 are too few for threads under a sanitizer */
    SUITE_THREADS_MAX = 64,
};

/* Runs the suite, frees it, and returns what main returns. */
static inline int suite_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed_count = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed_count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* One case that holds every test; `setup` and `teardown` may be NULL. */
static inline Suite *suite_of(const char *name, SFun setup, SFun teardown,
                              const TTest *const tests[], size_t test_count)
{
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    tcase_set_timeout(all, SUITE_TEST_SECONDS);
    tcase_add_checked_fixture(all, setup, teardown);
    for (size_t i = 0; i < test_count; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    return suite;
}

#define SUITE_MAIN_WITH(name, setup, teardown, ...)                                      \
    int main(void)                                                                       \
    {                                                                                    \
        const TTest *const tests[] = {__VA_ARGS__};                                      \
        return suite_run(                                                                \
            suite_of(name, setup, teardown, tests, sizeof tests / sizeof *tests));       \
    }

#define SUITE_MAIN(name, ...) SUITE_MAIN_WITH(name, NULL, NULL, __VA_ARGS__)

/* Pins the calling thread to one of the CPUs it may run on, `index` counting round them. */
static inline void suite_pin(unsigned index)
{
    cpu_set_t allowed, one;
    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    unsigned skip_count = index % (unsigned)CPU_COUNT(&allowed);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || skip_count-- > 0)
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ck_assert_int_eq(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
}

/* What one thread of suite_run_threads does. */
typedef void (*suite_thread_body)(unsigned index, void *shared);

struct suite_thread {
    unsigned index;
    pthread_barrier_t *start;
    suite_thread_body body;
    void *shared;
};

static inline void *suite_thread_main(void *argument)
{
    struct suite_thread *thread = argument;
    suite_pin(thread->index);
    pthread_barrier_wait(thread->start);
    thread->body(thread->index, thread->shared);
    return NULL;
}

/* Runs `body` in so many threads, pinned round the CPUs and started together, and waits
   for all of them. */
static inline void suite_run_threads(unsigned count, suite_thread_body body, void *shared)
{
    pthread_t ids[SUITE_THREADS_MAX];
    struct suite_thread threads[SUITE_THREADS_MAX];
    pthread_barrier_t start;
    ck_assert_uint_le(count, SUITE_THREADS_MAX);
    ck_assert_int_eq(pthread_barrier_init(&start, NULL, count), 0);
    for (unsigned i = 0; i < count; i++) {
        threads[i] = (struct suite_thread){i, &start, body, shared};
        ck_assert_int_eq(pthread_create(&ids[i], NULL, suite_thread_main, &threads[i]),
                         0);
    }
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(ids[i], NULL), 0);
    pthread_barrier_destroy(&start);
}

/* Whether `act` ends its process by a trap; tried in a child that leaves no core file. */
static inline bool suite_traps(void (*act)(void))
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        /* A sanitizer would turn the signal into a report and an exit. */
        signal(SIGILL, SIG_DFL);
        signal(SIGTRAP, SIG_DFL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        act();
        _exit(EXIT_SUCCESS);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) &&
           (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP);
}

#endif

/* Defends: nobody waits without end for a lock whose owner is gone; a lock that is only
   busy is waited for; and a fork gives back exactly what its own thread took. */
#include "pool/lock.h"

#include <stdio.h>
#include <sys/syscall.h>

#include "tests/suite.h"

static struct pool_lock lock;

static void setup(void)
{
    pool_lock_open(&lock);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Whether the lock can be had, and how long it took to know. */
static bool take(double *waited_ms)
{
    double start = now_ms();
    bool taken = pool_lock_take(&lock);
    *waited_ms = now_ms() - start;
    return taken;
}

/* As those do who keep something under a lock. */
static bool fork_done(void)
{
    bool ends = pool_lock_fork_ends(&lock);
    if (ends)
        pool_lock_fork_done(&lock);
    return ends;
}

/* Whether a fork takes the lock, and then gives it back. */
static bool fork_takes(void)
{
    bool taken = pool_lock_fork_prepare(&lock);
    return fork_done() && taken;
}

static void is_taken_at_once(void)
{
    double waited_ms;
    ck_assert(take(&waited_ms));
    ck_assert_double_lt(waited_ms, POOL_LOCK_WAIT_MS);
    pool_lock_give(&lock);
}

START_TEST(a_free_lock_is_taken_at_once)
{
    is_taken_at_once();
    is_taken_at_once();
}
END_TEST

/* A thread that holds the lock until it is told to give it back. */
struct holder {
    pthread_t thread;
    pthread_barrier_t held, give;
    unsigned hold_ms;
};

static void *hold(void *context)
{
    struct holder *holder = context;
    ck_assert(pool_lock_take(&lock));
    pthread_barrier_wait(&holder->held);
    if (holder->hold_ms > 0)
        usleep(holder->hold_ms * 1000);
    else
        pthread_barrier_wait(&holder->give);
    pool_lock_give(&lock);
    return NULL;
}

static void hold_begin(struct holder *holder)
{
    pthread_barrier_init(&holder->held, NULL, 2);
    pthread_barrier_init(&holder->give, NULL, 2);
    ck_assert_int_eq(pthread_create(&holder->thread, NULL, hold, holder), 0);
    pthread_barrier_wait(&holder->held);
}

static void hold_end(struct holder *holder)
{
    if (holder->hold_ms == 0)
        pthread_barrier_wait(&holder->give);
    pthread_join(holder->thread, NULL);
}

START_TEST(a_busy_lock_is_waited_for)
{
    double waited_ms;
    struct holder holder = {.hold_ms = 20};
    hold_begin(&holder);
    ck_assert(take(&waited_ms));
    pool_lock_give(&lock);
    hold_end(&holder);
}
END_TEST

START_TEST(a_lock_that_is_never_given_back_is_waited_for_once)
{
    double waited_ms;
    struct holder holder = {0};
    hold_begin(&holder);
    ck_assert(!take(&waited_ms));
    ck_assert_double_ge(waited_ms, POOL_LOCK_WAIT_MS - 1);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert(!take(&waited_ms));
        ck_assert_double_lt(waited_ms, POOL_LOCK_WAIT_MS / 2);
    }
    hold_end(&holder);
}
END_TEST

START_TEST(a_lock_that_was_given_up_and_is_free_again_is_a_lock_as_before)
{
    double waited_ms;
    struct holder holder = {0};
    hold_begin(&holder);
    ck_assert(!take(&waited_ms));
    hold_end(&holder);
    is_taken_at_once();
    hold_begin(&holder);
    ck_assert(!take(&waited_ms));
    ck_assert_double_ge(waited_ms, POOL_LOCK_WAIT_MS - 1);
    hold_end(&holder);
}
END_TEST

static int status_of(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(both_sides_of_a_fork_have_the_lock_again)
{
    double waited_ms;
    ck_assert(pool_lock_fork_prepare(&lock));
    pid_t child = fork();
    bool done = fork_done();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(done && take(&waited_ms) ? 0 : 1);
    ck_assert(done);
    ck_assert_int_eq(status_of(child), 0);
    is_taken_at_once();
}
END_TEST

START_TEST(a_child_without_handlers_gives_up_a_lock_that_another_thread_held)
{
    double waited_ms;
    struct holder holder = {0};
    hold_begin(&holder);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(!take(&waited_ms) && !take(&waited_ms) && waited_ms < POOL_LOCK_WAIT_MS / 2
                  ? 0
                  : 1);
    ck_assert_int_eq(status_of(child), 0);
    hold_end(&holder);
    is_taken_at_once();
}
END_TEST

static void *fork_elsewhere(void *context)
{
    *(bool *)context = fork_takes();
    return NULL;
}

START_TEST(a_fork_that_did_not_get_the_lock_gives_nothing_back)
{
    pthread_t thread;
    double waited_ms;
    bool taken = true;
    ck_assert(pool_lock_fork_prepare(&lock));
    ck_assert_int_eq(pthread_create(&thread, NULL, fork_elsewhere, &taken), 0);
    pthread_join(thread, NULL);
    ck_assert(!taken);
    ck_assert(!take(&waited_ms));
    ck_assert(fork_done());
    is_taken_at_once();
}
END_TEST

enum { TOOK_NOTHING, TOOK_WHAT_ANOTHER_HOLDS, HAS_ANOTHER_NAME };

struct namesake {
    pthread_t name; /* of a thread that is not there */
    int outcome;
};

/* In a child: glibc gives a new thread the stack of one that is gone, and so its name. */
static void *fork_by_that_name(void *context)
{
    struct namesake *namesake = context;
    namesake->outcome = HAS_ANOTHER_NAME;
    if (pthread_self() != namesake->name)
        return NULL;
    double waited_ms;
    namesake->outcome =
        fork_takes() || take(&waited_ms) ? TOOK_WHAT_ANOTHER_HOLDS : TOOK_NOTHING;
    return NULL;
}

static void *hold_for_a_fork(void *context)
{
    struct holder *holder = context;
    ck_assert(pool_lock_fork_prepare(&lock));
    pthread_barrier_wait(&holder->held);
    pthread_barrier_wait(&holder->give);
    ck_assert(fork_done());
    return NULL;
}

START_TEST(a_thread_of_a_child_is_not_the_one_of_the_parent_that_had_its_name)
{
#if defined(__SANITIZE_THREAD__)
    puts("skip a thread by the name of another: ThreadSanitizer lets no child start one");
    return;
#endif
    struct holder holder = {0};
    pthread_barrier_init(&holder.held, NULL, 2);
    pthread_barrier_init(&holder.give, NULL, 2);
    ck_assert_int_eq(pthread_create(&holder.thread, NULL, hold_for_a_fork, &holder), 0);
    pthread_barrier_wait(&holder.held);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        pthread_t thread;
        struct namesake namesake = {.name = holder.thread};
        if (pthread_create(&thread, NULL, fork_by_that_name, &namesake) != 0)
            _exit(HAS_ANOTHER_NAME);
        pthread_join(thread, NULL);
        _exit(namesake.outcome);
    }
    int status = status_of(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == HAS_ANOTHER_NAME)
        puts("skip a thread by the name of another: the child's has a name of its own");
    else
        ck_assert_int_eq(status, TOOK_NOTHING);
    hold_end(&holder);
}
END_TEST

/* As a signal handler does that comes before, while or after the copy is made. */
START_TEST(a_fork_inside_of_a_fork_leaves_the_lock_to_the_other)
{
    double waited_ms;
    ck_assert(pool_lock_fork_prepare(&lock));
    ck_assert(!fork_takes());
    ck_assert(!pool_lock_fork_prepare(&lock));
    ck_assert(!fork_takes());
    ck_assert(!fork_done());
    ck_assert(!take(&waited_ms));
    ck_assert(fork_done());
    is_taken_at_once();
    ck_assert(fork_takes());
}
END_TEST

START_TEST(a_fork_that_got_the_lock_once_gives_it_back_once)
{
    double waited_ms;
    struct holder holder = {0};
    ck_assert(fork_takes());
    hold_begin(&holder);
    ck_assert(!fork_takes());
    ck_assert(!take(&waited_ms));
    hold_end(&holder);
    is_taken_at_once();
}
END_TEST

enum { CHURN_THREADS = 4, CHURN_STEPS = 20000 };

static void churn_body(unsigned index, void *shared)
{
    unsigned *count = shared;
    (void)index;
    for (unsigned step = 0; step < CHURN_STEPS; step++) {
        if (!pool_lock_take(&lock))
            ck_abort_msg("a lock that is only busy was given up");
        ++*count;
        pool_lock_give(&lock);
    }
}

START_TEST(threads_exclude_each_other)
{
    unsigned count = 0;
    suite_run_threads(CHURN_THREADS, churn_body, &count);
    ck_assert_uint_eq(count, CHURN_THREADS * CHURN_STEPS);
}
END_TEST

SUITE_MAIN_WITH("pool/lock", setup, NULL, a_free_lock_is_taken_at_once,
                a_busy_lock_is_waited_for,
                a_lock_that_is_never_given_back_is_waited_for_once,
                a_lock_that_was_given_up_and_is_free_again_is_a_lock_as_before,
                both_sides_of_a_fork_have_the_lock_again,
                a_child_without_handlers_gives_up_a_lock_that_another_thread_held,
                a_fork_that_did_not_get_the_lock_gives_nothing_back,
                a_thread_of_a_child_is_not_the_one_of_the_parent_that_had_its_name,
                a_fork_inside_of_a_fork_leaves_the_lock_to_the_other,
                a_fork_that_got_the_lock_once_gives_it_back_once,
                threads_exclude_each_other)

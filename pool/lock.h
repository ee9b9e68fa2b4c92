/* A mutex that nobody waits for without end. A process made by clone(2) itself runs no fork
   handlers: it may inherit a lock that a thread which it does not have held, over a structure
   that this thread was changing. After POOL_LOCK_WAIT_MS a lock counts as lost, its owner goes
   on without what it guards, and nobody waits for it again unless it turns out to be free. */
#ifndef POOL_LOCK_H
#define POOL_LOCK_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "policy/checked.h"

enum {
    /* Far above any critical section, far below a user's patience. */
    POOL_LOCK_WAIT_MS = 200,
    POOL_LOCK_WAY_MS = 5, /* for a thread to wake up in; between steps that take longer */
};

struct pool_lock {
    pthread_mutex_t mutex;
    _Atomic bool lost;        /* a hint: relaxed, it only saves waiting */
    _Atomic unsigned waiting; /* threads that wait: a hint, too */
    /* The thread that holds it across its fork; 0: none. In a child of another thread's fork it
       is one of the parent's, and glibc may give a thread of the child its stack, and name. */
    _Atomic pthread_t forking;
    _Atomic uint32_t inner_count; /* forks under way by that name that did not take it */
};

static inline void pool_lock_open(struct pool_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
}

static inline bool pool_lock_wait(struct pool_lock *lock)
{
    struct timespec until;
    int kept = errno; /* a clock that is refused sets it */
    clock_gettime(CLOCK_REALTIME, &until);
    errno = kept;
    until.tv_nsec += POOL_LOCK_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    atomic_fetch_add_explicit(&lock->waiting, 1, memory_order_relaxed);
    bool taken = pthread_mutex_timedlock(&lock->mutex, &until) == 0;
    atomic_fetch_sub_explicit(&lock->waiting, 1, memory_order_relaxed);
    return taken;
}

/* Takes the lock if nobody has it. */
POLICY_MUST_CHECK static inline bool pool_lock_try(struct pool_lock *lock)
{
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken && atomic_load_explicit(&lock->lost, memory_order_relaxed))
        atomic_store_explicit(&lock->lost, false, memory_order_relaxed);
    return taken;
}

/* Takes the lock; false when it is lost. */
POLICY_MUST_CHECK static inline bool pool_lock_take(struct pool_lock *lock)
{
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    bool lost = atomic_load_explicit(&lock->lost, memory_order_relaxed);
    if (!taken && !lost)
        taken = pool_lock_wait(lock);
    if (taken == lost)
        atomic_store_explicit(&lock->lost, !taken, memory_order_relaxed);
    return taken;
}

static inline void pool_lock_give(struct pool_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

static inline int64_t pool_lock_clock_ns(void)
{
    struct timespec now = {0};
    int kept = errno;
    clock_gettime(CLOCK_MONOTONIC, &now);
    errno = kept;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Between two steps of long work: lets one go first that waits. A thread that gives a mutex and
   takes it again nearly always wins over one that has to wake up first, so it waits a while
   for that. False when the lock is lost then. */
POLICY_MUST_CHECK static inline bool pool_lock_make_way(struct pool_lock *lock)
{
    unsigned waiting = atomic_load_explicit(&lock->waiting, memory_order_relaxed);
    int64_t end_ns = pool_lock_clock_ns() + POOL_LOCK_WAY_MS * INT64_C(1000000);
    pool_lock_give(lock);
    while (waiting > 0 &&
           waiting <= atomic_load_explicit(&lock->waiting, memory_order_relaxed) &&
           pool_lock_clock_ns() < end_ns)
        sched_yield();
    return pool_lock_take(lock);
}

/* Whether a thread of this name holds the lock for a fork. */
static inline bool pool_lock_is_forking(const struct pool_lock *lock)
{
    return atomic_load_explicit(&lock->forking, memory_order_relaxed) == pthread_self();
}

/* Around a fork: no other thread is inside while the copy is made. True when this fork took
   the lock. Another thread may fork at the same time, and a signal handler in the midst of
   this; who comes second does without. Relaxed, since a thread asks only for what was written
   by its own name, and the one that is alone in a child wrote it itself. */
POLICY_MUST_CHECK static inline bool pool_lock_fork_prepare(struct pool_lock *lock)
{
    if (pool_lock_is_forking(lock)) {
        atomic_fetch_add_explicit(&lock->inner_count, 1, memory_order_relaxed);
        return false;
    }
    if (!pool_lock_take(lock))
        return false;
    atomic_store_explicit(&lock->forking, pthread_self(), memory_order_relaxed);
    return true;
}

/* Once after each fork, in the parent and in the child: whether this one took the lock. Then
   pool_lock_fork_done() has to follow. */
POLICY_MUST_CHECK static inline bool pool_lock_fork_ends(struct pool_lock *lock)
{
    if (!pool_lock_is_forking(lock))
        return false;
    if (atomic_load_explicit(&lock->inner_count, memory_order_relaxed) == 0)
        return true;
    atomic_fetch_sub_explicit(&lock->inner_count, 1, memory_order_relaxed);
    return false;
}

static inline void pool_lock_fork_done(struct pool_lock *lock)
{
    atomic_store_explicit(&lock->forking, 0, memory_order_relaxed);
    pool_lock_give(lock);
}

#endif

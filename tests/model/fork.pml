/* The packed area around forks. Two workers claim, write, return and fork, with the handlers
   or without (raw clone, _Fork), and with SIGNAL a signal handler forks in the midst of
   anything that the first one does. Checked on every interleaving, besides what spans.pml
   checks: no fork wipes what somebody owns; a thread that vanished takes along what was in its
   hands and nothing else, and what it had claimed stays as it was; the child's pool is open
   again; only who took the lock is inside; nobody waits for one that is gone.

   Each rule has a mutation that breaks it, which check.sh defines and which must be caught.
     spans_keep.c   what is marked has left its bin: FORK_MARKS_IN_BINS
                    and nobody can claim it meanwhile: FORK_GIVES_THE_LOCK_EARLY
                    no mark outlives its fork: MARK_STAYS
                    but on what is given up: MARK_THAT_STAYS_IS_FREE
                    what was not marked is not zero in the child: CHILD_TRUSTS_ITS_MARKS
                    the child gives the lock back, too: CHILD_KEEPS_THE_LOCK
     spans.c        a block is live before a fork can begin: CLAIM_IS_LIVE_LATE
     lock.h         who could not take the lock does not give it: FORK_GIVES_WHAT_IT_HAS_NOT
                    nor a fork inside of one, nor a thread that has its name by chance:
                    FORK_IS_KNOWN_BY_THREAD
                    nobody waits for ever: LOCK_IS_WAITED_FOR */

#ifndef GRANULES
#define GRANULES 2
#endif
#ifndef CHILDREN
#define CHILDREN 1 /* 2: a child and its child */
#endif
#include "area.pml"

#define MASK(index) (((1 << length[index]) - 1) << (index))

/* For a free span, as for_each_free has them. The source may refuse. */
inline mark()
{
    if
    :: state[index] == FREE ->
        d_step {
            assert(IS_INSIDE);
            wiped = wiped | MASK(index);
            state[index] = WIPED
        }
    :: true
    fi
}

/* Where it refuses to take a mark back, the span is given up. */
inline unmark()
{
    if
    :: state[index] == WIPED ->
        if
        :: d_step {
               assert(IS_INSIDE);
#ifndef MARK_STAYS
               wiped = wiped & ~MASK(index);
#endif
               state[index] = FREE
           }
        :: d_step {
               assert(IS_INSIDE);
               state[index] = FREE;
#ifndef MARK_THAT_STAYS_IS_FREE
               part = length[index];
               take_free(index);
               length[index] = part;
               state[index] = LIVE;
               hand_over(index, part, NOBODY, GIVEN_UP)
#endif
           }
        fi
    :: else
    fi
}

/* What another thread returned meanwhile is not marked, but a mark is for what cannot be
   claimed. */
inline mark_in_bins()
{
    index = 1;
    do
    :: index < top ->
        d_step {
            wiped = wiped | (IS_IN(index, bin[0] | bin[1]) -> MASK(index) : 0);
            index = index + (length[index] -> length[index] : 1)
        }
    :: else -> break
    od
}

inline fork_prepare()
{
    lock_fork_prepare();
    if
    :: ok ->
#ifdef FORK_MARKS_IN_BINS
        mark_in_bins();
#else
        drain();
#endif
        index = 1;
        do
        :: index < top ->
            if
            :: IS_IN(index, lists) -> mark()
            :: else
            fi;
            index = index + length[index]
        :: else -> break
        od;
        index = 0;
#ifdef FORK_GIVES_THE_LOCK_EARLY
        give_lock()
#endif
    :: else
    fi
}

/* The child gives back what it did not mark, too: a copy of it costs more than a page of
   zeros. */
inline child_is_clean()
{
    index = 1;
    do
    :: index < top ->
        if
        :: state[index] == FREE -> clean_tail(index, 0)
        :: else
        fi;
        index = index + length[index]
    :: else -> break
    od;
    index = 0
}

inline fork_done()
{
#ifdef FORK_GIVES_WHAT_IT_HAS_NOT
    ok = (lock != NONE);
#else
    lock_is_fork_done();
#endif
#ifdef CHILD_KEEPS_THE_LOCK
    ok = ok && !in_child;
#endif
    if
    :: ok ->
        index = 1;
        do
        :: index < top ->
            if
            :: IS_IN(index, lists) -> unmark()
            :: else
            fi;
            index = index + length[index]
        :: else -> break
        od;
        index = 0;
        if
#ifdef CHILD_TRUSTS_ITS_MARKS
        :: in_child -> child_is_clean()
#else
        :: in_child -> discard_some()
#endif
        :: else
        fi;
        lock_fork_done()
    :: else
    fi
}

inline fork()
{
    fork_prepare();
    kernel_fork();
    fork_done();
    d_step {
        forget();
        in_child = false
    }
}

proctype worker() provided (interrupted != _pid)
{
    LOCALS, in_child;
    me = _pid;
begin:
    {
        do
        :: claim(1); use(1)
        :: claim(2); use(2)
        :: IS_MINE(1) -> finish(1)
        :: IS_MINE(2) -> finish(2)
        :: fork()
        :: kernel_fork(); in_child = false
        :: break
        od
    } unless { IS_GONE };
    if
    :: !IS_GONE
    :: IS_GONE /* for good, or a new thread has its name */
#ifndef ONE_LIFE
    :: d_step {
           IS_GONE ->
           lives_in[me] = process;
           life[me]++;
           forget();
           in_child = false
       };
       goto begin
#endif
    fi
}

proctype signal_handler()
{
    LOCALS, in_child;
    me = 1;
    {
        interrupted = me;
        fork()
    } unless { IS_GONE };
    interrupted = NONE
}

init
{
    atomic {
        run worker();
        run worker();
#ifdef SIGNAL
        run signal_handler()
#endif
    }
    _nr_pr == 1;
    d_step {
        if
        :: orphaned /* what it guards is lost, and nobody looks at it */
        :: else -> settle()
        fi
    }
}

/* pool/lock.h, threads and their processes, for area.pml and rows.pml. A thread is called by its
   number, as pthread_self() calls it: `me`. After a fork this goes on as the parent or as the
   child. Threads that the child does not have jump out, and may begin again as new ones:
   glibc gives a new thread the stack of one that is gone, and with it the pthread_t.

   Before: UNITS, how many pieces of memory there are. */

#define NONE     0
#define NOBODY   0
#define GIVEN_UP 15 /* lost for good, where the code allows it */
#define STALE    14 /* what nobody needs any more */

#define BIT(index)        (1 << (index))
#define IS_IN(index, set) (((set) >> (index)) & 1)

/* In no code: whose hands a piece is in, and what it holds. */
byte owner[UNITS + 2];
byte data[UNITS + 2]; /* 0: reads as zero; else the thread that wrote it, or STALE */

byte lock; /* the thread in it */

#ifdef CHILDREN
byte process;     /* which one this is: a parent 0, its child 1, and 2 */
byte lives_in[3]; /* of each thread */
byte life[3];     /* in no code: how many of its name there were before */
byte lock_life;   /* and which of them took the lock */
bool orphaned;    /* the lock is held by a thread that is not here */
byte wiped;       /* the pieces that are marked */
byte forking;     /* the thread that holds the lock for its fork */
byte nested;      /* forks in its signal handlers */
byte interrupted; /* the thread that one of them runs in */

#define IS_GONE  (lives_in[me] != process)
#define IS_INSIDE (lock == me && lock_life == life[me])
#define VANISHED (process > 0) /* threads may have ended in the midst of anything */
#else
#define IS_INSIDE (lock == me)
#define VANISHED false
#endif

/* Set and read within one step. */
hidden byte g;

/* ok = whether the lock is had. Whoever waits too long goes on without. */
inline take_lock()
{
    if
    :: d_step {
           lock == NONE ->
           lock = me;
#ifdef CHILDREN
           lock_life = life[me];
#endif
           ok = true
       }
#ifndef LOCK_IS_WAITED_FOR
    :: lock != NONE -> ok = false
#endif
    fi
}

inline give_lock()
{
    d_step {
        assert(IS_INSIDE);
        lock = NONE;
#ifdef CHILDREN
        lock_life = 0
#endif
    }
}

/* Between two steps: whoever waits goes first. ok = whether the lock is had again. */
inline make_way()
{
    give_lock();
    take_lock()
}

/* The rule that all is about: from one pair of hands into others. */
inline hand_over(first, count, giver, taker)
{
    g = first;
    do
    :: g < first + count ->
        assert(owner[g] == giver);
        owner[g] = taker;
        g++
    :: else -> break
    od;
    skip /* a step ends in a statement */
}

/* What memory holds goes back to the source. */
inline discard(first, count, holder)
{
    d_step {
        g = first;
        do
        :: g < first + count ->
            assert(owner[g] == holder);
            data[g] = 0;
            g++
        :: else -> break
        od;
        skip
    }
}

#ifdef CHILDREN
/* ok = whether the lock was taken for this fork. */
inline lock_fork_prepare()
{
    if
#ifndef FORK_IS_KNOWN_BY_THREAD
    :: forking == me ->
        nested++;
        ok = false
    :: forking != me ->
#else
    :: true ->
#endif
        take_lock();
        if
        :: ok -> forking = me
        :: else
        fi;
#ifdef FORK_IS_KNOWN_BY_THREAD
        ok = (forking == me)
#endif
    fi
}

/* ok = whether the fork that the lock was taken for has ended. */
inline lock_is_fork_done()
{
    d_step {
        ok = (forking == me);
#ifndef FORK_IS_KNOWN_BY_THREAD
        if
        :: ok && nested > 0 ->
            nested--;
            ok = false
        :: else
        fi
#endif
    }
}

inline lock_fork_done()
{
    forking = NONE;
    give_lock()
}

/* What is marked is zero in the child, and stays marked. */
inline kernel_fork()
{
    if
    :: in_child = false
    :: d_step {
           process < CHILDREN ->
           process++;
           lives_in[me] = process;
           in_child = true;
           orphaned = orphaned || (lock != NONE && lock != me);
           g = 1;
           do
           :: g <= UNITS ->
               if
               :: IS_IN(g, wiped) ->
                   assert(owner[g] == NOBODY || owner[g] == GIVEN_UP);
                   data[g] = 0
               :: else
               fi;
               g++
           :: else -> break
           od;
           skip
       }
    fi
}
#endif

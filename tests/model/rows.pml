/* A row of pool/rows.c and rows_keep.c, whose strides never split or merge: two workers claim,
   write, return and fork, with the handlers or without; the first of them trims and ages, too.
   A row above it is another bin to look at, so one is enough. The same is checked as in
   spans.pml and fork.pml.

   Each rule has a mutation that breaks it, which check.sh defines and which must be caught.
     rows.c         births follow each other under the lock: BIRTH_NEEDS_NO_LOCK
     rows_keep.c    as in fork.pml: MARK_STAYS, MARK_THAT_STAYS_IS_FREE, CHILD_TRUSTS_ITS_MARKS
                    the parent has what was marked as it was: PARENT_TRUSTS_ITS_MARKS
     lock.h         as in fork.pml: FORK_IS_KNOWN_BY_THREAD, LOCK_IS_WAITED_FOR */

#ifndef STRIDES
#define STRIDES 2
#endif
#ifndef CHILDREN
#define CHILDREN 1
#endif
#define UNITS STRIDES
#include "lock.pml"

/* enum pool_state */
#define UNBORN 0
#define LIVE   1
#define IDLE   2
#define WIPED  3
#define CLEAN  4

byte state[STRIDES + 2];
byte bin;   /* a set, as in area.pml */
byte born;  /* how many strides hold a block */
byte out;   /* blocks out of the bin around a fork: in nobody's hands, as in it */
byte known; /* the blocks that were handed out to the program */

inline choose(set)
{
    if
    :: IS_IN(1, set) -> block = 1
    :: IS_IN(2, set) -> block = 2
#if STRIDES > 2
    :: IS_IN(3, set) -> block = 3
#endif
    :: (set) == 0 -> block = NONE
    fi
}

/* block = one of the bin, now in hand; NONE when a race was lost too often. */
inline pop()
{
    atomic {
        if
        :: choose(bin)
        :: block = NONE
        fi;
        d_step {
            if
            :: block ->
                bin = bin & ~BIT(block);
                hand_over(block, 1, NOBODY, me)
            :: else
            fi
        }
    }
}

inline make_idle(given, as)
{
    state[given] = as;
    d_step {
        bin = bin | BIT(given);
        hand_over(given, 1, me, NOBODY)
    }
}

inline drain()
{
    if
    :: d_step {
           drained = bin;
           bin = 0;
           block = 1;
           do
           :: block <= STRIDES ->
               if
               :: IS_IN(block, drained) -> hand_over(block, 1, NOBODY, me)
               :: else
               fi;
               block++
           :: else -> break
           od;
           block = NONE
       }
    :: bin -> skip
    fi
}

inline next_of(set)
{
    atomic {
        choose(set);
        set = set & ~BIT(block)
    }
}

/* ---- rows.c ---- */

/* The source may refuse. */
inline bear()
{
    if
    :: d_step {
           born < STRIDES ->
           block = born + 1
       };
       d_step {
           born = block;
           hand_over(block, 1, NOBODY, me)
       }
    :: block = NONE
    fi
}

/* Under the lock what was out of the bin for a moment is back. */
inline claim_locked()
{
    pop();
    if
    :: block == NONE -> bear()
    :: else
    fi
}

inline claim()
{
    fresh = false;
    pop();
    if
    :: block
    :: else ->
#ifdef BIRTH_NEEDS_NO_LOCK
        claim_locked()
#else
        take_lock();
        if
        :: ok ->
            claim_locked();
            give_lock()
        :: else
        fi
#endif
    fi;
    if
    :: block ->
        if
        :: fresh = (state[block] != IDLE);
           state[block] = LIVE
        :: state[block] != UNBORN -> /* it is too short, and the source refuses */
           make_idle(block, state[block]);
           block = NONE
        fi
    :: else
    fi
}

/* ---- rows_keep.c: discard_but, with whatever is kept, any ---- */

inline discard_some()
{
    take_lock();
    if
    :: ok ->
        drain();
        do
        :: drained ->
            next_of(drained);
            if
            :: state[block] == IDLE ->
                discard(block, 1, me);
                make_idle(block, CLEAN)
            :: make_idle(block, state[block])
            fi
        :: else -> break
        od;
        give_lock()
    :: else
    fi
}

/* The source may refuse to mark. */
inline fork_prepare()
{
    lock_fork_prepare();
    if
    :: ok ->
        drain();
        do
        :: drained ->
            next_of(drained);
            d_step { hand_over(block, 1, me, NOBODY) };
            if
            :: state[block] == IDLE ->
                d_step {
                    assert(IS_INSIDE);
                    wiped = wiped | BIT(block);
                    state[block] = WIPED
                }
            :: true
            fi;
            out = out | BIT(block)
        :: else -> break
        od
    :: else
    fi
}

/* And to take a mark back: the block is given up. */
inline unmark()
{
    if
    :: d_step {
#ifndef MARK_STAYS
           wiped = wiped & ~BIT(block);
#endif
           hand_over(block, 1, NOBODY, me)
       };
#ifdef PARENT_TRUSTS_ITS_MARKS
       make_idle(block, CLEAN)
#else
       make_idle(block, (in_child -> CLEAN : IDLE))
#endif
#ifdef MARK_THAT_STAYS_IS_FREE
    :: d_step { hand_over(block, 1, NOBODY, me) };
       make_idle(block, (in_child -> CLEAN : IDLE))
#else
    :: d_step {
           state[block] = LIVE;
           hand_over(block, 1, NOBODY, GIVEN_UP)
       }
#endif
    fi
}

inline not_marked()
{
    d_step { hand_over(block, 1, NOBODY, me) };
#ifdef CHILD_TRUSTS_ITS_MARKS
    make_idle(block, (in_child -> CLEAN : state[block]))
#else
    make_idle(block, state[block])
#endif
}

inline fork_done()
{
    lock_is_fork_done();
    if
    :: ok ->
        do
        :: out ->
            next_of(out);
            assert(IS_INSIDE);
            if
            :: state[block] == WIPED -> unmark()
            :: else -> not_marked()
            fi
        :: else -> break
        od;
        lock_fork_done()
    :: else
    fi
}

/* ---- the program ---- */

inline forget()
{
    d_step {
        block = 0;
        drained = 0;
        ok = false;
        fresh = false;
        in_child = false
    }
}

inline use()
{
    d_step {
        if
        :: block ->
            assert(state[block] == LIVE && owner[block] == me);
            assert(!fresh || data[block] == 0);
            known = known | BIT(block);
            data[block] = me
        :: else
        fi
    };
    forget()
}

#define IS_MINE(index) (IS_IN(index, known) && owner[index] == me)

inline finish(given)
{
    d_step {
        assert(data[given] == me && state[given] == LIVE);
        known = known & ~BIT(given);
        data[given] = STALE
    };
    make_idle(given, IDLE);
    forget()
}

proctype worker()
{
    byte me, block, drained;
    bool ok, fresh, in_child;
    me = _pid;
begin:
    {
        do
        :: claim(); use()
        :: IS_MINE(1) -> finish(1)
        :: IS_MINE(2) -> finish(2)
#if STRIDES > 2
        :: IS_MINE(3) -> finish(3)
#endif
        :: me == 1 -> discard_some(); forget()
        :: fork_prepare(); kernel_fork(); fork_done(); forget()
        :: kernel_fork(); in_child = false
        :: break
        od
    } unless { IS_GONE };
    if
    :: !IS_GONE
    :: IS_GONE /* for good, or a new thread has its name */
    :: d_step {
           IS_GONE ->
           lives_in[me] = process;
           life[me]++
       };
       forget();
       goto begin
    fi
}

inline settle()
{
    byte at = 1;
    do
    :: at <= STRIDES ->
        if
        :: IS_IN(at, bin) ->
            assert(owner[at] == NOBODY && (state[at] == IDLE || state[at] == CLEAN))
        :: else -> assert(at > born || owner[at] != NOBODY)
        fi;
        assert(state[at] != CLEAN || data[at] == 0);
        assert(at <= born || (owner[at] == NOBODY && state[at] == UNBORN));
        at++
    :: else -> break
    od;
    assert(out == 0 && lock == NONE)
}

init
{
    atomic {
        run worker();
        run worker()
    }
    _nr_pr == 1;
    d_step {
        if
        :: orphaned /* what it guards is lost, and nobody looks at it */
        :: else -> settle()
        fi
    }
}

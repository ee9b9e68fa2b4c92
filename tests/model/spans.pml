/* The packed area among WORKERS threads, which claim, write and return for as long as they
   like; the first of them trims and ages, too. Checked on every interleaving:
   a granule is in one pair of hands at a time, and what was written there stays until its
   owner returns it; memory said to be fresh reads as zero; whoever cannot have the lock goes
   on; and when all is quiet each granule is owned, idle in a bin, free, or was never born.

   Each rule has a mutation that breaks it, which check.sh defines and which must be caught.
     spans.c        what bins miss is served under the lock: CLAIM_NEEDS_NO_LOCK
                    what is popped may be shorter than what was seen: CLAIM_TRUSTS_ITS_LOOK
                    a block is idle before it can be claimed: RETURN_IS_IDLE_LATE
                    what its bin does not take becomes free: RETURN_DROPS_THE_LAST
                    where so many are free, they were refused: EXTEND_TAKES_WHAT_WAS_REFUSED
     free_spans.c   what is taken out bears no mark of a free span: TAKE_LEAVES_MARKS
                    neighbours of one state merge: MERGE_MIXES
                    what was not asked for stays, as it was: SPLIT_FORGETS_REST,
                    SPLIT_REST_IS_CLEAN
                    fresh is what was clean in all its parts: SPLIT_LAST_IS_FRESH
     spans_keep.c   whoever gives memory back takes the block out first: TRIM_LEAVES_IN_BINS
                    clean is what was given back, and no more: TRIM_CLEANS_THE_WHOLE,
                    TRIM_TRUSTS_THE_SOURCE
                    a step begins anew once others had the lock: TRIM_KEEPS_ITS_PLACE

   Not here: two threads that return one block at once, which is an error of the program. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef GRANULES
#define GRANULES 4
#endif
#include "area.pml"

/* Step by step, each from the beginning, and gives the lock. */
inline discard_rest()
{
    do
    :: ok ->
        discard_some();
        if
        :: ok -> kept = 1 /* goes on */
        :: true -> kept = 0
        fi;
        if
        :: kept ->
            kept = 0;
            make_way()
        :: else -> break
        fi
    :: else -> break
    od;
    if
    :: ok ->
        ok = false;
        give_lock()
    :: else
    fi
}

/* pool_spans_trim */
inline trim()
{
    take_lock();
    if
    :: ok ->
#ifdef TRIM_LEAVES_IN_BINS
        drained = bin[0] | bin[1];
        do
        :: drained ->
            next_drained();
            discard(block, length[block], NOBODY)
        :: else -> break
        od;
#else
        drain();
#endif
        discard_rest()
    :: else
    fi
}

/* The ends of any dirty spans. */
inline age_free()
{
    do
    :: atomic {
           d_step {
               start = 1;
               do
               :: start <= GRANULES ->
                   fits = fits | (IS_IN(start, lists) && state[start] == FREE -> BIT(start) : 0);
                   start++
               :: else -> break
               od;
               skip
           };
           choose(fits);
           fits = 0;
           if
           :: block && length[block] > 1 -> kept = 1
           :: kept = 0
           fi
       };
       if
       :: block ->
           discard(block + kept, length[block] - kept, NOBODY);
#ifdef TRIM_CLEANS_THE_WHOLE
           kept = 0;
#endif
           clean_tail(block, kept)
       :: else -> break
       fi
    :: break
    od;
    kept = 0;
    index = 0
}

/* A warm block goes back into its bin, a cold one to the free spans: whatever is kept, any. */
inline age_block()
{
    if
    :: push(block);
       if
       :: ok
       :: else -> make_free(block, FREE)
       fi
    :: discard(block, length[block], me);
       make_free(block, CLEAN)
    :: /* the source refuses */
#ifdef TRIM_TRUSTS_THE_SOURCE
       make_free(block, CLEAN)
#else
       make_free(block, FREE)
#endif
    fi
}

/* pool_spans_age */
inline age()
{
    take_lock();
    if
    :: ok ->
        age_free();
        do
        :: class < CLASSES ->
            drain_bin(class);
            do
            :: drained ->
                next_drained();
                age_block()
            :: else -> break
            od;
            class++
        :: else -> break
        od;
        make_way();
        if
        :: ok ->
            age_free();
            give_lock()
        :: else
        fi
    :: else
    fi
}

proctype worker()
{
    LOCALS;
    me = _pid;
    do
    :: claim(1); use(1)
    :: claim(2); use(2)
    :: IS_MINE(1) -> finish(1)
    :: IS_MINE(2) -> finish(2)
#if GRANULES > 2
    :: claim(3); use(3)
    :: IS_MINE(3) -> finish(3)
#endif
#if GRANULES > 3
    :: IS_MINE(4) -> finish(4)
#endif
    :: me == 1 -> trim(); d_step { forget() }
    :: me == 1 -> age(); d_step { forget() }
    :: break
    od
}

init
{
    byte started;
    atomic {
        for (started : 1 .. WORKERS) {
            run worker()
        }
    }
    _nr_pr == 1;
    d_step {
        settle()
    }
}

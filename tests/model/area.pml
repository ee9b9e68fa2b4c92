/* A packed area as pool/spans.c, spans_keep.c and free_spans.c keep it, for spans.pml and
   fork.pml. A few granules, two classes, and of every choice of policy (which span fits, what
   is unneeded, what the source refuses) any outcome: what holds here holds for each policy.

   A bin is a set, and its pop, push and drain are one step each: bins.pml shows that they may
   be taken for that. What the lock guards is done in steps no larger than one function of
   free_spans.c; each store that others read without it is a step of its own. */

#define UNITS GRANULES
#include "lock.pml"

/* Two classes: blocks of 1 granule, and longer ones. A claim of 3 has to look at them first. */
#define CLASSES        2
#define WITHIN(count)  ((count) > 1)
#define SURE_OF(count) ((count) <= 2) /* any block of its class is long enough */

/* enum pool_state */
#define UNBORN 0
#define LIVE   1
#define IDLE   2
#define WIPED  3
#define CLEAN  4
#define FREE   5

/* One record a granule; 0 and the one behind the last are never a block's. What is out of date
   in one is 0 here, so that whoever trusts it is seen. */
byte state[GRANULES + 2];
byte length[GRANULES + 2];

byte bin[CLASSES]; /* the blocks in it, POOL_BIN_MOST of them */
#define IS_FULL(set) ((set) & ((set) - 1)) /* at two */

byte lists; /* the free spans, by their first granules */
byte top = 1;
byte known; /* the blocks that were handed out to the program */

#define IS_FREE(index) (state[index] == FREE || state[index] == CLEAN)

/* What a thread carries. */
#define LOCALS                                                                           \
    byte me, block, class, drained, index, kept, fits;                                   \
    bool ok, fresh

#include "free_spans.pml"

/* ---- bins.c ---- */

/* block = one of the bin, now in hand; NONE when a race was lost too often. */
inline pop(class)
{
    atomic {
        if
        :: choose(bin[class])
        :: block = NONE
        fi;
        d_step {
            if
            :: block ->
                bin[class] = bin[class] & ~BIT(block);
                hand_over(block, length[block], NOBODY, me)
            :: else
            fi
        }
    }
}

/* What is in hand goes into its bin; ok = false when that is full. */
inline push(given)
{
    d_step {
        start = WITHIN(length[given]);
        if
        :: IS_FULL(bin[start]) -> ok = false
        :: else ->
            bin[start] = bin[start] | BIT(given);
            hand_over(given, length[given], me, NOBODY);
            ok = true
        fi
    }
}

/* drained = what was in the bin, now in hand; nothing when a race was lost too often. */
inline drain_bin(class)
{
    if
    :: d_step {
           drained = bin[class];
           bin[class] = 0;
           start = 1;
           do
           :: start <= GRANULES ->
               if
               :: IS_IN(start, drained) -> hand_over(start, length[start], NOBODY, me)
               :: else
               fi;
               start++
           :: else -> break
           od;
           skip
       }
    :: bin[class] -> skip
    fi
}

/* block = the next of the list: any. */
inline next_drained()
{
    atomic {
        choose(drained);
        drained = drained & ~BIT(block)
    }
}

/* ---- spans.c ---- */

inline make_free(given, as)
{
    d_step {
        hand_over(given, length[given], me, NOBODY);
        merge(given, length[given], as)
    }
}

inline drain()
{
    class = 0;
    do
    :: class < CLASSES ->
        drain_bin(class);
        do
        :: drained ->
            next_drained();
            make_free(block, FREE)
        :: else -> break
        od;
        class++
    :: else -> break
    od;
    class = 0
}

/* The source may refuse; and where so many are free at the end of the area, it did. */
inline extend(count)
{
    if
    :: d_step {
           find_start(top);
           block = NONE;
           if
#ifdef EXTEND_TAKES_WHAT_WAS_REFUSED
           :: start + count <= GRANULES + 1 ->
#else
           :: top - start < count && start + count <= GRANULES + 1 ->
#endif
               block = start;
               take_front(block, top - block);
               length[block] = count;
               top = block + count;
               hand_over(block, count, NOBODY, me)
           :: else
           fi
       }
    :: block = NONE
    fi
}

inline set_live()
{
    if
    :: block -> state[block] = LIVE
    :: else
    fi
}

inline claim_locked(count)
{
    drain();
    fit(count);
    if
    :: block == NONE -> extend(count)
    :: else
    fi;
#ifndef CLAIM_IS_LIVE_LATE
    set_live()
#endif
}

inline return_idle(given)
{
    push(given);
    if
    :: ok
#ifndef RETURN_DROPS_THE_LAST
    :: else ->
        take_lock();
        if
        :: ok ->
            make_free(given, FREE);
            give_lock()
        :: else ->
            d_step { hand_over(given, length[given], me, GIVEN_UP) }
        fi
#else
    :: else -> d_step { hand_over(given, length[given], me, NOBODY) }
#endif
    fi
}

/* What waits on top of the bin is looked at first, but another thread may take it: whatever the
   look says, what is popped then may be too short. */
inline claim_below(count)
{
    if
    :: pop(1);
       if
#ifndef CLAIM_TRUSTS_ITS_LOOK
       :: block && length[block] < count ->
           return_idle(block);
           block = NONE
#endif
       :: else
       fi
    :: block = NONE
    fi
}

/* block = a block of so many granules, fresh = whether it reads as zero; NONE: a spill. */
inline claim(count)
{
    fresh = false;
    if
    :: SURE_OF(count) -> pop(WITHIN(count))
    :: else -> claim_below(count)
    fi;
    if
    :: block ->
        assert(state[block] == IDLE);
        state[block] = LIVE
    :: else ->
#ifdef CLAIM_NEEDS_NO_LOCK
        claim_locked(count)
#else
        take_lock();
        if
        :: ok ->
            claim_locked(count);
            give_lock();
#ifdef CLAIM_IS_LIVE_LATE
            set_live()
#endif
        :: else
        fi
#endif
    fi
}

inline give_back(given)
{
    assert(state[given] == LIVE);
#ifdef RETURN_IS_IDLE_LATE
    return_idle(given);
    state[given] = IDLE
#else
    state[given] = IDLE;
    return_idle(given)
#endif
}

/* ---- spans_keep.c ---- */

/* One step: free memory goes back, in address order. What is passed over is clean, or a block,
   or the source refuses, or there is enough for a step. */
inline discard_some()
{
    index = 1;
    do
    :: index < top ->
        assert(length[index] > 0);
        if
        :: state[index] == FREE ->
            discard(index, length[index], NOBODY);
            clean_tail(index, 0);
#ifdef TRIM_KEEPS_ITS_PLACE
            make_way();
            if
            :: ok
            :: else -> break
            fi
#endif
        :: true
        fi;
        index = index + length[index]
    :: else -> break
    od;
    index = 0
}

/* ---- the program ---- */

/* Nothing is carried from one operation to the next: fewer states to tell apart. */
inline forget()
{
    block = 0;
    class = 0;
    drained = 0;
    index = 0;
    kept = 0;
    fits = 0;
    ok = false;
    fresh = false
}

/* What was claimed is written, all of it. */
inline use(count)
{
    d_step {
        assert(!block || (length[block] >= count && state[block] == LIVE));
        known = known | (block -> BIT(block) : 0);
        g = block;
        do
        :: g < block + length[block] ->
            assert(owner[g] == me);
            assert(!fresh || data[g] == 0);
            data[g] = me;
            g++
        :: else -> break
        od;
        forget()
    }
}

#define IS_MINE(index) (IS_IN(index, known) && owner[index] == me)

/* And found as it was written when it is returned. */
inline finish(given)
{
    d_step {
        known = known & ~BIT(given);
        g = given;
        do
        :: g < given + length[given] ->
            assert(owner[g] == me && data[g] == me);
            data[g] = STALE;
            g++
        :: else -> break
        od;
        skip
    };
    give_back(given);
    d_step { forget() }
}

/* When all is quiet: pool_spans_valid, and who has what. */
inline settle()
{
    byte at = 1, last = LIVE;
    do
    :: at < top ->
        assert(length[at] > 0 && at + length[at] <= top);
        assert(state[at] != UNBORN && state[at] != WIPED);
        assert(IS_FREE(at) == IS_IN(at, lists));
        if
        :: IS_FREE(at) ->
            assert(state[at] != last && owner[at] == NOBODY);
            assert(length[at + length[at] - 1] == length[at])
        :: IS_IN(at, bin[0] | bin[1]) ->
            assert(state[at] == IDLE && owner[at] == NOBODY);
            assert(IS_IN(at, bin[WITHIN(length[at])]))
        :: else ->
            assert(owner[at] != NOBODY);
            assert(state[at] == LIVE || owner[at] == GIVEN_UP || VANISHED)
        fi;
        g = at;
        do
        :: g < at + length[at] ->
            assert(owner[g] == owner[at]);
            assert(state[at] != CLEAN || data[g] == 0);
            assert(g == at || !IS_IN(g, bin[0] | bin[1] | lists));
            g++
        :: else -> break
        od;
        last = state[at];
        at = at + length[at]
    :: else -> break
    od;
    assert(at == top && lock == NONE);
    do
    :: at <= GRANULES ->
        assert(owner[at] == NOBODY && data[at] == 0);
        assert(!IS_IN(at, bin[0] | bin[1] | lists));
        at++
    :: else -> break
    od
}

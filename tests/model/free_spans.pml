/* pool/free_spans.c, for area.pml: steps of whoever is in the lock. */

/* Set and read within one step. */
hidden byte size, part, start, from, end, kind;

inline put_free(first, count, as)
{
    assert(!IS_IN(first, lists));
    length[first + count - 1] = count;
    state[first + count - 1] = as;
    length[first] = count;
    state[first] = as;
    lists = lists | BIT(first)
}

/* kind = its state. */
inline take_free(first)
{
    assert(IS_IN(first, lists));
    kind = state[first];
    lists = lists & ~BIT(first);
#ifndef TAKE_LEAVES_MARKS
    g = first + length[first] - 1;
    state[g] = UNBORN;
    length[g] = 0;
    state[first] = UNBORN;
    length[first] = 0
#endif
}

#ifdef MERGE_MIXES
#define CAN_MERGE(index, as) IS_FREE(index)
#else
#define CAN_MERGE(index, as) (state[index] == as)
#endif

inline merge(first, count, as)
{
    from = first;
    size = count;
    state[first] = UNBORN;
    length[first] = 0;
    if
    :: from + size < top && CAN_MERGE(from + size, as) ->
        end = from + size;
        size = size + length[end];
        take_free(end)
    :: else
    fi;
    if
    :: CAN_MERGE(from - 1, as) ->
        end = length[from - 1];
        from = from - end;
        size = size + end;
        take_free(from)
    :: else
    fi;
    put_free(from, size, as)
}

/* start = where the granules begin that are free up to `limit` without a gap. */
inline find_start(limit)
{
    start = limit;
    do
    :: IS_FREE(start - 1) -> start = start - length[start - 1]
    :: else -> break
    od
}

/* Takes `count` granules out that are free from `first` on. */
inline take_front(first, count)
{
    fresh = true;
    from = first;
    end = first + count;
    do
    :: from < end ->
        assert(IS_FREE(from));
        size = length[from];
        part = (size < end - from -> size : end - from);
        take_free(from);
#ifdef SPLIT_REST_IS_CLEAN
        kind = CLEAN;
#endif
        if
#ifndef SPLIT_FORGETS_REST
        :: size > part -> put_free(from + part, size - part, kind)
#endif
        :: else
        fi;
#ifdef SPLIT_LAST_IS_FRESH
        fresh = (kind == CLEAN);
#else
        fresh = fresh && kind == CLEAN;
#endif
        from = from + part
    :: else -> break
    od
}

/* block = any of the set. */
inline choose(set)
{
    if
    :: IS_IN(1, set) -> block = 1
    :: IS_IN(2, set) -> block = 2
    :: IS_IN(3, set) -> block = 3
#if GRANULES > 3
    :: IS_IN(4, set) -> block = 4
#endif
    :: (set) == 0 -> block = NONE
    fi
}

/* fits = the free spans that are long enough, alone or with those behind them. */
inline find_fits(count)
{
    start = 1;
    do
    :: start < top ->
        size = 0;
        do
        :: start + size < top && IS_FREE(start + size) ->
            size = size + length[start + size]
        :: else -> break
        od;
        fits = fits | (IS_IN(start, lists) && size >= count -> BIT(start) : 0);
        start++
    :: else -> break
    od
}

/* Any of them, not only the best, or none: what is clean may not enter again. What does not fit
   exactly comes from the front of all that is free there. */
inline fit(count)
{
    atomic {
        d_step {
            find_fits(count);
            skip
        };
        if
        :: choose(fits)
        :: block = NONE
        fi;
        d_step {
            fits = 0;
            if
            :: block ->
                start = block;
                if
                :: length[block] != count -> find_start(block)
                :: else
                fi;
                block = start;
                take_front(block, count);
                length[block] = count;
                hand_over(block, count, NOBODY, me)
            :: else
            fi
        }
    }
}

/* The end of a free span, whose memory is gone, from `kept` on. */
inline clean_tail(first, kept)
{
    d_step {
        part = length[first] - kept;
        take_free(first);
        if
        :: kept -> put_free(first, kept, FREE)
        :: else
        fi;
        merge(first + kept, part, CLEAN);
        index = from
    }
}

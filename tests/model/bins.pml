/* One bin of pool/bins.c: three blocks, WORKERS threads of OPERATIONS each, every load,
   store and exchange of shared memory a step of its own. Checked on every interleaving:
   a block has one owner at a time, and at the end each block is owned or listed exactly
   once, the count is the length of the list, and the tag counts what it should. Memory is
   sequentially consistent here; pool/bins.c argues its orders.

   check.sh runs it as it is, and with each of the mutations defined that are written in
   capitals, which must be caught. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 4
#endif
#define RECORDS 3
#define TRIES   2 /* POOL_BIN_TRIES */
#define NOBODY  0

/* The head word, read and exchanged as one. */
typedef head_word {
    byte index;
    byte count;
    byte tag /* operations are too few for it to wrap */
}

head_word head;
byte next[RECORDS + 1];
byte owner[RECORDS + 1]; /* a worker's _pid */

/* What the figures are checked against. */
byte pushed, popped, drained;

inline load(seen)
{
    d_step {
        seen.index = head.index;
        seen.count = head.count;
        seen.tag = head.tag
    }
}

#define IS_CURRENT(seen) \
    (seen.index == head.index && seen.count == head.count && seen.tag == head.tag)

inline move_tag(steps)
{
#ifndef NO_TAG
    assert(head.tag + steps <= 255);
    head.tag = head.tag + steps
#else
    skip
#endif
}

inline own(block)
{
    assert(owner[block] == NOBODY);
    owner[block] = _pid
}

/* block = what was popped, 0 for nothing. */
inline pop()
{
    block = 0;
    tries = 0;
    load(seen);
    do
    :: seen.index == 0 || tries == TRIES -> break
    :: else ->
        link = next[seen.index];
        atomic {
            if
#ifdef POP_BLIND
            :: true ->
#else
            :: IS_CURRENT(seen) ->
#endif
                block = seen.index;
                head.index = link;
                head.count = seen.count - 1;
                move_tag(1);
                own(block);
                popped++;
                break
            :: else ->
                load(seen);
                tries++
            fi
        }
    od
}

/* Until it succeeds: the caller's other road is a lock, which is not the bin's. */
inline push(given)
{
    load(seen);
    do
    :: true ->
#ifndef PUSH_LINKS_LATE
        next[given] = seen.index;
#endif
        atomic {
            if
            :: IS_CURRENT(seen) ->
                assert(owner[given] == _pid);
                owner[given] = NOBODY;
                head.index = given;
                head.count = head.count + 1;
                move_tag(1);
                pushed++;
                break
            :: else ->
                load(seen)
            fi
        }
    od;
#ifdef PUSH_LINKS_LATE
    next[given] = seen.index
#endif
}

/* Takes all blocks and puts them back one by one, as a trim does. */
inline drain()
{
    block = 0;
    tries = 0;
    load(seen);
    do
    :: seen.index == 0 || tries == TRIES -> break
    :: else ->
        atomic {
            if
            :: IS_CURRENT(seen) ->
                block = seen.index;
                head.index = 0;
                head.count = 0;
#ifdef DRAIN_MOVES_TAG_ONCE
                move_tag(1);
#else
                move_tag(seen.count);
#endif
                drained = drained + seen.count;
                break
            :: else ->
                load(seen);
                tries++
            fi
        }
    od;
    do
    :: block == 0 -> break
    :: else ->
#ifndef DRAIN_READS_LATE
        link = next[block];
#endif
        own(block);
        push(block);
#ifdef DRAIN_READS_LATE
        link = next[block];
#endif
        block = link
    od
}

/* Nothing is carried from one operation to the next: fewer states to tell apart. */
inline forget()
{
    d_step {
        seen.index = 0;
        seen.count = 0;
        seen.tag = 0;
        block = 0;
        link = 0;
        tries = 0
    }
}

proctype worker(byte operations)
{
    head_word seen;
    byte block, link, tries;
    do
    :: operations == 0 -> break
    :: else ->
        operations--;
        if
        :: pop()
        :: _pid == 1 -> drain() /* drains are one at a time: one worker's */
        :: owner[1] == _pid -> push(1)
        :: owner[2] == _pid -> push(2)
        :: owner[3] == _pid -> push(3)
        fi;
        forget()
    od
}

/* Walks the list and finds each block there or with an owner. */
inline settle()
{
    byte at = head.index, length = 0, block;
    bool listed[RECORDS + 1];
    do
    :: at == 0 -> break
    :: else ->
        assert(!listed[at] && owner[at] == NOBODY);
        listed[at] = true;
        length++;
        at = next[at]
    od;
    assert(length == head.count);
    for (block : 1 .. RECORDS) {
        assert(listed[block] || owner[block] != NOBODY)
    }
    assert(head.tag == pushed + popped + drained);
    assert((head.tag - head.count) / 2 - drained == popped)
}

/* Blocks 1 and 2 are idle, 3 belongs to the first worker. */
init
{
    byte started;
    atomic {
        next[1] = 2;
        head.index = 1;
        head.count = 2;
        head.tag = 2;
        pushed = 2;
        for (started : 1 .. WORKERS) {
            run worker(OPERATIONS)
        }
        owner[3] = 1
    }
    _nr_pr == 1;
#ifndef NO_TAG /* which is to be caught while it runs */
    d_step {
        settle()
    }
#endif
}

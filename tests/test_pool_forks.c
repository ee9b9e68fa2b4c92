/* Defends: a child of fork has what was live and nothing that was idle, its own child too; the
   parent keeps both; and a mark that the kernel refuses, or does not take back, costs memory
   at most, never contents. */
#include "tests/heap_fixture.h"

static struct pool_source source; /* the fake one, with what a test puts in its place */

static uint64_t idle(void)
{
    return pool_heap_read(&heap).idle_bytes;
}

/* The parts of a block that tests read and write: its first and its last granule. */
static void fill(char *block, char value, size_t bytes)
{
    memset(block, value, 64 * KIB);
    memset(block + bytes - 64 * KIB, value, 64 * KIB);
}

static bool is_filled(const char *block, char value, size_t bytes)
{
    return all_are(block, value, 64 * KIB) &&
           all_are(block + bytes - 64 * KIB, value, 64 * KIB);
}

static void fork_in_vain(void)
{
    pool_heap_fork_prepare(&heap);
    pool_heap_fork_done(&heap, false);
}

/* Marks that are in force, by address, and the call that is refused. */
static struct {
    char *marked[64];
    unsigned marks, count, refused;
    bool refuses_end;
} forking;

static bool wipe_counted(void *address, size_t bytes, bool wipe)
{
    if (wipe == !forking.refuses_end && ++forking.count == forking.refused)
        return false;
    if (wipe) {
        ck_assert_uint_lt(forking.marks, 64);
        forking.marked[forking.marks++] = address;
        return fake_wipe_on_fork(address, bytes, wipe);
    }
    for (unsigned i = 0; i < forking.marks; i++)
        if (forking.marked[i] == address) {
            forking.marked[i] = forking.marked[--forking.marks];
            return fake_wipe_on_fork(address, bytes, wipe);
        }
    return false; /* what was not marked */
}

static void setup_counted(void)
{
    memset(&forking, 0, sizeof(forking));
    source = fake_source;
    source.wipe_on_fork = wipe_counted;
    setup();
    memset(&heap, 0, sizeof(heap));
    ck_assert(pool_heap_open(&heap, &source));
}

/* Forks as the library's handlers do; whether the child ends well. */
static void fork_and_expect(bool (*act)(void))
{
    int status;
    pool_heap_fork_prepare(&heap);
    pid_t child = fork();
    pool_heap_fork_done(&heap, child == 0);
    if (child == 0)
        _exit(act() && pool_packed_valid(&heap.packed) ? 0 : 1);
    ck_assert_int_ge(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(pool_packed_valid(&heap.packed));
}

static struct {
    char *live[3]; /* 64 KiB, 2 MiB, 40 MiB */
    char *idle[3]; /* 1 MiB, 3 MiB, 41 MiB */
} blocks;

static const size_t live_lengths[] = {64 * KIB, 2 * MIB, 40 * MIB};
static const size_t idle_lengths[] = {MIB, 3 * MIB, 41 * MIB};

static void live_and_idle(void)
{
    for (unsigned i = 0; i < 3; i++) {
        blocks.idle[i] = claim(idle_lengths[i]);
        fill(blocks.idle[i], 'i', idle_lengths[i]);
        blocks.live[i] = claim(live_lengths[i]);
        fill(blocks.live[i], 'l', live_lengths[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        give_back(blocks.idle[i]);
}

static bool live_are(char expected)
{
    return is_filled(blocks.live[0], expected, live_lengths[0]) &&
           is_filled(blocks.live[1], expected, live_lengths[1]) &&
           is_filled(blocks.live[2], expected, live_lengths[2]);
}

/* Claims the three idle blocks; in a child, all are at their places, fresh and zero. */
static bool claims_fresh(void)
{
    bool right = idle() == 0;
    for (unsigned i = 0; i < 3; i++) {
        bool fresh = false;
        char *block = pool_heap_claim(&heap, idle_lengths[i], &fresh);
        right = right && block == blocks.idle[i] && fresh &&
                is_filled(block, 0, idle_lengths[i]);
    }
    return right;
}

static bool grandchild(void)
{
    return forking.marks == 0 && live_are('c') && claims_fresh();
}

/* Writes to what is live, uses and returns what was idle, and forks itself. */
static bool child(void)
{
    bool right = forking.marks == 0 && live_are('l') && claims_fresh();
    for (unsigned i = 0; i < 3; i++) {
        fill(blocks.live[i], 'c', live_lengths[i]);
        fill(blocks.idle[i], 'c', idle_lengths[i]);
        right = right && pool_heap_return(&heap, blocks.idle[i]);
    }
    int status = 1;
    pool_heap_fork_prepare(&heap);
    right = right && forking.marks == 3;
    pid_t pid = fork();
    pool_heap_fork_done(&heap, pid == 0);
    if (pid == 0)
        _exit(grandchild() ? 0 : 1);
    return right && waitpid(pid, &status, 0) == pid && status == 0 &&
           forking.marks == 0 && live_are('c') &&
           is_filled(blocks.idle[2], 'c', idle_lengths[2]);
}

START_TEST(live_memory_reaches_child_and_grandchild_and_idle_memory_neither)
{
    setup_counted();
    live_and_idle();
    uint64_t held = idle();
    fork_and_expect(child);
    ck_assert_uint_eq(fake_wipes(), 6);
    ck_assert_uint_eq(forking.marks, 0);
    ck_assert_uint_eq(fake_discards(), 0);
    ck_assert_uint_eq(idle(), held);
    ck_assert(live_are('l'));
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_ptr_eq(claim(idle_lengths[i]), blocks.idle[i]);
        ck_assert(is_filled(blocks.idle[i], 'i', idle_lengths[i]));
    }
}
END_TEST

START_TEST(what_was_given_back_is_not_marked)
{
    setup_counted();
    live_and_idle();
    (void)pool_heap_trim(&heap);
    char *dirty = claim(2 * MIB);
    give_back(dirty);
    fork_in_vain();
    ck_assert_uint_eq(fake_wipes(), 2);
    ck_assert_uint_eq(idle(), 2 * MIB);
    ck_assert(pool_packed_valid(&heap.packed));
    ck_assert_uint_eq(pool_heap_trim(&heap), 2 * MIB);
}
END_TEST

/* As a signal handler does that comes in the midst of one. */
START_TEST(a_fork_inside_of_a_fork_leaves_the_marks_to_the_other)
{
    setup_counted();
    live_and_idle();
    uint64_t held = idle();
    pool_heap_fork_prepare(&heap);
    ck_assert_uint_eq(forking.marks, 3);
    fork_in_vain();
    ck_assert_uint_eq(forking.marks, 3);
    pool_heap_fork_done(&heap, false);
    ck_assert_uint_eq(forking.marks, 0);
    ck_assert_uint_eq(idle(), held);
    ck_assert(pool_packed_valid(&heap.packed));
}
END_TEST

/* Claims what may be claimed, and finds no contents where it is said to be fresh. */
static bool child_is_sound(void)
{
    bool right = live_are('l');
    for (unsigned i = 0; i < 12; i++) {
        bool fresh;
        size_t length = idle_lengths[i % 3];
        char *block = pool_heap_claim(&heap, length, &fresh);
        right = right && block && (!fresh || is_filled(block, 0, length));
        fill(block, 'n', length);
    }
    return right && live_are('l');
}

START_TEST(a_mark_that_is_refused_costs_a_copy_and_nothing_else)
{
    for (unsigned refused = 1; refused <= 3; refused++) {
        setup_counted();
        live_and_idle();
        uint64_t held = idle();
        forking.refused = refused;
        fork_and_expect(child_is_sound);
        ck_assert_uint_eq(fake_wipes(), 4);
        ck_assert_uint_eq(forking.marks, 0);
        ck_assert_uint_eq(idle(), held);
        for (unsigned i = 0; i < 3; i++)
            ck_assert(is_filled(claim(idle_lengths[i]), 'i', idle_lengths[i]));
    }
}
END_TEST

/* Whether a claim of any length gets a part of the block. */
static bool is_given_up(unsigned which)
{
    bool given_up = true;
    for (unsigned i = 0; i < 40; i++) {
        char *block = claim(idle_lengths[i % 3]);
        given_up = given_up && (block + idle_lengths[i % 3] <= blocks.idle[which] ||
                                block >= blocks.idle[which] + idle_lengths[which]);
    }
    return given_up;
}

START_TEST(memory_whose_mark_cannot_be_taken_back_is_given_up)
{
    unsigned lost[3] = {0};
    for (unsigned refused = 1; refused <= 3; refused++) {
        setup_counted();
        live_and_idle();
        uint64_t held = idle();
        forking.refused = refused;
        forking.refuses_end = true;
        fork_in_vain();
        ck_assert_uint_eq(forking.marks, 1);
        unsigned which = 0;
        while (forking.marked[0] != blocks.idle[which])
            which++;
        lost[which]++;
        ck_assert_uint_eq(idle(), held - idle_lengths[which]);
        /* Whatever forks next wipes it; nobody has data there. */
        forking.refused = 0;
        fork_in_vain();
        (void)pool_heap_trim(&heap);
        ck_assert(is_given_up(which));
        ck_assert(live_are('l'));
    }
    ck_assert(lost[0] == 1 && lost[1] == 1 && lost[2] == 1);
}
END_TEST

static bool child_shares_idle_memory(void)
{
    bool right = live_are('l');
    for (unsigned i = 0; i < 3; i++) {
        bool fresh;
        char *block = pool_heap_claim(&heap, idle_lengths[i], &fresh);
        right = right && block == blocks.idle[i] && !fresh && block[0] == 'i';
    }
    return right;
}

START_TEST(a_source_that_cannot_mark_leaves_the_child_what_its_parent_had)
{
    setup_counted();
    source.wipe_on_fork = NULL;
    live_and_idle();
    (void)pool_rows_age(&heap.rows);
    fork_and_expect(child_shares_idle_memory);
    ck_assert_uint_eq(pool_rows_age(&heap.rows), 41 * MIB);
}
END_TEST

START_TEST(a_fork_leaves_idle_blocks_of_a_row_in_their_order)
{
    char *first = claim(40 * MIB), *second = claim(40 * MIB);
    give_back(first);
    give_back(second);
    fork_in_vain();
    ck_assert_ptr_eq(claim(40 * MIB), second);
    ck_assert_ptr_eq(claim(40 * MIB), first);
}
END_TEST

SUITE_MAIN_WITH("pool, forks", setup_counted, teardown,
                live_memory_reaches_child_and_grandchild_and_idle_memory_neither,
                what_was_given_back_is_not_marked,
                a_fork_inside_of_a_fork_leaves_the_marks_to_the_other,
                a_mark_that_is_refused_costs_a_copy_and_nothing_else,
                memory_whose_mark_cannot_be_taken_back_is_given_up,
                a_source_that_cannot_mark_leaves_the_child_what_its_parent_had,
                a_fork_leaves_idle_blocks_of_a_row_in_their_order)

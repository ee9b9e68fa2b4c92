/* Defends: a range that was cleared reads as zero, every byte of it and no page beside it,
   whichever way the kernel was asked and whether or not it answered; pages that held nothing
   go on holding nothing; where a filter may be in force no file is opened; errno stays. */
#include "shim/host_clear.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "tests/suite.h"

#define MIB  ((size_t)1 << 20)
#define WAYS (SHIM_CLEAR_BY_WRITING + 1)

enum {
    PAGE = 4096,
    PAGES = 2048,      /* of the range in most tests: 8 MiB, four looks at pagemap */
    BESIDE = 16,       /* pages on each side that are none of its business */
    HUGE_PAGES = 4,    /* of 2 MiB */
    SWAP_PAGES = 2048, /* of a swap file of our own */
};

/* What was done to a page. */
enum touch { UNTOUCHED, READ, WRITTEN };

struct range {
    char *start; /* of PAGES pages, with BESIDE written ones on each side */
    enum touch touched[PAGES];
    unsigned count[WRITTEN + 1];
};

static char *map(size_t bytes)
{
    char *start =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(start, MAP_FAILED);
    return start;
}

/* The one range, on ordinary pages whatever this machine does by default. */
static struct range *open_range(void)
{
    static struct range range;
    const size_t bytes = (size_t)(BESIDE + PAGES + BESIDE) * PAGE;
    if (range.start)
        munmap(range.start - (size_t)BESIDE * PAGE, bytes);
    memset(&range, 0, sizeof(range));
    char *start = map(bytes);
    madvise(start, bytes, MADV_NOHUGEPAGE);
    memset(start, 'b', (size_t)BESIDE * PAGE);
    memset(start + (size_t)(BESIDE + PAGES) * PAGE, 'a', (size_t)BESIDE * PAGE);
    range.start = start + (size_t)BESIDE * PAGE;
    range.count[UNTOUCHED] = PAGES;
    return &range;
}

static char *page_of(const struct range *range, unsigned page)
{
    return range->start + (size_t)page * PAGE;
}

static void touch(struct range *range, unsigned page, enum touch how)
{
    if (how == READ)
        (void)*(const volatile char *)page_of(range, page);
    if (how == WRITTEN)
        memset(page_of(range, page), 'w', PAGE);
    range->count[range->touched[page]]--;
    range->touched[page] = how;
    range->count[how]++;
}

/* One page in `one_in` is written, one is read, at random; the rest is left alone. */
static void touch_at_random(struct range *range, uint64_t seed, unsigned one_in)
{
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned page = 0; page < PAGES; page++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        unsigned dice = (unsigned)(random >> 32) % one_in;
        if (dice < 2)
            touch(range, page, dice == 0 ? WRITTEN : READ);
    }
}

static bool all_are(const char *bytes, char expected, size_t count)
{
    size_t at = 0;
    while (at < count && bytes[at] == expected)
        at++;
    return at == count;
}

static void is_zero(const struct range *range, unsigned from, unsigned to)
{
    for (unsigned page = from; page < to; page++)
        if (!all_are(page_of(range, page), 0, PAGE))
            ck_abort_msg("page %u is not zero", page);
}

static void neighbours_are_intact(const struct range *range)
{
    ck_assert(all_are(range->start - (size_t)BESIDE * PAGE, 'b', (size_t)BESIDE * PAGE));
    ck_assert(all_are(page_of(range, PAGES), 'a', (size_t)BESIDE * PAGE));
}

/* Whether a page is in the page table; by mincore, which forgets what is swapped. */
static bool is_mapped(const char *page)
{
    unsigned char mapped;
    char *start = (char *)((uintptr_t)page & ~(uintptr_t)(PAGE - 1));
    ck_assert_int_eq(mincore(start, PAGE, &mapped), 0);
    return mapped & 1;
}

static void untouched_are_absent(const struct range *range)
{
    for (unsigned page = 0; page < PAGES; page++)
        if (range->touched[page] == UNTOUCHED && is_mapped(page_of(range, page)))
            ck_abort_msg("page %u was given memory", page);
}

/* Pages of memory behind the mapping that holds `address`; the page of zeros counts as none. */
static unsigned resident_pages(const char *address)
{
    char line[256];
    unsigned long from, to, kib = 0;
    bool inside = false, found = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    ck_assert_ptr_nonnull(maps);
    while (!found && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = (uintptr_t)address >= from && (uintptr_t)address < to;
        found = inside && sscanf(line, "Rss: %lu kB", &kib) == 1;
    }
    fclose(maps);
    ck_assert(found);
    return (unsigned)(kib * 1024 / PAGE);
}

/* Linux 6.7, which this kernel may be older than. */
static bool has_scan(void)
{
    struct utsname kernel;
    unsigned version = 0, patch = 0;
    ck_assert_int_eq(uname(&kernel), 0);
    ck_assert_int_eq(sscanf(kernel.release, "%u.%u", &version, &patch), 2);
    return version > 6 || (version == 6 && patch >= 7);
}

/* Whether the kernel answers when it is asked this way; says so where it does not. */
static bool answers(enum shim_clear_way way)
{
    if (way == SHIM_CLEAR_BY_WRITING)
        return false;
    if (way == SHIM_CLEAR_BY_PAGEMAP || has_scan())
        return true;
    printf("skip PAGEMAP_SCAN: this kernel is older than 6.7\n");
    return false;
}

START_TEST(every_way_clears_a_random_subset_and_nothing_beside_it)
{
    for (enum shim_clear_way way = 0; way < WAYS; way++)
        for (unsigned one_in = 2; one_in <= 128; one_in *= 8) {
            struct range *range = open_range();
            touch_at_random(range, one_in + way, one_in);
            ck_assert_uint_gt(range->count[WRITTEN], 0);
            shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
            is_zero(range, 0, PAGES);
            neighbours_are_intact(range);
        }
}
END_TEST

START_TEST(pages_that_held_nothing_hold_nothing_afterwards)
{
    for (enum shim_clear_way way = 0; way < SHIM_CLEAR_BY_WRITING; way++) {
        struct range *range = open_range();
        if (!answers(way))
            continue;
        touch_at_random(range, 7, 16);
        unsigned before = resident_pages(range->start);
        ck_assert_uint_eq(before, range->count[WRITTEN] + 2 * BESIDE);
        shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
        untouched_are_absent(range);
        /* A page that was only read shows the page of zeros: the scan knows it, an entry of
           pagemap does not tell. */
        unsigned more = way == SHIM_CLEAR_BY_SCAN ? 0 : range->count[READ];
        ck_assert_uint_eq(resident_pages(range->start), before + more);
        is_zero(range, 0, PAGES);
    }
}
END_TEST

START_TEST(a_dense_range_and_one_with_nothing_in_it_are_cleared)
{
    for (enum shim_clear_way way = 0; way < WAYS; way++) {
        struct range *range = open_range();
        shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
        if (answers(way))
            untouched_are_absent(range);
        for (unsigned page = 0; page < PAGES; page++)
            touch(range, page, WRITTEN);
        shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
        is_zero(range, 0, PAGES);
        neighbours_are_intact(range);
    }
}
END_TEST

START_TEST(a_range_is_cleared_to_the_end_of_the_page_of_its_last_byte)
{
    const struct {
        size_t bytes;
        unsigned pages;
    } cases[] = {
        {1, 1},
        {PAGE - 1, 1},
        {PAGE, 1},
        {PAGE + 1, 2},
        {(size_t)512 * PAGE, 512},
        {(size_t)512 * PAGE + 1, 513},
        {(size_t)1000 * PAGE - 17, 1000},
        {0, 0},
    };
    for (enum shim_clear_way way = 0; way < WAYS; way++)
        for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
            struct range *range = open_range();
            /* Every other page, so that more stretches are found than one scan names. */
            for (unsigned page = 0; page < PAGES; page += 2)
                touch(range, page, WRITTEN);
            touch(range, cases[i].pages, WRITTEN);
            shim_clear_by(way, range->start, cases[i].bytes);
            is_zero(range, 0, cases[i].pages);
            ck_assert(all_are(page_of(range, cases[i].pages), 'w', PAGE));
            neighbours_are_intact(range);
        }
}
END_TEST

START_TEST(huge_pages_are_cleared_and_those_without_memory_get_none)
{
    const size_t huge = 2 * MIB;
    for (enum shim_clear_way way = 0; way < WAYS; way++) {
        char *mapped = map((HUGE_PAGES + 1) * huge);
        char *start = (char *)(((uintptr_t)mapped + huge - 1) & ~(huge - 1));
        madvise(start, HUGE_PAGES * huge, MADV_HUGEPAGE);
        memset(start + huge / 2, 'w', PAGE);
        memset(start + 3 * huge + PAGE, 'w', PAGE);
        (void)*(volatile char *)(start + huge); /* a huge page of zeros */
        shim_clear_by(way, start, HUGE_PAGES * huge);
        if (answers(way))
            for (size_t page = 2 * huge; page < 3 * huge; page += PAGE)
                ck_assert(!is_mapped(start + page));
        ck_assert(all_are(start, 0, HUGE_PAGES * huge));
        munmap(mapped, (HUGE_PAGES + 1) * huge);
    }
}
END_TEST

/* Runs `act` in a child and returns its status, as wait gives it. */
static int in_child(void (*act)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        act();
        _exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static struct range *shared_range;
static enum shim_clear_way shared_way;

/* In a child, where a failed assertion must not reach Check's own report. */
static void expect(bool right)
{
    if (!right)
        _exit(EXIT_FAILURE);
}

static void clear_what_only_the_child_wrote(void)
{
    for (unsigned page = 0; page < PAGES; page += 3)
        touch(shared_range, page, WRITTEN);
    shim_clear_by(shared_way, shared_range->start, (size_t)PAGES * PAGE);
    expect(all_are(shared_range->start, 0, (size_t)PAGES * PAGE));
}

START_TEST(a_child_clears_its_own_pages_after_its_parent_cleared_some)
{
    for (shared_way = 0; shared_way < WAYS; shared_way++) {
        shared_range = open_range();
        shim_clear_by(shared_way, shared_range->start, (size_t)PAGES * PAGE);
        ck_assert_int_eq(in_child(clear_what_only_the_child_wrote), 0);
    }
}
END_TEST

START_TEST(no_descriptor_stays_open)
{
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(before, 0);
    close(before);
    for (enum shim_clear_way way = 0; way < WAYS; way++)
        shim_clear_by(way, open_range()->start, (size_t)PAGES * PAGE);
    shim_clear(open_range()->start, (size_t)PAGES * PAGE);
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(after, before);
}
END_TEST

START_TEST(errno_is_as_it_was_whether_or_not_the_kernel_answers)
{
    for (unsigned refused = 0; refused < 2; refused++) {
        if (refused)
            setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
        for (enum shim_clear_way way = 0; way < WAYS; way++) {
            char *start = map(MIB);
            start[0] = 'w';
            errno = EXDEV;
            shim_clear_by(way, start, MIB);
            ck_assert_int_eq(errno, EXDEV);
            ck_assert_int_eq(start[0], 0);
        }
        char *start = map(MIB);
        errno = EXDEV;
        shim_clear(start, MIB);
        ck_assert_int_eq(errno, EXDEV);
        (void)shim_clear_may_read_files();
        ck_assert_int_eq(errno, EXDEV);
    }
}
END_TEST

START_TEST(where_no_file_can_be_opened_every_way_writes)
{
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
    for (enum shim_clear_way way = 0; way < WAYS; way++) {
        struct range *range = open_range();
        touch_at_random(range, 3, 4);
        shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
        is_zero(range, 0, PAGES);
        neighbours_are_intact(range);
    }
    ck_assert(!shim_clear_may_read_files());
    struct range *range = open_range();
    touch_at_random(range, 4, 4);
    shim_clear(range->start, (size_t)PAGES * PAGE);
    is_zero(range, 0, PAGES);
}
END_TEST

START_TEST(from_one_mib_up_the_best_way_leaves_pages_without_memory_alone)
{
    struct range *range = open_range();
    if (!shim_clear_may_read_files()) {
        printf("skip the best way: this process may not read files of /proc\n");
        return;
    }
    shim_clear(range->start, MIB - 1);
    ck_assert_uint_eq(resident_pages(range->start), MIB / PAGE + 2 * BESIDE);
    touch(range, PAGES - 1, WRITTEN);
    shim_clear(page_of(range, PAGES) - MIB, MIB);
    ck_assert_uint_eq(resident_pages(range->start), MIB / PAGE + 1 + 2 * BESIDE);
    is_zero(range, 0, PAGES);
    neighbours_are_intact(range);
}
END_TEST

/* Installs a filter that ends the process at the calls by which files are opened and asked;
   or one that lets all of them pass. */
static bool install_filter(bool kill_file_calls)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K,
                 kill_file_calls ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(steps) / sizeof(*steps), steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

enum { NO_FILTER = 3 };

static void clear_under_a_filter(size_t bytes)
{
    touch_at_random(shared_range, 5, 4);
    shim_clear(shared_range->start, bytes);
    expect(all_are(shared_range->start, 0, bytes));
}

static void be_told_and_then_filtered(void)
{
    (void)shim_clear_may_read_files();
    expect(!shim_clear_is_told());
    shim_clear_no_scan();
    expect(shim_clear_is_told());
    if (!install_filter(true))
        _exit(NO_FILTER);
    expect(!shim_clear_may_read_files());
    clear_under_a_filter((size_t)PAGES * PAGE);
}

static void be_filtered_untold(void)
{
    expect(shim_clear_may_read_files());
    if (!install_filter(true))
        _exit(NO_FILTER);
    clear_under_a_filter(MIB - 1);
    clear_under_a_filter((size_t)PAGES * PAGE);
}

static void be_filtered_from_the_start(void)
{
    if (!install_filter(false))
        _exit(NO_FILTER);
    expect(!shim_clear_may_read_files());
    clear_under_a_filter((size_t)PAGES * PAGE);
}

static bool no_filters_here(int status)
{
    bool none = WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER;
    if (none)
        printf("skip seccomp: this kernel takes no filter from us\n");
    return none;
}

START_TEST(once_told_of_a_filter_no_file_is_opened_and_memory_is_cleared)
{
    shared_range = open_range();
    int status = in_child(be_told_and_then_filtered);
    if (no_filters_here(status))
        return;
    ck_assert_int_eq(status, 0);
    /* The filter does end a process that was not told: at 1 MiB, not before. */
    if (!shim_clear_may_read_files())
        return;
    status = in_child(be_filtered_untold);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

START_TEST(a_process_under_a_filter_from_its_start_opens_nothing_but_its_status)
{
    shared_range = open_range();
    int status = in_child(be_filtered_from_the_start);
    if (!no_filters_here(status))
        ck_assert_int_eq(status, 0);
}
END_TEST

/* How many pages of the range are in swap, by their entries in pagemap. */
static unsigned swapped_pages(const struct range *range)
{
    static uint64_t entries[PAGES];
    unsigned swapped = 0;
    int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t offset = (off_t)((uintptr_t)range->start / PAGE * sizeof(uint64_t));
    if (file < 0 ||
        pread(file, entries, sizeof(entries), offset) != (ssize_t)sizeof(entries))
        return 0;
    close(file);
    for (unsigned page = 0; page < PAGES; page++)
        swapped += entries[page] >> 62 & 1;
    return swapped;
}

/* A swap file as mkswap makes it; false where nobody may, or no such file can be. */
static bool open_swap(const char *path)
{
    static const char zero[PAGE];
    char first[PAGE] = {0};
    const uint32_t version = 1, last_page = SWAP_PAGES - 1;
    memcpy(first + 1024, &version, sizeof(version));
    memcpy(first + 1024 + sizeof(version), &last_page, sizeof(last_page));
    memcpy(first + PAGE - 10, "SWAPSPACE2", 10);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    bool written = write(file, first, PAGE) == PAGE;
    for (unsigned page = 1; page < SWAP_PAGES; page++)
        written = written && write(file, zero, PAGE) == PAGE;
    written = fsync(file) == 0 && written;
    close(file);
    return written && swapon(path, 0) == 0;
}

struct swap_outcome {
    unsigned swapped;
    bool cleared, absent;
};

/* Asserts nothing: a swap file of ours has to be put off first. */
static struct swap_outcome clear_swapped(enum shim_clear_way way)
{
    struct swap_outcome outcome = {0};
    struct range *range = open_range();
    for (unsigned page = 0; page < PAGES; page += 4)
        touch(range, page, WRITTEN);
    madvise(range->start, (size_t)PAGES * PAGE, MADV_PAGEOUT);
    outcome.swapped = swapped_pages(range);
    if (outcome.swapped == 0)
        return outcome;
    shim_clear_by(way, range->start, (size_t)PAGES * PAGE);
    outcome.absent = true;
    for (unsigned page = 0; page < PAGES; page++)
        if (range->touched[page] == UNTOUCHED && is_mapped(page_of(range, page)))
            outcome.absent = false;
    outcome.cleared = all_are(range->start, 0, (size_t)PAGES * PAGE);
    return outcome;
}

START_TEST(a_page_that_is_swapped_out_is_cleared)
{
    char path[] = "test_shim_clear_swap_XXXXXX";
    bool ours = false;
    struct swap_outcome outcomes[WAYS] = {{0}};
    if (clear_swapped(SHIM_CLEAR_BY_WRITING).swapped == 0) {
        int file = mkstemp(path);
        ours = file >= 0 && close(file) == 0 && open_swap(path);
    }
    for (enum shim_clear_way way = 0; way < WAYS; way++)
        outcomes[way] = clear_swapped(way);
    if (ours)
        swapoff(path);
    unlink(path);
    if (outcomes[0].swapped == 0) {
        printf("skip swapped pages: no swap can be set up here\n");
        return;
    }
    for (enum shim_clear_way way = 0; way < WAYS; way++) {
        ck_assert(outcomes[way].cleared);
        ck_assert(outcomes[way].absent || !answers(way));
    }
}
END_TEST

SUITE_MAIN("shim/host_clear", every_way_clears_a_random_subset_and_nothing_beside_it,
           pages_that_held_nothing_hold_nothing_afterwards,
           a_dense_range_and_one_with_nothing_in_it_are_cleared,
           a_range_is_cleared_to_the_end_of_the_page_of_its_last_byte,
           huge_pages_are_cleared_and_those_without_memory_get_none,
           a_child_clears_its_own_pages_after_its_parent_cleared_some,
           no_descriptor_stays_open, errno_is_as_it_was_whether_or_not_the_kernel_answers,
           where_no_file_can_be_opened_every_way_writes,
           from_one_mib_up_the_best_way_leaves_pages_without_memory_alone,
           once_told_of_a_filter_no_file_is_opened_and_memory_is_cleared,
           a_process_under_a_filter_from_its_start_opens_nothing_but_its_status,
           a_page_that_is_swapped_out_is_cleared)

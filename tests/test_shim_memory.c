/* Defends: how much memory a process may use is the least of what its control groups allow, in
   either version of their files, and what cannot be read is no limit. */
#include "shim/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/suite.h"

static char root[] = "test_shim_memory_XXXXXX";

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* A group's folder, below the root, with one file in it. */
static void group_says(const char *group, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s%s", root, group);
    for (char *at = path + strlen(root); (at = strchr(at + 1, '/'));) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s%s/%s", root, group, file);
    FILE *out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static void limit_is(const char *groups, uint64_t bytes)
{
    ck_assert_uint_eq(shim_memory_group_limit(groups, root), bytes);
}

START_TEST(the_least_limit_from_the_own_group_to_the_root_holds)
{
    group_says("/a/b/c", "memory.max", "3000000\n");
    limit_is("0::/a/b/c\n", 3000000);
    group_says("/a/b", "memory.max", "2000000\n");
    limit_is("0::/a/b/c\n", 2000000);
    group_says("/a", "memory.max", "max\n");
    limit_is("0::/a/b/c\n", 2000000);
    group_says("", "memory.max", "1000000\n");
    limit_is("0::/a/b/c\n", 1000000);
    limit_is("0::/\n", 1000000);
    group_says("/aside", "memory.max", "5\n");
    limit_is("0::/a\n", 1000000);
}
END_TEST

START_TEST(the_first_version_has_other_names_and_a_mount_of_its_own)
{
    static const char groups[] =
        "12:cpu,cpuacct:/x\n4:memory:/job/7\n1:name=systemd:/memory\n";
    group_says("/memory/job/7", "memory.limit_in_bytes", "9223372036854771712\n");
    limit_is(groups, UINT64_C(9223372036854771712));
    group_says("/memory", "memory.limit_in_bytes", "4000000\n");
    limit_is(groups, 4000000);
    group_says("/memory/job", "memory.limit_in_bytes", "3000000\n");
    limit_is(groups, 3000000);
}
END_TEST

START_TEST(where_both_versions_are_mounted_the_one_with_the_files_counts)
{
    static const char groups[] = "4:memory:/job\n0::/other\n";
    group_says("/memory/job", "memory.limit_in_bytes", "3000000\n");
    limit_is(groups, 3000000);
    group_says("/other", "memory.max", "2000000\n");
    limit_is(groups, 2000000);
}
END_TEST

/* A container sees the path of its group outside, and the files of it as the root's. */
START_TEST(a_group_that_cannot_be_seen_leaves_the_root_to_say)
{
    group_says("/memory", "memory.limit_in_bytes", "4000000\n");
    group_says("", "memory.max", "5000000\n");
    limit_is("4:memory:/docker/0123\n", 4000000);
    limit_is("0::/../../docker/0123\n", 5000000);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_limit)
{
    group_says("/a", "memory.max", "");
    limit_is("0::/a\n", UINT64_MAX);
    limit_is("0::/nowhere\n", UINT64_MAX);
    limit_is("", UINT64_MAX);
    limit_is("0::", UINT64_MAX);
    limit_is("nonsense\n\n:::\n", UINT64_MAX);
    static char long_path[10000];
    memset(long_path, 'x', sizeof(long_path) - 1);
    memcpy(long_path, "0::/", 4);
    limit_is(long_path, UINT64_MAX);
}
END_TEST

START_TEST(this_process_may_use_some_memory_and_no_more_than_there_is)
{
    uint64_t machine =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    ck_assert_uint_gt(shim_memory_usable(), 0);
    ck_assert_uint_le(shim_memory_usable(), machine);
}
END_TEST

START_TEST(a_limit_on_address_space_or_data_is_named)
{
    struct rlimit limit = {UINT64_C(1) << 40, RLIM_INFINITY};
    const char *before = shim_memory_counted();
    if (before) {
        printf("skip limits that are named: this process is limited already: %s\n",
               before);
        return;
    }
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    ck_assert_str_eq(shim_memory_counted(), "off: data is limited (RLIMIT_DATA)");
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_str_eq(shim_memory_counted(),
                     "off: the address space is limited (RLIMIT_AS)");
}
END_TEST

SUITE_MAIN_WITH("shim/memory", setup, teardown,
                the_least_limit_from_the_own_group_to_the_root_holds,
                the_first_version_has_other_names_and_a_mount_of_its_own,
                where_both_versions_are_mounted_the_one_with_the_files_counts,
                a_group_that_cannot_be_seen_leaves_the_root_to_say,
                what_cannot_be_read_is_no_limit,
                this_process_may_use_some_memory_and_no_more_than_there_is,
                a_limit_on_address_space_or_data_is_named)

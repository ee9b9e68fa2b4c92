/* Whatever lines a file has, the readers of records and of logs either say what is wrong, or give
   what every later step may rely on. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "policy/must.h"
#include "tools/tidemark/binds_file.h"
#include "tools/tidemark/compare_log.h"
#include "tools/tidemark/compare_stamp.h"
#include "tools/tidemark/say.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned lines_said;

static void expect_printable(const char *text)
{
    for (; *text != '\0'; text++)
        must(*text >= ' ' && *text <= '~');
}

/* What would go to standard error, which has to be lines that a terminal can bear. */
void say(const char *format, ...)
{
    char line[4096];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    must(length > 0 && length < (int)sizeof line);
    expect_printable(line);
    lines_said++;
}

static void check_record(const char *path)
{
    struct binds_file file;

    lines_said = 0;
    if (!binds_file_read(path, &file)) {
        must(lines_said > 0);
        return;
    }
    must(lines_said == 0);
    must(file.bind_count > 0 && file.phase_count <= BINDS_PHASES_MAX);
    expect_printable(file.program);
    expect_printable(file.boundary);
    for (size_t i = 0; i < file.phase_count; i++)
        expect_printable(file.phase_names[i]);
    for (size_t i = 0; i < file.bind_count; i++)
        must(file.binds[i].number > 0);
    binds_file_free(&file);
}

static void check_log(const char *path)
{
    static struct compare_rounds rounds;
    json_t *stamps[COMPARE_ARMS];
    char *what;

    lines_said = 0;
    if (!compare_log_read(path, stamps, &rounds)) {
        must(lines_said > 0);
        return;
    }
    must(lines_said == 0);
    must(rounds.count <= POLICY_COMPARE_ROUNDS_MAX);
    if (compare_stamp_differ_in_one(stamps[COMPARE_A], stamps[COMPARE_B], &what)) {
        expect_printable(what);
        free(what);
    } else {
        must(lines_said > 0);
    }
    json_decref(stamps[COMPARE_A]);
    json_decref(stamps[COMPARE_B]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int file = memfd_create("fuzz", MFD_CLOEXEC);

    must(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check_record(path);
    check_log(path);
    close(file);
    return 0;
}

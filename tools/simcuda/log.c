#include "tools/simcuda/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/simcuda/knobs.h"

enum { LINE_BYTES = 512 }; /* longer lines are cut */

/* Of the call that the thread is in. */
static _Thread_local struct {
    uint64_t address;
    uint64_t bytes;
    bool present;
} note;

/* A line that cannot be written is lost: there is nobody left to tell. */
static void write_line(int descriptor, char *line, int length)
{
    size_t bytes = (size_t)length;
    if (length >= LINE_BYTES) {
        bytes = LINE_BYTES - 1;
        line[bytes - 1] = '\n';
    }
    int saved_errno = errno;
    ssize_t ignored = write(descriptor, line, bytes);
    (void)ignored;
    errno = saved_errno;
}

void sim_log_say(const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0)
        write_line(STDERR_FILENO, line, length);
}

void sim_log_note(uint64_t address, uint64_t bytes)
{
    note.address = address;
    note.bytes = bytes;
    note.present = true;
}

void sim_log_call(const char *symbol, CUresult result)
{
    if (sim_knobs->log_descriptor >= 0) {
        char line[LINE_BYTES];
        int length =
            note.present
                ? snprintf(line, sizeof line,
                           "%s address=0x%" PRIx64 " bytes=%" PRIu64 " result=%d\n",
                           symbol, note.address, note.bytes, result)
                : snprintf(line, sizeof line, "%s result=%d\n", symbol, result);
        write_line(sim_knobs->log_descriptor, line, length);
    }
    note.present = false;
}

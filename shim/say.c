#include "shim/say.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Written once, by shim_say_open(). */
static struct {
    bool open;
    dev_t device;
    ino_t inode;
} stderr_file;

void shim_say_open(void)
{
    int kept = errno;
    struct stat file;
    stderr_file.open = fstat(STDERR_FILENO, &file) == 0;
    if (stderr_file.open) {
        stderr_file.device = file.st_dev;
        stderr_file.inode = file.st_ino;
    }
    errno = kept;
}

/* A descriptor 2 that was closed and reused is some file of the program's. */
static bool still_stderr(void)
{
    struct stat file;
    return stderr_file.open && fstat(STDERR_FILENO, &file) == 0 &&
           file.st_dev == stderr_file.device && file.st_ino == stderr_file.inode;
}

void shim_say_raw(const char *bytes, size_t length)
{
    int kept = errno;
    if (still_stderr()) {
        while (length > 0) {
            ssize_t written = write(STDERR_FILENO, bytes, length);
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                break; /* a full pipe that would block, a closed reader: not our concern */
            bytes += written;
            length -= (size_t)written;
        }
    }
    errno = kept;
}

void shim_line_begin(struct shim_line *line)
{
    /* One byte is kept for the newline. */
    line->text =
        (struct pool_text){.bytes = line->bytes, .capacity = sizeof(line->bytes) - 1};
    pool_text_put(&line->text, "tidemark: ");
}

void shim_line_end(struct shim_line *line)
{
    line->bytes[line->text.length] = '\n';
    shim_say_raw(line->bytes, line->text.length + 1);
}

void shim_say(const char *string)
{
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, string);
    shim_line_end(&line);
}

void shim_say_and_trap(const char *what, const void *address)
{
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, what);
    pool_text_put(&line.text, ": ");
    pool_text_put_address(&line.text, (uintptr_t)address);
    shim_line_end(&line);
    __builtin_trap();
}

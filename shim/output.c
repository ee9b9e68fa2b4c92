#include "shim/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim/host_clear.h"
#include "shim/say.h"

/* Newer than some C libraries that we are loaded under. */
#pragma weak strerrorname_np

enum { PATH_BYTES = 4096 };

/* The directory that relative paths are meant for; written once, by shim_output_open(). */
static char directory[PATH_BYTES];

static bool is_relative(const char *path)
{
    return path && path[0] != '/' && strcmp(path, "stderr") != 0;
}

void shim_output_open(const struct shim_settings *settings)
{
    if ((is_relative(settings->options.report) || is_relative(settings->options.binds)) &&
        !getcwd(directory, sizeof(directory)))
        directory[0] = '\0';
}

/* Without %p a path names one file: the process that `run` started writes it. Without
   `run` we cannot tell who is first, and whoever ends last has the last word. */
bool shim_output_is_ours(const struct shim_settings *settings, const char *path)
{
    return path && (strstr(path, "%p") || settings->run_process == 0 ||
                    settings->run_process == getpid());
}

/* Expands %p. */
static void put_path(struct pool_text *text, const char *path)
{
    if (path[0] != '/' && directory[0]) {
        pool_text_put(text, directory);
        pool_text_put(text, "/");
    }
    for (const char *part = strstr(path, "%p"); part; part = strstr(path, "%p")) {
        char before[PATH_BYTES];
        size_t length = (size_t)(part - path);
        if (length >= sizeof(before))
            break;
        memcpy(before, path, length);
        before[length] = '\0';
        pool_text_put(text, before);
        pool_text_put_number(text, (uint64_t)getpid());
        path = part + 2;
    }
    pool_text_put(text, path);
}

/* A file, and the error that ended it. */
struct destination {
    int file;
    int error;
};

static void write_file(void *context, const char *bytes, size_t length)
{
    struct destination *destination = context;
    while (length > 0 && destination->error == 0) {
        ssize_t written = write(destination->file, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            destination->error = written < 0 ? errno : ENOSPC;
            return;
        }
        bytes += written;
        length -= (size_t)written;
    }
}

static void write_stderr(void *context, const char *bytes, size_t length)
{
    (void)context;
    shim_say_raw(bytes, length);
}

static void begin_complaint(struct shim_line *line, const char *what, const char *path)
{
    shim_line_begin(line);
    pool_text_put(&line->text, "cannot write the ");
    pool_text_put(&line->text, what);
    pool_text_put(&line->text, " to ");
    pool_text_put(&line->text, path);
}

static void complain(const char *what, const char *path, int error)
{
    struct shim_line line;
    begin_complaint(&line, what, path);
    pool_text_put(&line.text, ": error ");
    pool_text_put_number(&line.text, (uint64_t)error);
    pool_text_put(&line.text, " (");
    const char *name = strerrorname_np ? strerrorname_np(error) : NULL;
    pool_text_put(&line.text, name ? name : "unknown");
    pool_text_put(&line.text, ")");
    shim_line_end(&line);
}

/* To open a file may be what the filter ends the program for. */
static void complain_of_filter(const char *what, const char *path)
{
    struct shim_line line;
    begin_complaint(&line, what, path);
    pool_text_put(&line.text, ": the program installed a seccomp filter");
    shim_line_end(&line);
}

static void put_to_file(const char *what, const char *path, shim_output_put *put,
                        void *context)
{
    struct destination destination = {
        .file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644)};
    if (destination.file < 0) {
        complain(what, path, errno);
        return;
    }
    char buffer[4096];
    struct pool_text text = {.bytes = buffer,
                             .capacity = sizeof(buffer),
                             .sink = write_file,
                             .context = &destination};
    put(context, &text);
    pool_text_flush(&text);
    close(destination.file);
    if (destination.error)
        complain(what, path, destination.error);
}

static void put_to_stderr(shim_output_put *put, void *context)
{
    char buffer[4096];
    struct pool_text text = {
        .bytes = buffer, .capacity = sizeof(buffer), .sink = write_stderr};
    put(context, &text);
    pool_text_flush(&text);
}

void shim_output_write(const char *what, const char *asked, shim_output_put *put,
                       void *context)
{
    char path[PATH_BYTES];
    struct pool_text name = {.bytes = path, .capacity = sizeof(path) - 1};
    if (strcmp(asked, "stderr") == 0) {
        put_to_stderr(put, context);
        return;
    }
    if (shim_clear_is_told()) {
        complain_of_filter(what, asked);
        return;
    }
    put_path(&name, asked);
    path[name.length] = '\0';
    put_to_file(what, path, put, context);
}

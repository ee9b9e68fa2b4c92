#include "shim/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pool/stats.h"
#include "shim/device.h"
#include "shim/driver_lookup.h"
#include "shim/driver_observe.h"
#include "shim/host.h"
#include "shim/host_account.h"
#include "shim/host_clear.h"
#include "shim/outcome.h"
#include "shim/retain.h"
#include "shim/say.h"

/* Newer than some C libraries that we are loaded under. */
#pragma weak strerrorname_np

enum { PATH_BYTES = 4096 };

/* The directory that a relative path is meant for; written once, by shim_report_open(). */
static char directory[PATH_BYTES];

/* The process that will write, once: 0 when it has. A child of fork gets its own turn, a child
   of vfork, which shares this memory, does not. */
static _Atomic pid_t writer;

void shim_report_fork_done_in_child(void)
{
    atomic_store_explicit(&writer, getpid(), memory_order_relaxed);
}

void shim_report_open(const struct shim_settings *settings)
{
    const char *path = settings->options.report;
    atomic_store_explicit(&writer, getpid(), memory_order_relaxed);
    if (path && path[0] != '/' && strcmp(path, "stderr") != 0 &&
        !getcwd(directory, sizeof(directory)))
        directory[0] = '\0';
}

static bool has_process_id(const char *path)
{
    return strstr(path, "%p") != NULL;
}

/* Whether it is this process's turn to write, which it has once. */
static bool take_turn(void)
{
    pid_t process = getpid();
    return atomic_compare_exchange_strong_explicit(
        &writer, &process, 0, memory_order_relaxed, memory_order_relaxed);
}

/* Without %p a path names one file: the process that `run` started writes it. Without
   `run` we cannot tell who is first, and whoever ends last has the last word. */
static bool is_ours_to_write(const struct shim_settings *settings)
{
    const char *path = settings->options.report;
    return path && (has_process_id(path) || settings->run_process == 0 ||
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

/* A file that a report goes to, and the error that ended it. */
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

static void begin_complaint(struct shim_line *line, const char *path)
{
    shim_line_begin(line);
    pool_text_put(&line->text, "cannot write the report to ");
    pool_text_put(&line->text, path);
}

static void complain(const char *path, int error)
{
    struct shim_line line;
    begin_complaint(&line, path);
    pool_text_put(&line.text, ": error ");
    pool_text_put_number(&line.text, (uint64_t)error);
    pool_text_put(&line.text, " (");
    const char *name = strerrorname_np ? strerrorname_np(error) : NULL;
    pool_text_put(&line.text, name ? name : "unknown");
    pool_text_put(&line.text, ")");
    shim_line_end(&line);
}

/* To open a file may be what the filter ends the program for. */
static void complain_of_filter(const char *path)
{
    struct shim_line line;
    begin_complaint(&line, path);
    pool_text_put(&line.text, ": the program installed a seccomp filter");
    shim_line_end(&line);
}

static struct pool_stats take_stock(void)
{
    struct pool_stats stats = {0};
    struct rusage usage;
    shim_host_report(&stats);
    stats.driver_calls_alloc = shim_device_counted(SHIM_DEVICE_ALLOCS);
    stats.driver_calls_free = shim_device_counted(SHIM_DEVICE_FREES);
    stats.driver_calls_refused = shim_outcome_driver_refusals();
    stats.driver_calls_unknown_lookups = shim_lookup_unknown();
    shim_observe_report(&stats);
    shim_retain_report(&stats);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        stats.faults_minor = (uint64_t)usage.ru_minflt;
        stats.faults_major = (uint64_t)usage.ru_majflt;
    }
    return stats;
}

static void put_report(enum policy_report_form format, struct pool_text *text)
{
    struct pool_device_stats devices[SHIM_DEVICES_MOST];
    struct pool_host_stats host[SHIM_HOST_KINDS];
    struct pool_report report = {
        .version = TIDEMARK_VERSION,
        .program = program_invocation_name,
        .retention = shim_host_retention(),
        .device_retention = shim_retain_state(),
        .process_id = (uint64_t)getpid(),
        .stats = take_stock(),
        .devices = devices,
        .device_count = shim_device_report(devices),
        .host = host,
        .host_count = shim_host_account_report(host),
    };
    if (format == POLICY_REPORT_JSON)
        pool_report_put_json(text, &report);
    else
        pool_report_put_text(text, &report);
    pool_text_flush(text);
}

static void write_to_path(const char *path, enum policy_report_form format)
{
    struct destination destination = {
        .file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644)};
    if (destination.file < 0) {
        complain(path, errno);
        return;
    }
    char buffer[4096];
    struct pool_text text = {.bytes = buffer,
                             .capacity = sizeof(buffer),
                             .sink = write_file,
                             .context = &destination};
    put_report(format, &text);
    close(destination.file);
    if (destination.error)
        complain(path, destination.error);
}

static void write_to_stderr(enum policy_report_form format)
{
    char buffer[4096];
    struct pool_text text = {
        .bytes = buffer, .capacity = sizeof(buffer), .sink = write_stderr};
    put_report(format, &text);
}

/* `asked` is how the path was asked for. */
static void write_file_unless_filtered(const char *asked, enum policy_report_form format)
{
    char path[PATH_BYTES];
    struct pool_text name = {.bytes = path, .capacity = sizeof(path) - 1};
    if (shim_clear_is_told()) {
        complain_of_filter(asked);
        return;
    }
    put_path(&name, asked);
    path[name.length] = '\0';
    write_to_path(path, format);
}

static void write_report(const struct shim_settings *settings)
{
    const char *asked = settings->options.report;
    if (strcmp(asked, "stderr") == 0)
        write_to_stderr(settings->options.report_format);
    else
        write_file_unless_filtered(asked, settings->options.report_format);
}

void shim_report_write(const struct shim_settings *settings)
{
    int kept = errno;
    if (take_turn()) {
        if (is_ours_to_write(settings))
            write_report(settings);
        if (settings->run_counts && settings->run_process == getpid())
            write_file_unless_filtered(settings->run_counts, POLICY_REPORT_JSON);
    }
    errno = kept;
}

#include "shim/init.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/at_fork.h"
#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/device.h"
#include "shim/environment.h"
#include "shim/host.h"
#include "shim/host_account.h"
#include "shim/lease.h"
#include "shim/libc.h"
#include "shim/limits.h"
#include "shim/recorder.h"
#include "shim/mempool.h"
#include "shim/place.h"
#include "shim/report.h"
#include "shim/retain.h"
#include "shim/say.h"
#include "shim/verbose.h"

/* Written once, under `once`. */
static struct shim_settings settings = {.run_ack = -1};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *look_up(void *context, const char *name)
{
    (void)context;
    return shim_environment_get(name);
}

static void complain(void *context, const struct policy_option_row *row,
                     const char *value)
{
    (void)context;
    char reason[POLICY_OPTIONS_REASON_BYTES];
    policy_options_explain(row, value, reason);
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, row->environment);
    pool_text_put(&line.text, "=");
    pool_text_put(&line.text, value);
    pool_text_put(&line.text, ": ");
    pool_text_put(&line.text, reason);
    pool_text_put(&line.text, "; the default ");
    pool_text_put(&line.text, row->initial);
    pool_text_put(&line.text, " is in force");
    shim_line_end(&line);
}

static void complain_of_unknown(void)
{
    for (char **entry = shim_environment(); *entry; entry++) {
        if (!policy_options_unknown(*entry))
            continue;
        char name[64];
        size_t length = strcspn(*entry, "=");
        if (length >= sizeof(name))
            length = sizeof(name) - 1;
        memcpy(name, *entry, length);
        name[length] = '\0';
        const char *nearest = policy_options_nearest(name);
        struct shim_line line;
        shim_line_begin(&line);
        pool_text_put(&line.text, name);
        pool_text_put(&line.text, " is not an option");
        if (nearest) {
            pool_text_put(&line.text, "; did you mean ");
            pool_text_put(&line.text, nearest);
            pool_text_put(&line.text, "?");
        }
        shim_line_end(&line);
    }
}

/* A decimal number up to the first other character. */
static int read_number(const char *text)
{
    int number = 0;
    for (; *text >= '0' && *text <= '9' && number < 100000000; text++)
        number = number * 10 + (*text - '0');
    return number;
}

/* The program may change its environment before it reports. */
static void keep_counts(const char *path)
{
    static char kept[4096];
    size_t length = strcspn(path, ";");
    if (length >= sizeof(kept))
        return;
    memcpy(kept, path, length);
    settings.run_counts = kept;
}

/* TIDEMARK_RUN is "PID[;from=NAME,NAME][;ack=FD][;counts=PATH]". Returns what follows "from=". */
static const char *read_run(const char *run)
{
    if (!run)
        return NULL;
    settings.run_process = read_number(run);
    const char *ack = strstr(run, ";ack=");
    if (ack && settings.run_process == getpid())
        settings.run_ack = read_number(ack + strlen(";ack="));
    const char *counts = strstr(run, ";counts=");
    if (counts && settings.run_process == getpid())
        keep_counts(counts + strlen(";counts="));
    const char *from = strstr(run, ";from=");
    return from ? from + strlen(";from=") : NULL;
}

static void open_settings(void)
{
    shim_say_open();
    const char *from = read_run(shim_environment_get("TIDEMARK_RUN"));
    /* The list ends at the next ';', which no name contains. */
    char names[256] = "";
    if (from) {
        size_t length = strcspn(from, ";");
        if (length < sizeof(names))
            memcpy(names, from, length);
    }
    policy_options_read(&settings.options, settings.values, look_up, complain, NULL,
                        from ? names : NULL);
    if (!shim_libc_open())
        settings.options.enabled = false;
    /* `tidemark run` has said so already, to the same eyes. */
    if (settings.options.enabled && settings.run_process != getpid())
        complain_of_unknown();
    if (settings.options.enabled)
        shim_host_account_open(&settings.options);
    settings.is_recorded = shim_recorder_open(&settings);
    shim_host_open(&settings);
}

const struct shim_settings *shim_settings(void)
{
    pthread_once(&once, open_settings);
    return &settings;
}

static void fork_prepare(void)
{
    shim_place_fork_prepare();
    shim_lease_fork_prepare();
    shim_mempool_fork_prepare();
    shim_device_fork_prepare();
    shim_driver_fork_prepare();
    shim_observe_fork_prepare();
    shim_host_fork_prepare();
    shim_recorder_fork_prepare();
}

static void fork_done(bool in_child)
{
    shim_recorder_fork_done(in_child);
    shim_host_fork_done(in_child);
    shim_observe_fork_done();
    shim_driver_fork_done();
    shim_device_fork_done();
    shim_mempool_fork_done();
    shim_lease_fork_done();
    shim_place_fork_done();
}

static void fork_done_in_parent(void)
{
    fork_done(false);
}

static void fork_done_in_child(void)
{
    fork_done(true);
    shim_retain_fork_in_child();
    shim_report_fork_done_in_child();
    shim_limits_own();
}

static void acknowledge(void)
{
    if (settings.run_ack < 0)
        return;
    /* A program that this one was executed in the place of may have had the number for a
       file of its own. */
    struct stat file;
    if (fstat(settings.run_ack, &file) != 0 || !S_ISSOCK(file.st_mode))
        return;
    const char byte = 1;
    (void)send(settings.run_ack, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(settings.run_ack);
}

/* Not in open_settings: registering allocates, and the first call may be malloc. */
__attribute__((constructor)) static void start(void)
{
    const struct shim_settings *now = shim_settings();
    shim_host_start();
    shim_limits_own();
    acknowledge();
    if (!now->options.enabled)
        return;
    if (now->options.scope == POLICY_SCOPE_EXEC)
        shim_environment_drop_preload();
    (void)shim_at_fork(fork_prepare, fork_done_in_parent, fork_done_in_child);
    shim_report_open(now);
    if (now->options.verbose)
        shim_verbose_start(now);
}

__attribute__((destructor)) static void end(void)
{
    if (settings.options.enabled)
        shim_report_write(&settings);
}

#include "shim/report.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pool/stats.h"
#include "shim/device.h"
#include "shim/driver_lookup.h"
#include "shim/driver_observe.h"
#include "shim/host.h"
#include "shim/host_account.h"
#include "shim/outcome.h"
#include "shim/output.h"
#include "shim/recorder.h"
#include "shim/retain.h"

/* The process that will write, once: 0 when it has. A child of fork gets its own turn, a child
   of vfork, which shares this memory, does not. */
static _Atomic pid_t writer;

void shim_report_fork_done_in_child(void)
{
    atomic_store_explicit(&writer, getpid(), memory_order_relaxed);
}

void shim_report_open(const struct shim_settings *settings)
{
    atomic_store_explicit(&writer, getpid(), memory_order_relaxed);
    shim_output_open(settings);
}

/* Whether it is this process's turn to write, which it has once. */
static bool take_turn(void)
{
    pid_t process = getpid();
    return atomic_compare_exchange_strong_explicit(
        &writer, &process, 0, memory_order_relaxed, memory_order_relaxed);
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

static void put_report(void *context, struct pool_text *text)
{
    const enum policy_report_form format = *(enum policy_report_form *)context;
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
}

static bool is_wanted(const struct shim_settings *settings)
{
    return settings->options.enabled &&
           (settings->options.report || settings->options.binds || settings->run_counts);
}

void shim_report_write(const struct shim_settings *settings)
{
    int kept = errno;
    enum policy_report_form format = settings->options.report_format;
    enum policy_report_form json = POLICY_REPORT_JSON;
    if (is_wanted(settings) && take_turn()) {
        if (shim_output_is_ours(settings, settings->options.report))
            shim_output_write("report", settings->options.report, put_report, &format);
        if (settings->run_counts && settings->run_process == getpid())
            shim_output_write("report", settings->run_counts, put_report, &json);
        shim_recorder_write(settings);
    }
    errno = kept;
}

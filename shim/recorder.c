#include "shim/recorder.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pool/bind_record.h"
#include "pool/lock.h"
#include "shim/device.h"
#include "shim/driver.h"
#include "shim/guard.h"
#include "shim/host_clear.h"
#include "shim/host_source.h"
#include "shim/jemalloc.h"
#include "shim/kernel.h"
#include "shim/recorder_file.h"
#include "shim/say.h"

/* Memory order
   [A] live, claims, spilled, bytes: numbers, read by whoever takes a reading. A bind begins and
       ends under the lock, and is looked at again there: live that was 0 for a moment, between
       a return and a claim of two threads, ends nothing.
   [B] mode: changes from staging to explicit once, under the lock; whoever reads an old one asks
       again under the lock. */

enum mode {
    MODE_OFF,
    MODE_STAGING,
    MODE_CALLS,
    MODE_EXPLICIT,
};

static _Atomic int mode;
static _Atomic uint64_t live; /* retained blocks that the program has */
static _Atomic uint64_t claims, spilled, bytes;

/* Written once, by shim_recorder_open(). */
bool shim_recorder_watches_calls;
static const char *watched; /* the base name of the function whose calls are boundaries */
static uint64_t opened_ns;

/* The bind in flight, where it is inferred; under the lock. */
static struct pool_lock lock;
static struct {
    bool is_open;
    uint64_t number;
    long thread;
    struct pool_bind_figures began;
} current;

static enum mode mode_now(void)
{
    return (enum mode)atomic_load_explicit(&mode, memory_order_relaxed); /* B */
}

static void set_mode(enum mode next)
{
    atomic_store_explicit(&mode, (int)next, memory_order_relaxed); /* B */
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static long thread_id(void)
{
    return shim_kernel_3(SYS_gettid, 0, 0, 0);
}

static void read_usage(int who, struct rusage *usage)
{
    memset(usage, 0, sizeof(*usage));
    (void)shim_kernel_3(SYS_getrusage, who, (long)usage, 0);
}

static uint64_t figure(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* A */
}

/* Of an explicit bind the pool knows claims, spills and bytes better. */
static struct pool_bind_figures take_reading(void)
{
    struct rusage process, thread;
    read_usage(RUSAGE_SELF, &process);
    read_usage(RUSAGE_THREAD, &thread);
    return (struct pool_bind_figures){
        .wall_ns = clock_ns(CLOCK_MONOTONIC),
        .cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
        .thread_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
        .minor_faults = (uint64_t)process.ru_minflt,
        .thread_minor_faults = (uint64_t)thread.ru_minflt,
        .major_faults = (uint64_t)process.ru_majflt,
        .thread_major_faults = (uint64_t)thread.ru_majflt,
        .voluntary_switches = (uint64_t)process.ru_nvcsw,
        .involuntary_switches = (uint64_t)process.ru_nivcsw,
        .memory_calls = figure(&shim_retained_calls) + figure(&shim_jemalloc_calls),
        .driver_calls = shim_device_counted(SHIM_DEVICE_ALLOCS) +
                        shim_device_counted(SHIM_DEVICE_FREES),
        .claims = figure(&claims),
        .spilled = figure(&spilled),
        .bytes = figure(&bytes),
    };
}

/* A filter may end the program for the calls that a reading takes. */
static bool is_recording(enum mode wanted)
{
    return mode_now() == wanted && !shim_clear_is_told();
}

static void put_name(struct pool_bind_record *record, const char *phase)
{
    size_t length = phase ? strnlen(phase, sizeof(record->phase) - 1) : 0;
    memcpy(record->phase, phase ? phase : "", length);
}

/* Under the lock. */
static void keep_current(const struct pool_bind_figures *now)
{
    const struct pool_bind_record record = {
        .number = ++current.number,
        .slot = -1,
        .has_thread = current.thread == thread_id(),
        .start_ns = current.began.wall_ns - opened_ns,
        .figures = pool_bind_figures_between(&current.began, now),
    };
    shim_recorder_file_keep(&record);
}

static void begin_inferred(void)
{
    if (!pool_lock_take(&lock))
        return;
    if (!current.is_open && is_recording(MODE_STAGING)) {
        current.is_open = true;
        current.thread = thread_id();
        current.began = take_reading();
    }
    pool_lock_give(&lock);
}

static void end_inferred(void)
{
    if (!pool_lock_take(&lock))
        return;
    if (current.is_open && figure(&live) == 0 && is_recording(MODE_STAGING)) {
        struct pool_bind_figures now = take_reading();
        keep_current(&now);
        current.is_open = false;
    }
    pool_lock_give(&lock);
}

void shim_recorder_claiming(void)
{
    if (atomic_fetch_add_explicit(&live, 1, memory_order_relaxed) == 0 && /* A */
        mode_now() == MODE_STAGING)
        begin_inferred();
}

void shim_recorder_returned(void)
{
    if (atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed) == 1 && /* A */
        mode_now() == MODE_STAGING) {
        int kept = errno;
        end_inferred();
        errno = kept;
    }
}

void shim_recorder_claimed(size_t asked_bytes, bool is_served)
{
    if (is_served) {
        atomic_fetch_add_explicit(&claims, 1, memory_order_relaxed);          /* A */
        atomic_fetch_add_explicit(&bytes, asked_bytes, memory_order_relaxed); /* A */
        return;
    }
    atomic_fetch_add_explicit(&spilled, 1, memory_order_relaxed); /* A */
    shim_recorder_returned();
}

/* Each call ends a bind and begins the next. */
static void cut(void)
{
    if (!pool_lock_take(&lock))
        return;
    if (is_recording(MODE_CALLS)) {
        struct pool_bind_figures now = take_reading();
        if (current.is_open)
            keep_current(&now);
        current.is_open = true;
        current.thread = thread_id();
        current.began = now;
    }
    pool_lock_give(&lock);
}

void shim_recorder_called(const char *symbol)
{
    int row = shim_guard_depth > 0 ? -1 : shim_hook_named(symbol);
    if (row >= 0 && strcmp(shim_hooks[row].base, watched) == 0)
        cut();
}

/* Explicit binds. What is inferred ends with the first of them. */

static struct pool_bind_figures read_explicit(const struct tidemark_bind *bind)
{
    struct pool_bind_figures now = take_reading();
    struct tidemark_counts counts;
    tidemark_bind_counts(bind, &counts);
    now.claims = counts.objects - (counts.objects ? counts.spilled : 0);
    now.spilled = counts.spilled;
    now.bytes = counts.bytes;
    return now;
}

static void keep_explicit(const struct tidemark_bind *bind, const char *phase,
                          const struct pool_bind_figures *before,
                          const struct pool_bind_figures *now)
{
    struct pool_bind_record record = {
        .number = bind->number,
        .slot = (int32_t)(bind - bind->set->slots),
        .has_thread = bind->watch.thread == thread_id(),
        .start_ns = before->wall_ns - opened_ns,
        .figures = pool_bind_figures_between(before, now),
    };
    put_name(&record, phase);
    if (!pool_lock_take(&lock))
        return;
    if (is_recording(MODE_EXPLICIT))
        shim_recorder_file_keep(&record);
    pool_lock_give(&lock);
}

static void explicit_begins(struct tidemark_bind *bind)
{
    if (mode_now() == MODE_STAGING && pool_lock_take(&lock)) {
        set_mode(MODE_EXPLICIT);
        shim_recorder_file_begin("explicit");
        current.is_open = false;
        pool_lock_give(&lock);
    }
    bind->watch.phase = NULL;
    if (!is_recording(MODE_EXPLICIT))
        return;
    bind->watch.thread = thread_id();
    bind->watch.began = read_explicit(bind);
}

static void explicit_phase(struct tidemark_bind *bind, const char *phase)
{
    if (!is_recording(MODE_EXPLICIT))
        return;
    struct pool_bind_figures now = read_explicit(bind);
    if (bind->watch.phase)
        keep_explicit(bind, bind->watch.phase, &bind->watch.phase_began, &now);
    bind->watch.phase = phase;
    bind->watch.phase_began = now;
}

static void explicit_ends(struct tidemark_bind *bind)
{
    if (!is_recording(MODE_EXPLICIT))
        return;
    struct pool_bind_figures now = read_explicit(bind);
    if (bind->watch.phase)
        keep_explicit(bind, bind->watch.phase, &bind->watch.phase_began, &now);
    keep_explicit(bind, NULL, &bind->watch.began, &now);
}

static const struct pool_bind_observer observer = {
    .begins = explicit_begins,
    .phase = explicit_phase,
    .ends = explicit_ends,
};

const struct pool_bind_observer *shim_recorder_observer(void)
{
    return mode_now() == MODE_OFF || mode_now() == MODE_CALLS ? NULL : &observer;
}

static void complain_of_name(const char *name)
{
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, "TIDEMARK_BIND_ON=");
    pool_text_put(&line.text, name);
    pool_text_put(&line.text,
                  ": is not a driver function that this library stands before; "
                  "the default staging is in force");
    shim_line_end(&line);
}

/* What the name bounds binds by. A form of a function ("_v2") stands for all of them. */
static enum mode mode_of(const char *name)
{
    if (strcmp(name, "staging") == 0)
        return MODE_STAGING;
    int row = shim_hook_named(name);
    if (row < 0)
        row = shim_hook_first_form(name);
    if (row < 0) {
        complain_of_name(name);
        return MODE_STAGING;
    }
    watched = shim_hooks[row].base;
    shim_recorder_watches_calls = true;
    return MODE_CALLS;
}

bool shim_recorder_open(const struct shim_settings *settings)
{
    if (!settings->options.enabled || !settings->options.binds)
        return false;
    if (!shim_recorder_file_open())
        return false;
    pool_lock_open(&lock);
    opened_ns = clock_ns(CLOCK_MONOTONIC);
    enum mode chosen = mode_of(settings->options.bind_on);
    shim_recorder_file_begin(chosen == MODE_CALLS ? watched : "staging");
    set_mode(chosen);
    return true;
}

void shim_recorder_write(const struct shim_settings *settings)
{
    if (mode_now() == MODE_OFF || !pool_lock_take(&lock))
        return;
    shim_recorder_file_write(settings);
    pool_lock_give(&lock);
}

void shim_recorder_fork_prepare(void)
{
    if (mode_now() != MODE_OFF)
        (void)!pool_lock_fork_prepare(&lock);
}

void shim_recorder_fork_done(bool in_child)
{
    if (mode_now() == MODE_OFF)
        return;
    if (in_child) {
        current.is_open = false;
        current.number = 0;
        shim_recorder_file_drop();
    }
    pool_lock_fork_done(&lock);
}

#include "tools/tidemark/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/tidemark/say.h"
#include "tools/tidemark/verb.h"

enum { ERROR_BYTES = 512 }; /* of a failed command's standard error that are shown */

/* clang-format off */
const char *const compare_keys[COMPARE_MEASURE_COUNT] = {
#define MEASURE(key, heading) #key,
    COMPARE_MEASURES(MEASURE)
#undef MEASURE
};

const char *const compare_headings[COMPARE_MEASURE_COUNT] = {
#define MEASURE(key, heading) heading,
    COMPARE_MEASURES(MEASURE)
#undef MEASURE
};
/* clang-format on */

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double us_of(struct timeval time)
{
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static bool is_of_name(const char *assignment, const char *setting)
{
    size_t length = strcspn(setting, "=") + 1;

    return strncmp(assignment, setting, length) == 0;
}

static bool is_set_by(const struct compare_arm *arm, const char *assignment)
{
    for (size_t i = 0; i < arm->setting_count; i++)
        if (is_of_name(assignment, arm->settings[i]))
            return true;
    return false;
}

/* Our environment with the arm's settings in it; to be freed. NULL without memory. */
static char **make_environment(const struct compare_arm *arm)
{
    size_t count = 0, kept = 0;

    while (environ[count] != NULL)
        count++;
    char **made = calloc(count + arm->setting_count + 1, sizeof *made);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_set_by(arm, environ[i]))
            made[kept++] = environ[i];
    for (size_t i = 0; i < arm->setting_count; i++)
        memcpy(&made[kept++], &arm->settings[i], sizeof *made);
    return made;
}

/* The error of posix_spawn. Not by a fork of ours: the copying of our pages would count as the
   command's faults. */
static int start(const struct compare_arm *arm, int errors, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    char **environment = make_environment(arm);
    int error = environment == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        free(environment);
        return error;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                             O_RDONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                                 O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (error == 0)
        error = posix_spawnp(process, arm->command[0], &actions, NULL, arm->command,
                             environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return error;
}

/* The last lines that the command wrote on standard error. */
static void repeat_errors(int errors)
{
    char text[ERROR_BYTES + 1];
    off_t length = lseek(errors, 0, SEEK_END);
    off_t first = length > ERROR_BYTES ? length - ERROR_BYTES : 0;
    ssize_t got = pread(errors, text, ERROR_BYTES, first);
    char *rest = NULL;

    text[got > 0 ? got : 0] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        say("  %s", line);
}

static void say_end(const struct compare_arm *arm, int status)
{
    if (WIFSIGNALED(status))
        say("%s: ended by signal %d (%s)", arm->command[0], WTERMSIG(status),
            strsignal(WTERMSIG(status)));
    else
        say("%s: exit code %d", arm->command[0], WEXITSTATUS(status));
}

static struct compare_sample sample_of(double wall_us, const struct rusage *usage)
{
    return (struct compare_sample){{
        [COMPARE_wall_us] = wall_us,
        [COMPARE_cpu_us] = us_of(usage->ru_utime) + us_of(usage->ru_stime),
        [COMPARE_minor_faults] = (double)usage->ru_minflt,
        [COMPARE_major_faults] = (double)usage->ru_majflt,
        [COMPARE_voluntary_switches] = (double)usage->ru_nvcsw,
        [COMPARE_involuntary_switches] = (double)usage->ru_nivcsw,
        [COMPARE_peak_rss_kib] = (double)usage->ru_maxrss,
    }};
}

static bool run_to_end(const struct compare_arm *arm, int errors,
                       struct compare_sample *sample, int *code)
{
    struct rusage usage;
    pid_t process;
    int status;
    double before_us = now_us();
    int error = start(arm, errors, &process);

    if (error != 0) {
        say("%s: %s", arm->command[0], strerror(error));
        *code = error == ENOENT ? VERB_NOT_FOUND : VERB_CANNOT_EXECUTE;
        return false;
    }
    while (wait4(process, &status, 0, &usage) == -1 && errno == EINTR)
        continue;
    *sample = sample_of(now_us() - before_us, &usage);
    if (status == 0)
        return true;
    say_end(arm, status);
    repeat_errors(errors);
    *code = VERB_NO_OUTPUT;
    return false;
}

bool compare_run(const struct compare_arm *arm, struct compare_sample *sample, int *code)
{
    int errors = memfd_create("tidemark-errors", MFD_CLOEXEC);

    if (errors == -1) {
        say("compare: %s", strerror(errno));
        *code = VERB_NO_OUTPUT;
        return false;
    }
    bool has_succeeded = run_to_end(arm, errors, sample, code);
    close(errors);
    return has_succeeded;
}

void compare_values(const struct compare_rounds *rounds, int arm,
                    enum compare_measure measure,
                    double values[POLICY_COMPARE_ROUNDS_MAX])
{
    for (size_t i = 0; i < rounds->count; i++)
        values[i] = rounds->samples[arm][i].values[measure];
}

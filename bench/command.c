#include "bench/command.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Standard output goes to the descriptor. By posix_spawn: after a fork the copying of our
   pages would count as the command's faults. */
static bool start(char *const command[], int output, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    bool started =
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
        posix_spawnp(process, command[0], &actions, NULL, command, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started;
}

/* Reads to the end, so that the command never waits for us. */
static void collect(int file, char output[BENCH_OUTPUT_BYTES_MAX])
{
    char bytes[BENCH_OUTPUT_BYTES_MAX];
    size_t length = 0;
    ssize_t got;
    while ((got = read(file, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < got && length < BENCH_OUTPUT_BYTES_MAX - 1; i++)
            output[length++] = bytes[i];
    output[length] = '\0';
}

static bool run_to_end(char *const command[], struct bench_run *run)
{
    int ends[2], status = -1;
    pid_t process;
    struct rusage usage;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    double before_us = now_us();
    bool started = start(command, ends[1], &process);
    close(ends[1]);
    collect(ends[0], run->output);
    if (started && wait4(process, &status, 0, &usage) == process) {
        run->wall_us = now_us() - before_us;
        run->minor_faults = (double)usage.ru_minflt;
    }
    close(ends[0]);
    return status == 0;
}

void bench_settings_clear(const struct bench_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        unsetenv(settings->at[i].name);
}

bool bench_command_run(char *const command[], const struct bench_settings *settings,
                       struct bench_run *run)
{
    for (size_t i = 0; i < settings->count; i++)
        if (setenv(settings->at[i].name, settings->at[i].value, true) != 0)
            return false;
    bool succeeded = run_to_end(command, run);
    bench_settings_clear(settings);
    return succeeded;
}

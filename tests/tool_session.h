/* The command `tidemark run` at work on tool_child, which tells of the signals it gets,
   on its own or as the job of a terminal. */
#ifndef TESTS_TOOL_SESSION_H
#define TESTS_TOOL_SESSION_H

#include "tests/suite.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* The command, running tool_child. */
struct session {
    pid_t command;
    pid_t program;
    FILE *told;  /* what the program prints */
    int input;   /* held open for as long as the program shall run */
    int ends[2]; /* of the two pipes, the program's */
};

/* A file of the folder that ctest names: the command, a library for it, tool_child. */
static inline char *tool_path(const char *name)
{
    const char *folder = getenv("TOOL_FOLDER");
    char *path;

    ck_assert_ptr_nonnull(folder);
    ck_assert_int_ge(asprintf(&path, "%s/%s", folder, name), 0);
    return path;
}

static inline _Noreturn void execute(char *const arguments[])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left behind by a test that fails */
    execv(arguments[0], arguments);
    _exit(EXIT_FAILURE);
}

static inline _Noreturn void execute_command(char *const program[])
{
    char *arguments[8] = {tool_path("tidemark"), strdup("run"), strdup("--")};

    for (size_t i = 0; program[i] != NULL; i++)
        arguments[3 + i] = program[i];
    execute(arguments);
}

static inline void session_open(struct session *session)
{
    int input[2], output[2];

    ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
    session->input = input[1];
    session->told = fdopen(output[0], "r");
    session->ends[0] = input[0];
    session->ends[1] = output[1];
}

/* In the process that is to become the command. */
static inline _Noreturn void session_execute(const struct session *session)
{
    dup2(session->ends[0], STDIN_FILENO);
    dup2(session->ends[1], STDOUT_FILENO);
    execute_command((char *[]){tool_path("tool_child"), NULL});
}

/* Once that process was forked: waits until the program is there. */
static inline void session_attach(struct session *session)
{
    close(session->ends[0]);
    close(session->ends[1]);
    ck_assert_int_eq(fscanf(session->told, "ready %d", &session->program), 1);
    ck_assert_int_eq(fgetc(session->told), '\n');
}

static inline void do_nothing(void)
{
}

/* `prepare` is what the user did before the command was started. */
static inline void session_start(struct session *session, void (*prepare)(void))
{
    session_open(session);
    session->command = fork();
    if (session->command == 0) {
        setpgid(0, 0); /* a job of its own, as a shell would have it */
        prepare();
        session_execute(session);
    }
    session_attach(session);
}

static inline void expect_told(const struct session *session, const char *expected)
{
    char line[32];

    ck_assert_ptr_nonnull(fgets(line, sizeof line, session->told));
    line[strcspn(line, "\n")] = '\0';
    ck_assert_str_eq(line, expected);
}

static inline void expect_status(pid_t pid, int expected)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
    ck_assert_int_eq(status, expected);
}

/* The program has nothing more to tell, and both end well. */
static inline void session_end(const struct session *session)
{
    close(session->input);
    expect_told(session, "end");
    expect_status(session->command, W_EXITCODE(0, 0));
}

/* Whatever was passed on before `fence` is told before it, or at the end. */
static inline void expect_fence(const struct session *session, int fence)
{
    ck_assert_int_eq(kill(session->command, fence), 0);
    expect_told(session, sigabbrev_np(fence));
}

/* Runs a shell under the command. */
static inline pid_t start_shell(const char *script)
{
    pid_t command = fork();

    if (command == 0)
        execute_command((char *[]){strdup("sh"), strdup("-c"), strdup(script), NULL});
    return command;
}

/* The owner of a terminal, as a shell is: has the command as its job in the foreground,
   tells its process id and each status of it through `report`, and continues it when it
   stops. */
static inline _Noreturn void lead_terminal(const struct session *session, int report)
{
    int status = 0;
    pid_t command;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(session->input);
    command = fork();
    if (command == 0) {
        setpgid(0, 0);
        session_execute(session);
    }
    setpgid(command, command);
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, command);
    if (write(report, &command, sizeof command) != (ssize_t)sizeof command)
        _exit(EXIT_FAILURE);
    while (waitpid(command, &status, WUNTRACED) == command) {
        if (write(report, &status, sizeof status) != (ssize_t)sizeof status)
            break;
        if (WIFSTOPPED(status))
            kill(-command, SIGCONT);
    }
    _exit(EXIT_SUCCESS);
}

struct terminal {
    struct session session;
    int keyboard;
    int reports;
};

static inline int read_report(const struct terminal *terminal)
{
    int value;

    ck_assert_int_eq(read(terminal->reports, &value, sizeof value),
                     (ssize_t)sizeof value);
    return value;
}

static inline void terminal_start(struct terminal *terminal)
{
    int report[2];

    session_open(&terminal->session);
    ck_assert_int_eq(pipe2(report, O_CLOEXEC), 0);
    pid_t leader = forkpty(&terminal->keyboard, NULL, NULL, NULL);
    ck_assert_int_ge(leader, 0);
    if (leader == 0)
        lead_terminal(&terminal->session, report[1]);
    close(report[1]);
    terminal->reports = report[0];
    terminal->session.command = read_report(terminal);
    session_attach(&terminal->session);
}

static inline void terminal_end(const struct terminal *terminal)
{
    close(terminal->session.input);
    expect_told(&terminal->session, "end");
    ck_assert_int_eq(read_report(terminal), W_EXITCODE(0, 0));
}

static inline void press(const struct terminal *terminal, const char *key)
{
    ck_assert_int_eq(write(terminal->keyboard, key, 1), 1);
}

#endif

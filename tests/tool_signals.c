/* `tidemark run` stands between a user and a program, and neither may notice: a signal
   comes through exactly once, stopping and continuing involve both, the program starts
   with the user's mask and dispositions, and how it died is how the command dies. */
#include "tests/tool_session.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>

START_TEST(a_signal_for_the_command_reaches_the_program_once)
{
    static const int numbers[] = {SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGWINCH};
    struct session session;

    session_start(&session, do_nothing);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        kill(session.command, numbers[i]);
        expect_told(&session, sigabbrev_np(numbers[i]));
        expect_fence(&session, numbers[i] == SIGWINCH ? SIGTERM : SIGWINCH);
    }
    session_end(&session);
}
END_TEST

START_TEST(a_queued_signal_and_one_for_a_thread_are_passed_on_too)
{
    struct session session;

    session_start(&session, do_nothing);
    sigqueue(session.command, SIGUSR1, (union sigval){.sival_int = 1});
    expect_told(&session, "USR1");
    tgkill(session.command, session.command, SIGUSR2);
    expect_told(&session, "USR2");
    session_end(&session);
}
END_TEST

START_TEST(what_the_program_sends_to_the_command_does_not_come_back)
{
    expect_status(start_shell("kill -USR1 $PPID; sleep 0.2; exit 9"), W_EXITCODE(9, 0));
}
END_TEST

START_TEST(what_the_terminal_sends_reaches_the_program_once)
{
    enum { REPEATS = 50 }; /* two that are pending at once would look like one */
    struct terminal terminal;

    terminal_start(&terminal);
    for (unsigned short i = 1; i <= REPEATS; i++) {
        press(&terminal, "\003");
        expect_told(&terminal.session, "INT");
        expect_fence(&terminal.session, SIGUSR1);
        press(&terminal, "\034");
        expect_told(&terminal.session, "QUIT");
        expect_fence(&terminal.session, SIGUSR1);
        ioctl(terminal.keyboard, TIOCSWINSZ,
              &(struct winsize){.ws_row = i, .ws_col = 80});
        expect_told(&terminal.session, "WINCH");
        expect_fence(&terminal.session, SIGUSR1);
    }
    terminal_end(&terminal);
}
END_TEST

START_TEST(a_stop_by_the_terminal_stops_both_and_the_shell_continues_both)
{
    struct terminal terminal;

    terminal_start(&terminal);
    press(&terminal, "\032");
    ck_assert_int_eq(read_report(&terminal), W_STOPCODE(SIGTSTP));
    expect_told(&terminal.session, "CONT");
    expect_fence(&terminal.session, SIGWINCH);
    terminal_end(&terminal);
}
END_TEST

/* The command has stopped by the signal; continues it and finds the program continued. */
static void expect_stop_and_continue(const struct session *session, int signal_number)
{
    expect_status(session->command, W_STOPCODE(signal_number));
    ck_assert_int_eq(kill(session->command, SIGCONT), 0);
    expect_told(session, "CONT");
    expect_fence(session, SIGWINCH);
}

START_TEST(the_command_stops_with_the_program_and_continues_it)
{
    struct session session;

    session_start(&session, do_nothing);
    kill(session.program, SIGSTOP);
    expect_stop_and_continue(&session, SIGSTOP);
    kill(session.program, SIGTTIN);
    expect_stop_and_continue(&session, SIGTTIN);
    kill(session.command, SIGTSTP);
    expect_stop_and_continue(&session, SIGTSTP);
    session_end(&session);
}
END_TEST

static void ignore_hangup(void)
{
    signal(SIGHUP, SIG_IGN);
}

START_TEST(a_signal_that_the_user_ignores_goes_nowhere)
{
    struct session session;

    session_start(&session, ignore_hangup);
    kill(session.command, SIGHUP);
    expect_fence(&session, SIGWINCH);
    session_end(&session);
}
END_TEST

static void change_mask_and_dispositions(void)
{
    sigset_t blocked;

    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* What a program finds blocked, ignored and caught at its start. */
static void read_signal_state(bool by_command, char state[256])
{
    char *grep[] = {strdup("/bin/grep"), strdup("^Sig[BIC]"), strdup("/proc/self/status"),
                    NULL};
    int output[2];

    ck_assert_int_eq(pipe2(output, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(output[1], STDOUT_FILENO);
        change_mask_and_dispositions();
        if (by_command)
            execute_command(grep);
        execute(grep);
    }
    close(output[1]);
    expect_status(pid, W_EXITCODE(0, 0));
    ssize_t length = read(output[0], state, 255);
    ck_assert_int_gt(length, 0);
    state[length] = '\0';
}

START_TEST(the_program_starts_with_the_mask_and_dispositions_of_the_user)
{
    char expected[256], found[256];

    read_signal_state(false, expected);
    read_signal_state(true, found);
    ck_assert_str_eq(found, expected);
}
END_TEST

START_TEST(the_command_dies_of_what_killed_the_program_and_leaves_no_core)
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGKILL, SIGTERM,
                                  SIGINT,  SIGHUP,  SIGUSR1, SIGPIPE};
    struct rlimit core;

    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &core), 0);
    core.rlim_cur = core.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &core), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char script[64];
        snprintf(script, sizeof script, "ulimit -c 0; kill -%d $$", numbers[i]);
        expect_status(start_shell(script), W_EXITCODE(0, numbers[i]));
    }
}
END_TEST

START_TEST(a_signal_is_not_lost_while_the_program_starts)
{
    enum { TRIES = 300, STEP_US = 20 };

    /* Check catches it, here and in a child that is not yet the command. */
    signal(SIGTERM, SIG_DFL);

    /* A program that outlived the command would become a child of this process. */
    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (useconds_t i = 0; i < TRIES; i++) {
        pid_t command = start_shell("exec sleep 100");
        usleep(i * STEP_US);
        kill(command, SIGTERM);
        expect_status(command, W_EXITCODE(0, SIGTERM));
        ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    }
}
END_TEST

SUITE_MAIN("tidemark run: signals", a_signal_for_the_command_reaches_the_program_once,
           a_queued_signal_and_one_for_a_thread_are_passed_on_too,
           what_the_program_sends_to_the_command_does_not_come_back,
           what_the_terminal_sends_reaches_the_program_once,
           a_stop_by_the_terminal_stops_both_and_the_shell_continues_both,
           the_command_stops_with_the_program_and_continues_it,
           a_signal_that_the_user_ignores_goes_nowhere,
           the_program_starts_with_the_mask_and_dispositions_of_the_user,
           the_command_dies_of_what_killed_the_program_and_leaves_no_core,
           a_signal_is_not_lost_while_the_program_starts)

#include "tools/tidemark/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/tidemark/environment.h"
#include "tools/tidemark/signals.h"
#include "tools/tidemark/strict.h"
#include "tools/tidemark/verb.h"

/* What is known of the child. */
struct child {
    pid_t pid;
    int error_fd; /* where it tells why it could not become the program */
    int error;    /* that reason, 0 until it is known */
    bool has_ended;
    int status;      /* from waitpid, once it has ended */
    int stop_signal; /* 0 while it is not stopped */
};

/* In the child. Executing the program closes `error_fd`. */
static _Noreturn void become_program(const struct launch *launch, int ack_fd,
                                     int error_fd, const struct signals *signals)
{
    environment_mark(launch->option_texts, ack_fd, launch->counts);
    signals_restore(signals);
    execvp(launch->program[0], launch->program);

    int error = errno;
    while (write(error_fd, &error, sizeof error) == -1 && errno == EINTR)
        continue;
    _exit(VERB_CANNOT_EXECUTE);
}

/* Forks the child; false, with errno, if there can be none. Nobody waits here for the
   program to be executed: the child may be stopped before that. */
static bool start(const struct launch *launch, const struct signals *signals,
                  struct strict *strict, struct child *child)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    child->pid = fork();
    if (child->pid == -1)
        return false;
    if (child->pid == 0)
        become_program(launch, strict->write_fd, ends[1], signals);
    child->error_fd = ends[0];
    close(ends[1]);
    strict_begin(strict);
    return true;
}

/* Takes what the kernel has to tell about the child; whether a stop was part of it. Other
   children are met as the first process of a container, or if we were executed in the
   place of a shell that had some: they only have to be reaped. */
static bool reap(struct child *child)
{
    bool has_stopped = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != child->pid)
            continue;
        child->stop_signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        has_stopped = WIFSTOPPED(status);
        child->has_ended = WIFEXITED(status) || WIFSIGNALED(status);
        child->status = status;
    }
    return has_stopped;
}

/* Keeps this process and the child stopped and running together. A shell continues the
   whole process group, so the child may be running again: only a stopped one is
   continued. */
static void follow(struct child *child, struct signals_news news)
{
    if (!news.child_changed && !news.continued)
        return;
    bool has_stopped = reap(child);
    if (child->stop_signal == 0)
        return;
    if (news.continued)
        kill(child->pid, SIGCONT);
    else if (has_stopped)
        signals_suffer(child->stop_signal);
}

/* Whether the child has told that it could not become the program. What it tells comes
   before the end of anything else that it holds open. */
static bool has_failed(struct child *child)
{
    while (read(child->error_fd, &child->error, sizeof child->error) == -1 &&
           errno == EINTR)
        continue;
    return child->error != 0;
}

static void stay_beside(struct child *child, const struct signals *signals,
                        struct strict *strict, const char *name)
{
    while (!child->has_ended) {
        struct pollfd watched[] = {
            {.fd = signals->fd, .events = POLLIN},
            {.fd = strict->read_fd, .events = POLLIN},
        };
        poll(watched, sizeof watched / sizeof watched[0], strict_sleep_ms(strict));
        follow(child, signals_take(signals, child->pid));
        /* The process id of one that has ended may already be another's. */
        if (!child->has_ended && !has_failed(child))
            strict_step(strict, child->pid, name);
    }
}

struct launch_end launch_program(const struct launch *launch)
{
    struct child child = {.has_ended = false};
    struct signals signals;
    struct strict strict;

    strict_init(&strict);
    if ((launch->strict && !strict_expect(&strict)) || !signals_block(&signals) ||
        !start(launch, &signals, &strict, &child))
        return (struct launch_end){LAUNCH_NOT_BEGUN, errno};
    stay_beside(&child, &signals, &strict, launch->program[0]);
    if (has_failed(&child))
        return (struct launch_end){LAUNCH_NOT_BEGUN, child.error};
    if (!strict_settle(&strict, launch->program[0]))
        return (struct launch_end){LAUNCH_UNANSWERED, 0};
    return (struct launch_end){LAUNCH_ENDED, child.status};
}

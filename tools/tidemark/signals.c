#include "tools/tidemark/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                                SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP};

enum {
    PASSED_ON_COUNT = sizeof passed_on / sizeof passed_on[0],
    TAKEN_COUNT = PASSED_ON_COUNT + 2, /* and SIGCHLD, SIGCONT; none is queued twice */
};

static bool is_ignored(int signal_number)
{
    struct sigaction action;

    return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool signals_block(struct signals *signals)
{
    /* Who ignores SIGCHLD has no children to wait for. */
    struct sigaction child = {.sa_handler = SIG_DFL};
    sigset_t taken;

    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    sigaddset(&taken, SIGCONT);
    for (size_t i = 0; i < PASSED_ON_COUNT; i++)
        if (!is_ignored(passed_on[i]))
            sigaddset(&taken, passed_on[i]);
    signals->fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd != -1 &&
           sigaction(SIGCHLD, &child, &signals->original_child) == 0 &&
           sigprocmask(SIG_BLOCK, &taken, &signals->original_mask) == 0;
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->original_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->original_mask, NULL);
}

/* What the terminal sends (SI_KERNEL) goes to its whole foreground group: the program has
   had it. What the program itself sent is not for the program. */
static bool is_meant_for(const struct signalfd_siginfo *info, pid_t program)
{
    bool was_sent = info->ssi_code == SI_USER || info->ssi_code == SI_QUEUE ||
                    info->ssi_code == SI_TKILL;

    return was_sent && (pid_t)info->ssi_pid != program;
}

struct signals_news signals_take(const struct signals *signals, pid_t program)
{
    struct signalfd_siginfo infos[TAKEN_COUNT];
    struct signals_news news = {.child_changed = false, .continued = false};
    ssize_t length = read(signals->fd, infos, sizeof infos);
    size_t count = length < 0 ? 0 : (size_t)length / sizeof infos[0];

    for (size_t i = 0; i < count; i++) {
        int signal_number = (int)infos[i].ssi_signo;
        if (signal_number == SIGCHLD)
            news.child_changed = true;
        else if (signal_number == SIGCONT)
            news.continued = true;
        else if (is_meant_for(&infos[i], program))
            kill(program, signal_number);
    }
    return news;
}

void signals_suffer(int signal_number)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t only, mask;

    sigemptyset(&only);
    sigaddset(&only, signal_number);
    sigaction(signal_number, &by_default, NULL);
    raise(signal_number);
    sigprocmask(SIG_UNBLOCK, &only, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Signals while the program runs: all that concern it are blocked and read from a
   descriptor, so that none is lost between starting the program and waiting for it, and
   no handler of ours stands in the program's way. */
#ifndef TIDEMARK_SIGNALS_H
#define TIDEMARK_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct signals {
    int fd;                          /* readable when one is pending */
    sigset_t original_mask;          /* the program's: what the user started us with */
    struct sigaction original_child; /* SIGCHLD's, likewise */
};

/* What arrived since the last look, beside what was passed on. */
struct signals_news {
    bool child_changed; /* SIGCHLD */
    bool continued;     /* SIGCONT: somebody continued this process */
};

/* Blocks the signals of the program and opens the descriptor; false, with errno, if there
   is none. A signal that the user ignores stays ignored, here and in the program. */
bool signals_block(struct signals *signals);

/* In the child: mask and dispositions as they were. */
void signals_restore(const struct signals *signals);

/* Reads what is pending and passes on to `program` what was meant for it. */
struct signals_news signals_take(const struct signals *signals, pid_t program);

/* Has the signal do to this process what it does by default: returns after a stop was
   continued, and only if nothing happened otherwise. */
void signals_suffer(int signal_number);

#endif

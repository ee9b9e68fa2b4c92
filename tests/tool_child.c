/* The program under `tidemark run` in the tests of its signals: outlives signals and
   names each on standard output, one a line, lowest number first where several are
   pending. Ends at the end of its standard input. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int told[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,
                           SIGUSR2, SIGTERM, SIGCONT, SIGWINCH};

int main(void)
{
    const struct timespec patience = {.tv_sec = 0, .tv_nsec = 10 * 1000 * 1000};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t taken;

    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        sigaddset(&taken, told[i]);
    sigprocmask(SIG_BLOCK, &taken, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready %d\n", getpid());
    for (;;) {
        int signal_number = sigtimedwait(&taken, NULL, &patience);
        if (signal_number > 0)
            puts(sigabbrev_np(signal_number));
        else if (poll(&input, 1, 0) == 1)
            break;
    }
    puts("end");
    return 0;
}

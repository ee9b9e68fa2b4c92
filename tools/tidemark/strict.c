#include "tools/tidemark/strict.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/tidemark/say.h"

enum {
    ANSWER_MS = 10 * 1000, /* a slow file system may take seconds to load a program */
    TERMINATE_MS = 2 * 1000,
    NEVER_MS = -1,
    /* The library closes its end at once, but a program that executes another hands on a
       TIDEMARK_RUN that still names it: a number that programs seldom reach by
       themselves, and a socket, which the library looks for. */
    ACK_FD_LEAST = 512,
    STANDARD_FDS_END = 3,
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void strict_init(struct strict *strict)
{
    *strict = (struct strict){.stage = STRICT_SATISFIED,
                              .read_fd = -1,
                              .write_fd = -1,
                              .deadline_ms = NEVER_MS};
}

bool strict_expect(struct strict *strict)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return false;
    int write_fd = fcntl(ends[1], F_DUPFD, ACK_FD_LEAST);
    if (write_fd == -1) /* beyond the limit on open files */
        write_fd = fcntl(ends[1], F_DUPFD, STANDARD_FDS_END);
    close(ends[1]);
    if (write_fd == -1) {
        close(ends[0]);
        return false;
    }
    strict->read_fd = ends[0];
    strict->write_fd = write_fd;
    return true;
}

void strict_begin(struct strict *strict)
{
    if (strict->write_fd == -1)
        return;
    close(strict->write_fd);
    strict->write_fd = -1;
    strict->stage = STRICT_WAITING;
    strict->deadline_ms = now_ms() + ANSWER_MS;
}

int strict_sleep_ms(const struct strict *strict)
{
    if (strict->deadline_ms == NEVER_MS)
        return -1;
    int64_t left_ms = strict->deadline_ms - now_ms();
    return left_ms > 0 ? (int)left_ms : 0;
}

static void enter(struct strict *strict, enum strict_stage stage, int64_t deadline_ms)
{
    close(strict->read_fd);
    strict->read_fd = -1;
    strict->stage = stage;
    strict->deadline_ms = deadline_ms;
}

static void read_answer(struct strict *strict)
{
    char byte;
    ssize_t length = read(strict->read_fd, &byte, sizeof byte);

    if (length == 1)
        enter(strict, STRICT_SATISFIED, NEVER_MS);
    else if (length == 0)
        strict->deadline_ms = now_ms(); /* nobody is left who could answer */
}

static void say_unanswered(const char *name)
{
    say("%s: the preload had no effect", name);
}

static void end_program(struct strict *strict, pid_t program, const char *name)
{
    say_unanswered(name);
    kill(program, SIGTERM);
    kill(program, SIGCONT); /* or a stopped one would not notice */
    enter(strict, STRICT_ENDING, now_ms() + TERMINATE_MS);
}

void strict_step(struct strict *strict, pid_t program, const char *name)
{
    if (strict->stage == STRICT_WAITING)
        read_answer(strict);
    if (strict_sleep_ms(strict) != 0)
        return;
    if (strict->stage == STRICT_WAITING) {
        end_program(strict, program, name);
    } else {
        kill(program, SIGKILL);
        strict->deadline_ms = NEVER_MS;
    }
}

bool strict_settle(struct strict *strict, const char *name)
{
    if (strict->stage == STRICT_WAITING)
        read_answer(strict);
    if (strict->stage == STRICT_WAITING)
        say_unanswered(name);
    return strict->stage == STRICT_SATISFIED;
}

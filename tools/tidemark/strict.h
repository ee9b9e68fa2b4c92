/* The proof that the library is in the program: its constructor sends one byte to a socket
   that it finds in TIDEMARK_RUN. A program that has not answered in time, or that closes
   the socket without an answer, is ended. Without --strict nothing is expected. */
#ifndef TIDEMARK_STRICT_H
#define TIDEMARK_STRICT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum strict_stage {
    STRICT_SATISFIED, /* the byte came, or none is expected */
    STRICT_WAITING,
    STRICT_ENDING, /* none came: SIGTERM was sent, SIGKILL follows */
};

struct strict {
    enum strict_stage stage;
    int read_fd;         /* -1 when nothing more is to be read */
    int write_fd;        /* the program's end; -1 once it is the program's alone */
    int64_t deadline_ms; /* of the stage, on the monotonic clock */
};

/* Expects nothing. */
void strict_init(struct strict *strict);

/* Makes the sockets and expects an answer; false, with errno, if there can be none. */
bool strict_expect(struct strict *strict);

/* In this process once the program has its end. */
void strict_begin(struct strict *strict);

/* How long poll may sleep before strict_step has to be called again, -1 for any time. */
int strict_sleep_ms(const struct strict *strict);

/* Looks for the answer and ends the program, named `name`, when it is late or impossible. */
void strict_step(struct strict *strict, pid_t program, const char *name);

/* After the program has ended: whether it had answered; if not, that was said. */
bool strict_settle(struct strict *strict, const char *name);

#endif

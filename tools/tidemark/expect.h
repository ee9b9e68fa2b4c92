/* What `tidemark run --expect` holds a program to: counters of its report, compared with a
   number. The library writes its report, as JSON, to a file of ours beside any that the user
   asked for. */
#ifndef TIDEMARK_EXPECT_H
#define TIDEMARK_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct expect_counter; /* a row of pool/stats.def */

struct expectation {
    const char *text; /* as it was written */
    const struct expect_counter *counter;
    int comparison; /* one of expect.c's */
    uint64_t bound;
};

/* Reads COUNTER<=N; also <, >=, >, == and !=. Counters that count bytes take sizes. False, and
   said, when it cannot be understood. */
bool expect_read(const char *text, struct expectation *expectation);

/* The counters with their meanings, on standard output. */
void expect_list(void);

/* Makes the file and names it in `*path`, which is never freed. False, and said, if not. */
bool expect_open(const char **path);

/* Whether every expectation is met by the report at `path`; says which is not, and the
   value. */
bool expect_judge(const char *path, const struct expectation *expectations, size_t count);

#endif

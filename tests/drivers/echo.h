/* A driver that does nothing but what a test tells it: every function that the library hooks or
   calls writes down its arguments and answers what its row says. Rows are found by symbol and
   changed directly; a test is one thread, or changes nothing while others call. */
#ifndef TESTS_DRIVERS_ECHO_H
#define TESTS_DRIVERS_ECHO_H

#include "shim/driver_abi.h"

enum {
    ECHO_ARGUMENTS = 6, /* those that arrive in registers */
    ECHO_WRITES = 2,
};

/* On success: so many bytes of `value` to where an argument points. */
struct echo_write {
    unsigned argument;
    unsigned bytes; /* 0: nothing */
    uint64_t value;
};

struct echo_row {
    const char *symbol;
    const char *base; /* for cuGetProcAddress; NULL: it does not know this name */
    int since;
    cuuint64_t flags;
    void (*function)(void); /* as exported */
    void (*thunk)(void);    /* a second entry of it, which is exported nowhere */
    CUresult result;
    unsigned call_count;
    uintptr_t arguments[ECHO_ARGUMENTS]; /* of the last call */
    struct echo_write writes[ECHO_WRITES];
};

/* How cuGetProcAddress answers. */
enum echo_answers {
    ECHO_ANSWERS_SYMBOLS,  /* with what is exported */
    ECHO_ANSWERS_THUNKS,   /* with second entries */
    ECHO_ANSWERS_STRANGERS /* with an entry that no row's own version leads to */
};

/* NULL when the driver has no such function. */
typedef struct echo_row *echo_row_function(const char *symbol);
typedef void echo_answers_function(enum echo_answers answers);

#endif

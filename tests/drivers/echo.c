/* See echo.h. A libcuda.so.1 of its own. */
#include "tests/drivers/echo.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ECHO_EXPORT __attribute__((visibility("default")))

/* Names that are not hooked: an older and a newer driver than we know have more forms. */
#define UNHOOKED(ROW)                                                                    \
    ROW(cuMemAlloc_v3, cuMemAlloc, 13010, 0)                                             \
    ROW(cuUnheardOf, cuUnheardOf, 2000, 0)

enum echo_id {
#define HOOK(symbol, base, since, flags, parameters) ECHO_##symbol,
#define CALL(symbol, parameters)                     ECHO_##symbol,
#include "shim/driver_hooks.def"
#define ROW(symbol, base, since, flags) ECHO_##symbol,
    UNHOOKED(ROW)
#undef ROW
        ECHO_COUNT
};

/* Three entries a function, each of which leads to echo_call() with the arguments as they came
   in. */
__asm__(".text\n"
        "echo_enter:\n"
        "    push %r9\n    push %r8\n    push %rcx\n"
        "    push %rdx\n    push %rsi\n    push %rdi\n"
        "    mov %eax, %edi\n"
        "    mov %rsp, %rsi\n"
        "    sub $8, %rsp\n"
        "    call echo_call\n"
        "    add $56, %rsp\n"
        "    ret\n");

#define ENTRY(name, symbol)                                                              \
    __attribute__((naked)) void name(void)                                               \
    {                                                                                    \
        __asm__("mov %0, %%eax\n jmp echo_enter" : : "i"(ECHO_##symbol));                \
    }
#define ENTRIES(symbol)                                                                  \
    ECHO_EXPORT void symbol(void);                                                       \
    ENTRY(symbol, symbol)                                                                \
    static ENTRY(thunk_##symbol, symbol) static ENTRY(stranger_##symbol, symbol)
#define HOOK(symbol, base, since, flags, parameters) ENTRIES(symbol)
#define CALL(symbol, parameters)                     ENTRIES(symbol)
#include "shim/driver_hooks.def"
#define ROW(symbol, base, since, flags) ENTRIES(symbol)
UNHOOKED(ROW)
#undef ROW

static struct echo_row rows[] = {
#define ROW(symbol, base, since, flags)                                                  \
    {#symbol, base, since, flags, symbol, thunk_##symbol, 0, 0, {0}, {{0, 0, 0}}},
#define HOOK(symbol, base, since, flags, parameters) ROW(symbol, #base, since, flags)
#define CALL(symbol, parameters)                     ROW(symbol, NULL, 0, 0)
#include "shim/driver_hooks.def"
#define NAMED(symbol, base, since, flags) ROW(symbol, #base, since, flags)
    UNHOOKED(NAMED)
#undef NAMED
#undef ROW
    /* Known by its symbol as well as by its base. */
    {"cuSuffixed",
     "cuMemAlloc_v2",
     2000,
     0,
     cuMemAlloc_v2,
     cuMemAlloc_v2,
     0,
     0,
     {0},
     {{0, 0, 0}}},
    /* Its body is another's, as the linker may have it for functions that do the same. */
    {"cuShared",
     "cuShared",
     2000,
     0,
     cuMemAlloc_v2,
     cuMemAlloc_v2,
     0,
     0,
     {0},
     {{0, 0, 0}}},
};

static void (*const strangers[])(void) = {
#define HOOK(symbol, base, since, flags, parameters) stranger_##symbol,
#define CALL(symbol, parameters)                     stranger_##symbol,
#include "shim/driver_hooks.def"
#define ROW(symbol, base, since, flags) stranger_##symbol,
    UNHOOKED(ROW)
#undef ROW
        cuMemAlloc_v2,
    cuMemAlloc_v2,
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static enum echo_answers echo_answers;

ECHO_EXPORT echo_row_function echo_row;
ECHO_EXPORT echo_answers_function echo_answer_with;
__attribute__((used)) CUresult echo_call(enum echo_id id, const uintptr_t *arguments);

struct echo_row *echo_row(const char *symbol)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strcmp(rows[i].symbol, symbol) == 0)
            return &rows[i];
    return NULL;
}

void echo_answer_with(enum echo_answers answers)
{
    echo_answers = answers;
}

/* The newest form that `version` knows, of the stream kind that was asked for if there is one. */
static const struct echo_row *choose(const char *base, int version, cuuint64_t flags)
{
    const struct echo_row *best = NULL;
    for (const struct echo_row *row = rows; row < rows + ROW_COUNT; row++) {
        if (row->base == NULL || strcmp(row->base, base) != 0 || row->since > version ||
            (row->flags & ~flags) != 0)
            continue;
        if (best == NULL || row->flags > best->flags ||
            (row->flags == best->flags && row->since > best->since))
            best = row;
    }
    return best;
}

static void (*entry_of(const struct echo_row *row, int version))(void)
{
    if (row == NULL)
        return NULL;
    switch (echo_answers) {
    case ECHO_ANSWERS_SYMBOLS:
        return row->function;
    case ECHO_ANSWERS_THUNKS:
        return row->thunk;
    case ECHO_ANSWERS_STRANGERS:
        break;
    }
    return version == row->since ? row->thunk : strangers[row - rows];
}

/* The first form has no place for a status, and a name that cannot be had is its error. */
static CUresult look_up(const uintptr_t *arguments, bool has_status)
{
    const char *base = (const char *)arguments[0];
    int version = (int)arguments[2];
    void (*found)(void) = entry_of(choose(base, version, arguments[3]), version);
    memcpy((void *)arguments[1], &found, sizeof found);
    if (has_status && arguments[4] != 0)
        *(int *)arguments[4] =
            found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found || has_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult echo_call(enum echo_id id, const uintptr_t *arguments)
{
    struct echo_row *row = &rows[id];
    row->call_count++;
    memcpy(row->arguments, arguments, sizeof row->arguments);
    if (row->result != CUDA_SUCCESS)
        return row->result;
    if (id == ECHO_cuGetProcAddress || id == ECHO_cuGetProcAddress_v2)
        return look_up(arguments, id == ECHO_cuGetProcAddress_v2);
    for (size_t i = 0; i < ECHO_WRITES; i++)
        memcpy((void *)arguments[row->writes[i].argument], &row->writes[i].value,
               row->writes[i].bytes);
    return CUDA_SUCCESS;
}

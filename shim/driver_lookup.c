#include "shim/driver_lookup.h"

#include <stdatomic.h>

#include "shim/driver.h"
#include "shim/driver_observe.h"
#include "shim/guard.h"
#include "shim/init.h"
#include "shim/say.h"

/* Memory order
   [A] answered[] is filled by whoever first meets an address that the symbol table does not
   have, several threads at once if they will: all write what the driver answers. The release
   store of answers_known publishes it to later look-ups, which acquire it. [B] unknown is a
   figure. */

enum {
    KNOWN_VERSION = 13000, /* CUDA 13.0: our rows list every form of a base up to here */
};

static _Atomic uint64_t unknown;

/* What one look-up asked, and how the driver answered. */
struct question {
    const char *base;
    int version;
    cuuint64_t flags;
    shim_function returned;
};

static shim_function ask(const struct shim_driver *driver, const struct shim_hook *hook)
{
    void *function = NULL;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (driver->call.cuGetProcAddress_v2) {
        CUdriverProcAddressQueryResult status = 0;
        result = driver->call.cuGetProcAddress_v2(hook->base, &function, hook->since,
                                                  hook->flags, &status);
    } else if (driver->call.cuGetProcAddress) {
        result = driver->call.cuGetProcAddress(hook->base, &function, hook->since,
                                               hook->flags);
    }
    return result == CUDA_SUCCESS ? (shim_function)(uintptr_t)function : NULL;
}

/* dlsym and cuGetProcAddress need not agree: both answers are kept. */
static void learn(struct shim_driver *driver)
{
    if (atomic_load_explicit(&driver->answers_known, memory_order_acquire)) /* A */
        return;
    for (int id = 0; id < SHIM_HOOK_COUNT; id++)
        atomic_store_explicit(&driver->answered[id], ask(driver, &shim_hooks[id]),
                              memory_order_relaxed);                           /* A */
    atomic_store_explicit(&driver->answers_known, true, memory_order_release); /* A */
}

/* The form that the driver's own rule picks: the per-thread-stream kind if that was asked for
   and there is one, and of a kind the newest that is not newer than asked. */
static int form_by_rule(const struct question *question)
{
    int best = -1;
    for (int id = shim_hook_first_form(question->base); id >= 0;
         id = shim_hook_next_form(question->base, id)) {
        const struct shim_hook *hook = &shim_hooks[id];
        if (hook->since > question->version || (hook->flags & ~question->flags) != 0)
            continue;
        if (best < 0 || hook->flags > shim_hooks[best].flags ||
            (hook->flags == shim_hooks[best].flags &&
             hook->since > shim_hooks[best].since))
            best = id;
    }
    return best;
}

/* Two forms may share a body; then the one that was asked for is meant. */
static int form_by_symbol(const struct shim_driver *driver,
                          const struct question *question, int by_rule)
{
    if (by_rule >= 0 && driver->real[by_rule] == question->returned)
        return by_rule;
    for (int id = shim_hook_first_form(question->base); id >= 0;
         id = shim_hook_next_form(question->base, id))
        if (driver->real[id] == question->returned)
            return id;
    return -1;
}

/* A driver without a form answers for it with an older one, which comes first here. */
static int form_by_answer(struct shim_driver *driver, const struct question *question)
{
    learn(driver);
    for (int id = shim_hook_first_form(question->base); id >= 0;
         id = shim_hook_next_form(question->base, id))
        if (atomic_load_explicit(&driver->answered[id], memory_order_relaxed) == /* A */
            question->returned)
            return id;
    return -1;
}

/* -1: it is none that we know, or one that we could not call on, since the driver does not
   export it. */
static int form_of(struct shim_driver *driver, const struct question *question)
{
    int by_rule = form_by_rule(question);
    int form = form_by_symbol(driver, question, by_rule);
    if (form < 0)
        form = form_by_answer(driver, question);
    if (form < 0 && question->version <= KNOWN_VERSION)
        form = by_rule;
    return form >= 0 && driver->real[form] ? form : -1;
}

/* Counts one, and says whether it is the first, and anybody wants to hear of it. */
static bool is_worth_a_line(void)
{
    uint64_t before =
        atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed); /* B */
    const struct shim_settings *settings = shim_settings();
    return before == 0 && (settings->options.verbose || settings->run_ack >= 0);
}

/* The program gets what we cannot place, and its memory is not accounted for: `run --strict`
   and verbose say so of the first. */
static void note_unknown(const struct question *question)
{
    if (!is_worth_a_line())
        return;
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, question->base);
    pool_text_put(&line.text, " of version ");
    pool_text_put_number(&line.text, (uint64_t)question->version);
    pool_text_put(&line.text, ": the driver has a form of it that is not known here, and "
                              "what the program does by it is not seen");
    shim_line_end(&line);
}

void shim_lookup_note_other(const char *name)
{
    if (!is_worth_a_line())
        return;
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, name);
    pool_text_put(&line.text,
                  ": the program uses a second copy of the driver, and what it "
                  "does by that is not seen");
    shim_line_end(&line);
}

/* A driver may know a form by its symbol, too: cuMemAlloc_v2 is no base. */
static int form_named(const struct shim_driver *driver, const struct question *question)
{
    int form = shim_hook_named(question->base);
    return form >= 0 && driver->real[form] == question->returned ? form : -1;
}

static void replace(struct shim_driver *driver, const struct question *question,
                    void **function)
{
    bool is_base = shim_hook_first_form(question->base) >= 0;
    int form = is_base ? form_of(driver, question) : form_named(driver, question);
    if (form >= 0)
        *function = shim_function_pointer(shim_hooks[form].function);
    else if (is_base)
        note_unknown(question);
}

static void answer(struct shim_driver *driver, const char *base, void **function,
                   int version, cuuint64_t flags)
{
    if (!base || !function || !*function || !shim_settings()->options.enabled ||
        !shim_guard_enter())
        return;
    struct question question = {base, version, flags,
                                (shim_function)(uintptr_t)*function};
    replace(driver, &question, function);
    shim_guard_leave();
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                          cuuint64_t flags)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuGetProcAddress)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result = driver->call.cuGetProcAddress(symbol, function, version, flags);
    if (result == CUDA_SUCCESS)
        answer(driver, symbol, function, version, flags);
    return shim_observe_result(driver, result);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                             cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    struct shim_driver *driver = shim_driver_get();
    if (!driver || !driver->call.cuGetProcAddress_v2)
        return CUDA_ERROR_NOT_INITIALIZED;
    CUresult result =
        driver->call.cuGetProcAddress_v2(symbol, function, version, flags, status);
    if (result == CUDA_SUCCESS)
        answer(driver, symbol, function, version, flags);
    return shim_observe_result(driver, result);
}

uint64_t shim_lookup_unknown(void)
{
    return atomic_load_explicit(&unknown, memory_order_relaxed); /* B */
}

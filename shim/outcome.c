#include "shim/outcome.h"

#include <errno.h>
#include <stdatomic.h>

#include "shim/host_charge.h"
#include "shim/init.h"
#include "shim/say.h"

enum { TOLD_IN_FULL = 8 };

/* Each refusal up to TOLD_IN_FULL, then at powers of two. */
static bool worth_a_line(uint64_t count)
{
    return count <= TOLD_IN_FULL || (count & (count - 1)) == 0;
}

static void put_quantity(struct pool_text *text, const char *label, uint64_t bytes)
{
    pool_text_put(text, label);
    pool_text_put_bytes(text, bytes);
}

/* Whose ceiling refused: one device, or host memory of one kind. */
struct limited {
    const char *name;  /* "on device ", "heap memory" */
    unsigned ordinal;  /* of a device */
    const char *total; /* what its total is called */
    enum policy_option_id option;
    const struct policy_ceiling *ceiling;
    const struct policy_ledger_account *account;
};

static void put_name(struct pool_text *text, const struct limited *limited)
{
    pool_text_put(text, limited->name);
    if (limited->option == POLICY_OPTION_device_mem)
        pool_text_put_number(text, limited->ordinal);
}

static void put_source(struct pool_text *text, const struct limited *limited)
{
    const struct policy_ceiling *ceiling = limited->ceiling;
    const struct policy_option_value *value = &shim_settings()->values[limited->option];
    pool_text_put(text, " from ");
    pool_text_put(text, policy_option_rows[limited->option].environment);
    pool_text_put(text, "=");
    pool_text_put(text, value->text);
    pool_text_put(text, value->origin == POLICY_ORIGIN_DEFAULT ? " (default), " : ", ");
    pool_text_put(text, policy_ceiling_source_text(ceiling->source));
    if (ceiling->total_bytes) {
        pool_text_put(text, " (");
        put_quantity(text, limited->total, ceiling->total_bytes);
        put_quantity(text, ", headroom ", ceiling->headroom_bytes);
        pool_text_put(text, ")");
    }
}

static void put_count(struct pool_text *text, uint64_t count)
{
    if (count <= TOLD_IN_FULL)
        return;
    pool_text_put(text, "; refusals so far ");
    pool_text_put_number(text, count);
}

static void tell(const char *call, const struct limited *limited,
                 const struct policy_verdict *verdict)
{
    uint64_t count =
        atomic_load_explicit(&limited->account->refusals, memory_order_relaxed);
    if (!worth_a_line(count))
        return;
    struct shim_line line;
    shim_line_begin(&line);
    if (call) {
        pool_text_put(&line.text, call);
        pool_text_put(&line.text, " refused ");
    }
    put_name(&line.text, limited);
    pool_text_put(&line.text, call ? ", " : " refused, ");
    pool_text_put(&line.text, policy_verdict_sentence(verdict->kind));
    put_quantity(&line.text, ": asked ", verdict->asked_bytes);
    put_quantity(&line.text, ", would reserve ", verdict->reserved_bytes);
    put_quantity(&line.text, ", held ", verdict->held_bytes);
    put_quantity(&line.text, ", ceiling ", verdict->limit_bytes);
    put_source(&line.text, limited);
    put_quantity(&line.text, ", short by ", verdict->short_bytes);
    put_count(&line.text, count);
    shim_line_end(&line);
}

CUresult shim_outcome_refused(const char *call, const struct shim_device *device,
                              const struct policy_verdict *verdict)
{
    const struct limited limited = {
        .name = "on device ",
        .ordinal = device->ordinal,
        .total = "device ",
        .option = POLICY_OPTION_device_mem,
        .ceiling = &device->ceiling,
        .account = &device->account,
    };
    tell(call, &limited, verdict);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void tell_host(const char *call, const struct shim_host_account *account,
                      const struct policy_verdict *verdict)
{
    const struct limited limited = {
        .name = account->name,
        .total = "usable ",
        .option = account->option,
        .ceiling = &account->ceiling,
        .account = &account->account,
    };
    tell(call, &limited, verdict);
}

CUresult shim_outcome_refused_host(const char *call,
                                   const struct shim_host_account *account,
                                   const struct policy_verdict *verdict)
{
    tell_host(call, account, verdict);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* A figure: relaxed. */
static _Atomic uint64_t driver_refusals;

uint64_t shim_outcome_driver_refusals(void)
{
    return atomic_load_explicit(&driver_refusals, memory_order_relaxed);
}

void shim_outcome_driver_refused(const char *call, const struct shim_device *device,
                                 const struct shim_outcome_shortage *shortage)
{
    uint64_t count =
        atomic_fetch_add_explicit(&driver_refusals, 1, memory_order_relaxed) + 1;
    if (!worth_a_line(count))
        return;
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, call);
    if (device) {
        pool_text_put(&line.text, " on device ");
        pool_text_put_number(&line.text, device->ordinal);
    }
    pool_text_put(&line.text, " ");
    pool_text_put(&line.text, policy_verdict_sentence(POLICY_DRIVER_REFUSED));
    put_quantity(&line.text, ": asked ", shortage->asked_bytes);
    put_quantity(&line.text, ", charged ", shortage->charged_bytes);
    put_quantity(&line.text, ", idle ", shortage->idle_bytes);
    put_quantity(&line.text, ", trimmed ", shortage->trimmed_bytes);
    put_quantity(&line.text, ", largest idle block ", shortage->largest_idle_bytes);
    if (shortage->free_is_known) {
        put_quantity(&line.text, ", free by the driver's count ", shortage->free_bytes);
        put_quantity(&line.text, " of ", shortage->total_bytes);
    }
    put_count(&line.text, count);
    shim_line_end(&line);
}

/* The kernel may have refused, too, and jemalloc may have found room where a block was refused. */
void shim_outcome_no_heap(size_t bytes)
{
    struct policy_verdict verdict;
    if (!shim_host_charging || !shim_host_charge_take_refusal(&verdict))
        return;
    struct shim_host_account *heap = shim_host_account(SHIM_HOST_HEAP);
    verdict.asked_bytes = bytes;
    policy_ledger_refuse(&heap->account);
    tell_host(NULL, heap, &verdict);
}

void *shim_outcome_no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

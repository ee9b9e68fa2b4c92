#include "shim/host_account.h"

#include "shim/memory.h"
#include "shim/say.h"

/* Memory order: the counters that a report reads are figures. Ceilings are written before any
   other thread can have seen the settings. */

static struct shim_host_account accounts[SHIM_HOST_KINDS] = {
    [SHIM_HOST_PINNED] = {.name = "page-locked memory",
                          .option = POLICY_OPTION_pinned_mem,
                          .ceiling = {.bytes = UINT64_MAX,
                                      .source = POLICY_CEILING_UNBUDGETED}},
    [SHIM_HOST_HEAP] = {.name = "heap memory",
                        .option = POLICY_OPTION_heap_mem,
                        .ceiling = {.bytes = UINT64_MAX,
                                    .source = POLICY_CEILING_UNBUDGETED}},
};

/* 0: not known, as policy/ceiling.h has it. */
static uint64_t usable_bytes(void)
{
    uint64_t usable = shim_memory_usable();
    return usable == UINT64_MAX ? 0 : usable;
}

static void resolve(enum shim_host_kind kind,
                    const struct policy_ceiling_request *request,
                    struct policy_fraction headroom)
{
    if (request->kind != POLICY_CEILING_NONE)
        accounts[kind].ceiling =
            policy_ceiling_resolve(request, headroom, usable_bytes());
}

void shim_host_account_open(const struct policy_options *options)
{
    resolve(SHIM_HOST_PINNED, &options->pinned_mem, options->headroom);
    resolve(SHIM_HOST_HEAP, &options->heap_mem, options->headroom);
}

void shim_host_account_void(enum shim_host_kind kind, const char *reason)
{
    struct shim_host_account *account = &accounts[kind];
    if (account->ceiling.source == POLICY_CEILING_UNBUDGETED)
        return;
    account->ceiling =
        (struct policy_ceiling){.bytes = UINT64_MAX, .source = POLICY_CEILING_UNBUDGETED};
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, policy_option_rows[account->option].environment);
    pool_text_put(&line.text, " has no effect here: ");
    pool_text_put(&line.text, reason);
    shim_line_end(&line);
}

struct shim_host_account *shim_host_account(enum shim_host_kind kind)
{
    return &accounts[kind];
}

static uint64_t figure(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

size_t shim_host_account_report(struct pool_host_stats stats[SHIM_HOST_KINDS])
{
    size_t count = 0;
    for (unsigned kind = 0; kind < SHIM_HOST_KINDS; kind++) {
        const struct shim_host_account *of = &accounts[kind];
        uint64_t peak = figure(&of->account.peak_bytes);
        if (of->ceiling.source == POLICY_CEILING_UNBUDGETED && peak == 0)
            continue;
        stats[count++] = (struct pool_host_stats){
            .name = of->name,
            .ceiling = of->ceiling,
            .charged_bytes = policy_ledger_charged(&of->account),
            .peak_charged_bytes = peak,
            .refusals = figure(&of->account.refusals),
        };
    }
    return count;
}

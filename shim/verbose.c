#include "shim/verbose.h"

#include "shim/host.h"
#include "shim/host_account.h"
#include "shim/say.h"

static const char *origin_text(enum policy_option_origin origin)
{
    switch (origin) {
    case POLICY_ORIGIN_DEFAULT:
        return "default";
    case POLICY_ORIGIN_ENVIRONMENT:
        return "environment";
    case POLICY_ORIGIN_RUN:
        break;
    }
    return "tidemark run";
}

static void put_ceiling(struct pool_text *text, const struct policy_ceiling *ceiling)
{
    pool_text_put(text, ": ceiling ");
    if (ceiling->source == POLICY_CEILING_UNBUDGETED)
        pool_text_put(text, "none");
    else
        pool_text_put_bytes(text, ceiling->bytes);
    pool_text_put(text, ", ");
    pool_text_put(text, policy_ceiling_source_text(ceiling->source));
}

static void say_host_ceiling(enum shim_host_kind kind)
{
    const struct shim_host_account *account = shim_host_account(kind);
    struct shim_line line;
    if (account->ceiling.source == POLICY_CEILING_UNBUDGETED)
        return;
    shim_line_begin(&line);
    pool_text_put(&line.text, account->name);
    put_ceiling(&line.text, &account->ceiling);
    shim_line_end(&line);
}

void shim_verbose_start(const struct shim_settings *settings)
{
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, "version " TIDEMARK_VERSION);
    shim_line_end(&line);
    for (int id = 0; id < POLICY_OPTION_COUNT; id++) {
        shim_line_begin(&line);
        pool_text_put(&line.text, policy_option_rows[id].environment);
        pool_text_put(&line.text, "=");
        pool_text_put(&line.text, settings->values[id].text);
        pool_text_put(&line.text, " (");
        pool_text_put(&line.text, origin_text(settings->values[id].origin));
        pool_text_put(&line.text, ")");
        shim_line_end(&line);
    }
    shim_line_begin(&line);
    pool_text_put(&line.text, "retention of host blocks: ");
    pool_text_put(&line.text, shim_host_retention());
    shim_line_end(&line);
    say_host_ceiling(SHIM_HOST_PINNED);
    say_host_ceiling(SHIM_HOST_HEAP);
    if (!shim_driver_get())
        shim_say("driver: none is mapped yet");
}

void shim_verbose_driver(const struct shim_driver *driver)
{
    if (!shim_settings()->options.verbose)
        return;
    unsigned live = 0;
    for (int id = 0; id < SHIM_HOOK_COUNT; id++)
        live += driver->real[id] != NULL;
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, "driver: ");
    pool_text_put(&line.text, driver->path);
    pool_text_put(&line.text, ", hooks live ");
    pool_text_put_number(&line.text, live);
    pool_text_put(&line.text, " of ");
    pool_text_put_number(&line.text, SHIM_HOOK_COUNT);
    shim_line_end(&line);
}

void shim_verbose_device(const struct shim_driver *driver, unsigned ordinal,
                         const struct policy_ceiling *ceiling)
{
    if (!shim_settings()->options.verbose)
        return;
    int version = 0;
    if (driver->call.cuDriverGetVersion)
        (void)driver->call.cuDriverGetVersion(&version);
    struct shim_line line;
    shim_line_begin(&line);
    pool_text_put(&line.text, "device ");
    pool_text_put_number(&line.text, ordinal);
    pool_text_put(&line.text, " of driver version ");
    pool_text_put_number(&line.text, (uint64_t)(version > 0 ? version : 0));
    put_ceiling(&line.text, ceiling);
    shim_line_end(&line);
}

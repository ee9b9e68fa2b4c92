#include "shim/room.h"

#include "policy/admit.h"
#include "shim/driver_observe.h"
#include "shim/host_account.h"
#include "shim/mempool.h"
#include "shim/outcome.h"
#include "shim/place.h"
#include "shim/retain.h"

static struct policy_ledger_account *account_of(struct shim_device *device)
{
    return device ? &device->account : &shim_host_account(SHIM_HOST_PINNED)->account;
}

static const struct policy_ceiling *ceiling_of(const struct shim_device *device)
{
    return device ? &device->ceiling : &shim_host_account(SHIM_HOST_PINNED)->ceiling;
}

struct policy_verdict shim_room_try(struct shim_device *device, uint64_t bytes)
{
    return policy_ledger_try(account_of(device), ceiling_of(device), bytes);
}

static uint64_t short_bytes(struct shim_device *device, uint64_t bytes)
{
    return policy_admit_bytes(policy_ledger_charged(account_of(device)), bytes,
                              ceiling_of(device)->bytes)
        .short_bytes;
}

void shim_room_make(const struct shim_driver *driver, struct shim_device *device,
                    uint64_t bytes)
{
    uint64_t lacking = short_bytes(device, bytes);
    if (lacking > 0)
        shim_retain_make_room(driver, device, bytes, lacking);
    lacking = short_bytes(device, bytes);
    if (lacking > 0)
        shim_mempool_trim(driver, device, lacking);
}

struct policy_verdict shim_room_charge(const struct shim_driver *driver,
                                       struct shim_device *device, uint64_t bytes)
{
    struct policy_verdict verdict = shim_room_try(device, bytes);
    /* What could not fit if all were idle is refused as it is. */
    if (verdict.kind != POLICY_OVER_CEILING || bytes > verdict.limit_bytes)
        return verdict;
    shim_room_make(driver, device, bytes);
    return shim_room_try(device, bytes);
}

/* Only the device of the current context can be asked, and none while a stream is captured. */
static bool may_ask(const struct shim_driver *driver, const struct shim_device *device)
{
    struct shim_place place;
    return !shim_observe_capturing() && shim_place_current(driver, &place) &&
           place.device == device;
}

CUresult shim_room_refuse(const struct shim_driver *driver, const char *call,
                          struct shim_device *device,
                          const struct policy_verdict *verdict)
{
    policy_ledger_refuse(account_of(device));
    if (!device)
        return shim_outcome_refused_host(call, shim_host_account(SHIM_HOST_PINNED),
                                         verdict);
    if (may_ask(driver, device)) {
        /* What is charged is compared with what is in use. */
        shim_mempool_refresh_all(driver, device);
        shim_device_observe(driver, device);
    }
    return shim_outcome_refused(call, device, verdict);
}

static void ask_free(const struct shim_driver *driver, struct shim_device *device,
                     struct shim_outcome_shortage *shortage)
{
    size_t free_bytes, total_bytes;
    shim_mempool_refresh_all(driver, device);
    if (!driver->call.cuMemGetInfo_v2 || !may_ask(driver, device) ||
        driver->call.cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS)
        return;
    shim_device_note(device, free_bytes, total_bytes);
    shortage->free_is_known = true;
    shortage->free_bytes = free_bytes;
    shortage->total_bytes = total_bytes;
}

void shim_room_driver_refused(const struct shim_driver *driver, const char *call,
                              struct shim_device *device, uint64_t bytes,
                              const struct shim_retain_trimmed *trimmed)
{
    struct shim_outcome_shortage shortage = {
        .asked_bytes = bytes,
        .charged_bytes = policy_ledger_charged(account_of(device)),
        .idle_bytes = trimmed->idle_bytes,
        .trimmed_bytes = trimmed->trimmed_bytes,
        .largest_idle_bytes = trimmed->largest_idle_bytes,
    };
    if (device)
        ask_free(driver, device, &shortage);
    shim_outcome_driver_refused(call, device, &shortage);
}

void shim_room_refund(struct shim_device *device, uint64_t bytes)
{
    policy_ledger_refund(account_of(device), bytes);
}

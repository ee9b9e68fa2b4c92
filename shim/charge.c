#include "shim/charge.h"

#include "shim/host_account.h"
#include "shim/lease.h"
#include "shim/outcome.h"

static bool is_of_host(enum pool_lease_kind kind)
{
    return kind == POOL_LEASE_PINNED || kind == POOL_LEASE_REGISTERED;
}

static struct pool_lease lease_of(const struct shim_charge *charge, uint64_t address)
{
    return (struct pool_lease){
        .address = address,
        .bytes = charge->bytes,
        .owner = charge->place.owner,
        .device = (uint16_t)charge->place.device->ordinal,
        .kind = (uint16_t)charge->kind,
    };
}

/* As the program would count: what was charged before the call is part of the request. */
static void tell_whole(struct policy_verdict *verdict, uint64_t before_bytes,
                       uint64_t bytes)
{
    if (before_bytes > 0)
        verdict->asked_bytes = before_bytes;
    verdict->reserved_bytes = bytes;
    verdict->held_bytes -= before_bytes;
}

static CUresult take_from_host(const struct shim_charge *charge, uint64_t bytes)
{
    struct shim_host_account *account = shim_host_account(SHIM_HOST_PINNED);
    struct policy_verdict verdict =
        policy_ledger_charge(&account->account, &account->ceiling, bytes - charge->bytes);
    if (verdict.kind == POLICY_ADMITTED)
        return CUDA_SUCCESS;
    tell_whole(&verdict, charge->bytes, bytes);
    return shim_outcome_refused_host(charge->call, account, &verdict);
}

static CUresult take_from_device(const struct shim_driver *driver,
                                 const struct shim_charge *charge, uint64_t bytes)
{
    struct shim_device *device = charge->place.device;
    struct policy_verdict verdict =
        policy_ledger_charge(&device->account, &device->ceiling, bytes - charge->bytes);
    if (verdict.kind == POLICY_ADMITTED) {
        if (charge->kind == POOL_LEASE_MANAGED)
            shim_device_count_managed(device, (int64_t)(bytes - charge->bytes));
        return CUDA_SUCCESS;
    }
    tell_whole(&verdict, charge->bytes, bytes);
    shim_device_observe(driver, device);
    return shim_outcome_refused(charge->call, device, &verdict);
}

CUresult shim_charge_grow(const struct shim_driver *driver, struct shim_charge *charge,
                          uint64_t bytes)
{
    if (!charge->place.device || bytes <= charge->bytes)
        return CUDA_SUCCESS;
    CUresult result = is_of_host(charge->kind) ? take_from_host(charge, bytes)
                                               : take_from_device(driver, charge, bytes);
    if (result == CUDA_SUCCESS)
        charge->bytes = bytes;
    return result;
}

CUresult shim_charge_begin(const struct shim_driver *driver, const char *call,
                           enum pool_lease_kind kind, uint64_t bytes,
                           struct shim_charge *charge)
{
    *charge = (struct shim_charge){.call = call, .kind = kind};
    if (bytes > 0 && shim_place_current(driver, &charge->place)) {
        CUresult result = shim_charge_grow(driver, charge, bytes);
        if (result != CUDA_SUCCESS)
            return result;
    }
    shim_device_count(&shim_device_allocs);
    return CUDA_SUCCESS;
}

void shim_charge_cancel(const struct shim_charge *charge)
{
    if (!charge->place.device)
        return;
    struct pool_lease lease = lease_of(charge, 0);
    shim_lease_settle(&lease);
}

void shim_charge_end(const struct shim_charge *charge, CUresult result, uint64_t address)
{
    if (result != CUDA_SUCCESS) {
        shim_charge_cancel(charge);
        return;
    }
    if (!charge->place.device)
        return;
    struct pool_lease lease = lease_of(charge, address);
    shim_lease_open(&lease);
}

struct shim_release shim_release_begin(uint64_t address)
{
    struct shim_release release;
    release.is_ours = shim_lease_close(address, &release.lease);
    shim_device_count(&shim_device_frees);
    return release;
}

void shim_release_end(const struct shim_release *release, CUresult result)
{
    if (!release->is_ours)
        return;
    if (result == CUDA_SUCCESS)
        shim_lease_settle(&release->lease);
    else
        shim_lease_open(&release->lease);
}

#include "shim/charge.h"

#include "shim/lease.h"
#include "shim/mempool.h"
#include "shim/room.h"

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

/* Whose account it is; NULL: the host's. */
static struct shim_device *account_of(const struct shim_charge *charge)
{
    bool is_of_host =
        charge->kind == POOL_LEASE_PINNED || charge->kind == POOL_LEASE_REGISTERED;
    return is_of_host ? NULL : charge->place.device;
}

CUresult shim_charge_grow(const struct shim_driver *driver, struct shim_charge *charge,
                          uint64_t bytes)
{
    if (!charge->place.device || bytes <= charge->bytes)
        return CUDA_SUCCESS;
    struct shim_device *device = account_of(charge);
    struct policy_verdict verdict =
        shim_room_charge(driver, device, bytes - charge->bytes);
    if (verdict.kind != POLICY_ADMITTED) {
        tell_whole(&verdict, charge->bytes, bytes);
        return shim_room_refuse(driver, charge->call, device, &verdict);
    }
    if (charge->kind == POOL_LEASE_MANAGED)
        shim_device_count_managed(device, (int64_t)(bytes - charge->bytes));
    charge->bytes = bytes;
    return CUDA_SUCCESS;
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
    shim_device_count(SHIM_DEVICE_ALLOCS);
    return CUDA_SUCCESS;
}

void shim_charge_cancel(const struct shim_charge *charge)
{
    if (!charge->place.device)
        return;
    struct pool_lease lease = lease_of(charge, 0);
    shim_lease_settle(&lease);
}

bool shim_charge_again(const struct shim_driver *driver, struct shim_charge *charge,
                       CUresult result)
{
    bool again =
        charge->bytes > 0 && shim_retain_after_refusal(driver, result, charge->kind,
                                                       charge->bytes, &charge->trimmed);
    if (again)
        shim_device_count(SHIM_DEVICE_ALLOCS);
    return again;
}

/* Programs are not to end a context while a call in it is under way; if one does, the lease comes
   too late for the end. */
static void open_lease(const struct pool_lease *lease)
{
    shim_lease_open(lease);
    shim_place_opened(lease->owner);
}

void shim_charge_end(const struct shim_charge *charge, CUresult result, uint64_t address)
{
    if (result != CUDA_SUCCESS)
        shim_charge_cancel(charge);
    if (!charge->place.device)
        return;
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        shim_room_driver_refused(shim_driver_get(), charge->call, account_of(charge),
                                 charge->bytes, &charge->trimmed);
    if (result != CUDA_SUCCESS)
        return;
    struct pool_lease lease = lease_of(charge, address);
    open_lease(&lease);
}

struct shim_release shim_release_begin(uint64_t address)
{
    struct shim_release release;
    release.is_ours = shim_lease_close(address, &release.lease);
    shim_device_count(SHIM_DEVICE_FREES);
    return release;
}

void shim_release_end(const struct shim_driver *driver,
                      const struct shim_release *release, CUresult result)
{
    if (!release->is_ours)
        return;
    if (result != CUDA_SUCCESS) {
        open_lease(&release->lease);
        return;
    }
    shim_lease_settle(&release->lease);
    if (release->lease.kind == POOL_LEASE_ORDERED)
        shim_mempool_refresh(driver, release->lease.owner);
}

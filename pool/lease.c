#include "pool/lease.h"

/* Open addressing with linear probing. A deletion moves later entries of the run back, so
   that there are no tombstones and a run ends at the first empty slot. */

static uint64_t mix(uint64_t address)
{
    address *= UINT64_C(0x9e3779b97f4a7c15);
    return address ^ (address >> 32);
}

static struct pool_lease_shard *shard_of(struct pool_leases *leases, uint64_t address)
{
    return &leases->shards[(mix(address) >> 56) % POOL_LEASE_SHARDS];
}

static size_t home(const struct pool_lease_shard *shard, uint64_t address)
{
    return (size_t)mix(address) & (shard->slot_count - 1);
}

static size_t after(const struct pool_lease_shard *shard, size_t slot)
{
    return (slot + 1) & (shard->slot_count - 1);
}

/* The slot of `address`, or the empty one where it would go. Ends: half the slots at
   least are empty. */
static size_t find(const struct pool_lease_shard *shard, uint64_t address)
{
    size_t slot = home(shard, address);
    while (shard->slots[slot].address && shard->slots[slot].address != address)
        slot = after(shard, slot);
    return slot;
}

static struct pool_lease *new_slots(const struct pool_source *source, size_t count)
{
    size_t bytes = count * sizeof(struct pool_lease);
    struct pool_lease *slots = source->reserve(bytes);
    if (slots && !source->enable(slots, bytes)) {
        source->release(slots, bytes);
        return NULL;
    }
    return slots;
}

static bool make_room(struct pool_lease_shard *shard, const struct pool_source *source)
{
    if (2 * (shard->used + 1) <= shard->slot_count)
        return true;
    struct pool_lease_shard larger = {.used = shard->used};
    larger.slot_count =
        shard->slot_count ? 2 * shard->slot_count : POOL_LEASE_FIRST_SLOTS;
    larger.slots = new_slots(source, larger.slot_count);
    if (!larger.slots)
        return false;
    for (size_t slot = 0; slot < shard->slot_count; slot++)
        if (shard->slots[slot].address)
            larger.slots[find(&larger, shard->slots[slot].address)] = shard->slots[slot];
    if (shard->slots)
        source->release(shard->slots, shard->slot_count * sizeof(struct pool_lease));
    shard->slots = larger.slots;
    shard->slot_count = larger.slot_count;
    return true;
}

/* Empties a slot. An entry behind it may move up unless its home lies between the two. */
static void remove_at(struct pool_lease_shard *shard, size_t hole)
{
    size_t mask = shard->slot_count - 1;
    for (size_t slot = after(shard, hole); shard->slots[slot].address;
         slot = after(shard, slot)) {
        size_t from_home = (slot - home(shard, shard->slots[slot].address)) & mask;
        size_t from_hole = (slot - hole) & mask;
        if (from_home < from_hole)
            continue;
        shard->slots[hole] = shard->slots[slot];
        hole = slot;
    }
    shard->slots[hole].address = 0;
    shard->used--;
}

void pool_leases_open(struct pool_leases *leases, const struct pool_source *source)
{
    leases->source = source;
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++)
        pthread_mutex_init(&leases->shards[shard].lock, NULL);
}

bool pool_lease_open(struct pool_leases *leases, const struct pool_lease *lease,
                     struct pool_lease *ended)
{
    struct pool_lease_shard *shard = shard_of(leases, lease->address);
    ended->address = 0;
    pthread_mutex_lock(&shard->lock);
    bool room = make_room(shard, leases->source);
    if (room) {
        struct pool_lease *slot = &shard->slots[find(shard, lease->address)];
        *ended = *slot;
        shard->used += slot->address == 0;
        *slot = *lease;
    }
    pthread_mutex_unlock(&shard->lock);
    return room;
}

bool pool_lease_visit(struct pool_leases *leases, uint64_t address,
                      void (*look)(void *context, struct pool_lease *lease),
                      void *context)
{
    struct pool_lease_shard *shard = shard_of(leases, address);
    struct pool_lease *lease = NULL;
    pthread_mutex_lock(&shard->lock);
    if (address && shard->slots)
        lease = &shard->slots[find(shard, address)];
    bool found = lease && lease->address != 0;
    if (found)
        look(context, lease);
    pthread_mutex_unlock(&shard->lock);
    return found;
}

bool pool_lease_close(struct pool_leases *leases, uint64_t address,
                      struct pool_lease *lease)
{
    struct pool_lease_shard *shard = shard_of(leases, address);
    bool found = false;
    pthread_mutex_lock(&shard->lock);
    if (address && shard->slots) {
        size_t slot = find(shard, address);
        found = shard->slots[slot].address != 0;
        if (found) {
            *lease = shard->slots[slot];
            remove_at(shard, slot);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    return found;
}

/* A removal may move an entry into the slot just emptied: look there again. */
static void close_owner_in(struct pool_lease_shard *shard, uint32_t owner,
                           void (*ended)(void *context, const struct pool_lease *lease),
                           void *context)
{
    for (size_t slot = 0; slot < shard->slot_count; slot++) {
        while (shard->slots[slot].address && shard->slots[slot].owner == owner) {
            ended(context, &shard->slots[slot]);
            remove_at(shard, slot);
        }
    }
}

void pool_leases_close_owner(struct pool_leases *leases, uint32_t owner,
                             void (*ended)(void *context, const struct pool_lease *lease),
                             void *context)
{
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++) {
        pthread_mutex_lock(&leases->shards[shard].lock);
        close_owner_in(&leases->shards[shard], owner, ended, context);
        pthread_mutex_unlock(&leases->shards[shard].lock);
    }
}

void pool_leases_fork_prepare(struct pool_leases *leases)
{
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++)
        pthread_mutex_lock(&leases->shards[shard].lock);
}

void pool_leases_fork_done(struct pool_leases *leases)
{
    for (unsigned shard = 0; shard < POOL_LEASE_SHARDS; shard++)
        pthread_mutex_unlock(&leases->shards[shard].lock);
}

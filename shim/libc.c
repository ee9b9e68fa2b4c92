#include "shim/libc.h"

#include <stdint.h>

#include "shim/elf.h"

struct shim_libc shim_libc;

struct row {
    const char *name;
    void *slot;
};

static void put(const struct row *row, uintptr_t function)
{
    __atomic_store_n((uintptr_t *)row->slot, function, __ATOMIC_RELAXED);
}

bool shim_libc_open(void)
{
    static const struct row rows[] = {
        {"dlsym", &shim_libc.dlsym},
        {"dlvsym", &shim_libc.dlvsym},
        {"dlopen", &shim_libc.dlopen},
        {"dl_iterate_phdr", &shim_libc.dl_iterate_phdr},
    };
    struct shim_elf_object libc;
    if (!shim_elf_find_fixed("libc.so.6", &libc))
        return false;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++)
        put(&rows[index], shim_elf_symbol(&libc, rows[index].name));
    return true;
}

void shim_libc_open_family(void)
{
    static const struct row rows[] = {
#define HOST(result, name, parameters) {#name, &shim_libc.name},
#include "shim/host_hooks.def"
    };
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++)
        put(&rows[index], shim_elf_next_definition(rows[index].name));
}

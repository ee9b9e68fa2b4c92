#include "shim/elf.h"

#include <stddef.h>
#include <sys/auxv.h>

/* Weak, so that the dynamic loader does not become a library that we need, and so that a
   C library without it (musl) can still load us. */
#pragma weak _r_debug

/* This file is compiled without builtins: a loop must stay a loop, because strcmp, strlen
   and memcpy may belong to an interceptor whose own start-up has led here. */

enum { STT_INDIRECT_FUNCTION = 10, VERSION_HIDDEN = 0x8000 };

struct tables {
    const char *strings;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Half) * versions;
    const char *soname;
};

bool shim_elf_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* glibc turns these entries into addresses; other loaders, and the kernel's vdso, do not. */
static const void *pointer(const struct shim_elf_object *object, ElfW(Addr) value)
{
    ElfW(Addr) address = value < object->base ? value + object->base : value;
    return (const void *)address;
}

static struct tables tables_of(const struct shim_elf_object *object)
{
    struct tables tables = {0};
    ElfW(Xword) soname = 0;
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
        const void *value = pointer(object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB)
            tables.strings = value;
        else if (entry->d_tag == DT_SYMTAB)
            tables.symbols = value;
        else if (entry->d_tag == DT_GNU_HASH)
            tables.gnu_hash = value;
        else if (entry->d_tag == DT_HASH)
            tables.sysv_hash = value;
        else if (entry->d_tag == DT_VERSYM)
            tables.versions = value;
        else if (entry->d_tag == DT_SONAME)
            soname = entry->d_un.d_val;
    }
    if (soname && tables.strings)
        tables.soname = tables.strings + soname;
    return tables;
}

struct shim_elf_object shim_elf_range(const struct dl_phdr_info *info)
{
    struct shim_elf_object object = {.base = info->dlpi_addr, .start = UINTPTR_MAX};
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[index];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            object.dynamic = (const void *)start;
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t end = start + segment->p_memsz;
        object.start = start < object.start ? start : object.start;
        object.end = end > object.end ? end : object.end;
    }
    return object;
}

const char *shim_elf_soname(const struct shim_elf_object *object)
{
    return tables_of(object).soname;
}

/* musl has no _r_debug, but tells debuggers the same through the main program's DT_DEBUG. */
static const struct r_debug *debug_of_main_program(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM);
    uintptr_t base = 0;
    for (unsigned long index = 0; headers && index < count; index++)
        if (headers[index].p_type == PT_PHDR)
            base = (uintptr_t)headers - headers[index].p_vaddr;
    for (unsigned long index = 0; headers && index < count; index++) {
        if (headers[index].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(base + headers[index].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_DEBUG)
                return (const struct r_debug *)entry->d_un.d_ptr;
    }
    return NULL;
}

static const struct link_map *first_map(void)
{
    const struct r_debug *debug = &_r_debug ? &_r_debug : debug_of_main_program();
    return debug ? debug->r_map : NULL;
}

static struct shim_elf_object object_of(const struct link_map *map)
{
    return (struct shim_elf_object){.base = map->l_addr, .dynamic = map->l_ld};
}

bool shim_elf_find_fixed(const char *soname, struct shim_elf_object *object)
{
    for (const struct link_map *map = first_map(); map; map = map->l_next) {
        struct shim_elf_object candidate = object_of(map);
        const char *name = candidate.dynamic ? shim_elf_soname(&candidate) : NULL;
        if (name && shim_elf_same(name, soname)) {
            *object = candidate;
            return true;
        }
    }
    return false;
}

static uintptr_t definition_in(const struct link_map *map, const char *name)
{
    struct shim_elf_object object = object_of(map);
    return object.dynamic ? shim_elf_symbol(&object, name) : 0;
}

/* Our own dynamic section tells our entry in the list from the others. */
static bool is_this_library(const struct link_map *map)
{
    return map->l_ld == _DYNAMIC;
}

static bool first_from_is_ours(const struct link_map *map, const char *name)
{
    for (; map; map = map->l_next)
        if (definition_in(map, name))
            return is_this_library(map);
    return false;
}

bool shim_elf_first_is_ours(const char *name)
{
    return first_from_is_ours(first_map(), name);
}

bool shim_elf_next_is_ours(uintptr_t base, const char *name)
{
    const struct link_map *map = first_map();
    while (map && map->l_addr != base)
        map = map->l_next;
    return map && first_from_is_ours(map->l_next, name);
}

uintptr_t shim_elf_next_definition(const char *name)
{
    const struct link_map *map = first_map();
    while (map && !is_this_library(map))
        map = map->l_next;
    for (map = map ? map->l_next : NULL; map; map = map->l_next) {
        uintptr_t address = definition_in(map, name);
        if (address)
            return address;
    }
    return 0;
}

const void *shim_elf_main_handle(void)
{
    return first_map();
}

static bool matches(const struct tables *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
        return false;
    if (tables->versions && tables->versions[index] & VERSION_HIDDEN)
        return false;
    return shim_elf_same(tables->strings + symbol->st_name, name);
}

static const ElfW(Sym) * find_by_gnu_hash(const struct tables *tables, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t bucket_count = tables->gnu_hash[0];
    uint32_t first = tables->gnu_hash[1];
    uint32_t filter_words = tables->gnu_hash[2];
    const uint32_t *buckets =
        tables->gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    if (index < first)
        return NULL;
    /* Ends at the odd hash that closes each bucket's chain. */
    for (;; index++) {
        uint32_t entry = chain[index - first];
        if ((entry | 1) == (hash | 1) && matches(tables, index, name))
            return &tables->symbols[index];
        if (entry & 1)
            return NULL;
    }
}

static const ElfW(Sym) * find_by_sysv_hash(const struct tables *tables, const char *name)
{
    uint32_t count = tables->sysv_hash[1];
    for (uint32_t index = 1; index < count; index++)
        if (matches(tables, index, name))
            return &tables->symbols[index];
    return NULL;
}

uintptr_t shim_elf_symbol(const struct shim_elf_object *object, const char *name)
{
    struct tables tables = tables_of(object);
    const ElfW(Sym) *symbol = NULL;
    if (!tables.symbols || !tables.strings)
        return 0;
    if (tables.gnu_hash)
        symbol = find_by_gnu_hash(&tables, name);
    else if (tables.sysv_hash)
        symbol = find_by_sysv_hash(&tables, name);
    if (!symbol)
        return 0;
    uintptr_t address = object->base + symbol->st_value;
    if ((symbol->st_info & 15) == STT_INDIRECT_FUNCTION)
        address = ((uintptr_t(*)(void))address)();
    return address;
}

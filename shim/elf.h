/* Loaded objects and their symbols, read from memory: no loader lock, and nothing called
   that a sanitizer or another preload may have taken over before it is ready. */
#ifndef SHIM_ELF_H
#define SHIM_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct shim_elf_object {
    uintptr_t base; /* what the file's addresses are relative to */
    const ElfW(Dyn) * dynamic;
    uintptr_t start, end; /* mapped range; 0, 0 when it was not looked up */
};

/* Compares two strings. */
bool shim_elf_same(const char *a, const char *b);

/* Those below, to the main handle, read the loader's list of objects without its lock. They are for the
   start, and for objects that stand before the first one that can ever be unloaded. */

/* The first loaded object with this DT_SONAME. */
bool shim_elf_find_fixed(const char *soname, struct shim_elf_object *object);

/* Whether the definition of a symbol that the whole process uses, the first in the list, is
   the one in this library. */
bool shim_elf_first_is_ours(const char *name);

/* The same for the definition that comes after the object with this base, which is this
   library or stands before it. */
bool shim_elf_next_is_ours(uintptr_t base, const char *name);

/* The definition that the process would use if we were not there, for whoever comes
   before us in the list: the first one behind us. 0: none. */
uintptr_t shim_elf_next_definition(const char *name);

/* The main program's entry in the loader's list, which is what dlopen(NULL) returns. */
const void *shim_elf_main_handle(void);

/* An object that dl_iterate_phdr shows, with its mapped range. */
struct shim_elf_object shim_elf_range(const struct dl_phdr_info *info);

/* Whether an address lies in the object's mapped range. */
static inline bool shim_elf_contains(const struct shim_elf_object *object,
                                     const void *address)
{
    return (uintptr_t)address - object->start < object->end - object->start;
}

/* The object's DT_SONAME; NULL when it has none. */
const char *shim_elf_soname(const struct shim_elf_object *object);

/* Address of a symbol that the object defines, in its default version, an indirect
   function resolved; 0 when there is none. */
uintptr_t shim_elf_symbol(const struct shim_elf_object *object, const char *name);

#endif
